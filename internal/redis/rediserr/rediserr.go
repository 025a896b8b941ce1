// Package rediserr classifies the errors of a Redis client: the database is unreachable, the
// database only refuses writes, or the user lacks a permission. No other package depends on the
// error codes of servers.
//
// The code is the first word of an error reply (READONLY, OOM, LOADING, ...). Redis 6.2 wraps the
// reply to a command within a script in other text, so that the code is in the middle.
package rediserr

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/redis/rueidis"
)

// Class is a class of errors.
type Class int

const (
	// Other is everything else: no error, a nil reply, a wrong type, a bug.
	Other Class = iota
	// Unavailable: no reply, or the server currently serves neither reads nor writes: it is
	// loading its data, its Cluster is down, its master is unreachable, or the slot has no owner.
	// Retry later.
	Unavailable
	// WritesRefused: the server currently serves only reads: it is out of memory, a read-only
	// replica, cannot write to its disk, or has too few replicas. Retry writes later.
	WritesRefused
	// Denied: the user lacks a permission, or the server requires a user and a
	// password. A retry does not help.
	Denied
)

// String returns the name of a class.
func (c Class) String() string {
	switch c {
	case Unavailable:
		return "unavailable"
	case WritesRefused:
		return "writes refused"
	case Denied:
		return "denied"
	default:
		return "other"
	}
}

// codes maps the first words of error replies to classes.
var codes = map[string]Class{
	"LOADING":     Unavailable,
	"MASTERDOWN":  Unavailable,
	"CLUSTERDOWN": Unavailable,
	"TRYAGAIN":    Unavailable,
	"BUSY":        Unavailable, // a script blocks the server

	"NOMASTERLINK": Unavailable, // a replica has lost its master and cannot provide its data
	"UNBLOCKED":    Unavailable, // the server's role has changed since a command started to wait

	"OOM":        WritesRefused,
	"READONLY":   WritesRefused,
	"MISCONF":    WritesRefused,
	"NOREPLICAS": WritesRefused,

	"NOPERM":    Denied,
	"NOAUTH":    Denied,
	"WRONGPASS": Denied,
	"DENIED":    Denied, // protected mode
}

// Of returns the class of an error, even if the error is wrapped.
func Of(err error) Class {
	var network net.Error
	var call syscall.Errno
	text, isReply := reply(err)
	switch {
	case err == nil:
		return Other
	case isReply:
		return OfReply(text)
	case errors.Is(err, context.Canceled):
		return Other // the caller stopped waiting
	case errors.As(err, &network), errors.As(err, &call),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, rueidis.ErrNoSlot), errors.Is(err, rueidis.ErrClosing), errors.Is(err, rueidis.ErrDoCacheAborted):
		return Unavailable
	}
	return Other
}

// IsReply reports whether an error is an error reply of a server.
func IsReply(err error) bool {
	_, ok := reply(err)
	return ok
}

// IsWrongType reports whether an error is the reply to a command on a key of another type.
func IsWrongType(err error) bool {
	text, ok := reply(err)
	return ok && strings.Contains(text, "WRONGTYPE") // Redis 6.2 embeds the code in a longer text
}

// reply returns the text of an error reply. The client returns the text unchanged or, with
// client-side caching, at the start of a longer text.
func reply(err error) (string, bool) {
	var answer *rueidis.RedisError
	if errors.As(err, &answer) {
		return answer.Error(), !answer.IsNil()
	}
	for ; errors.Is(err, rueidis.ErrNoCache); err = errors.Unwrap(err) { // a bare ErrNoCache is not a reply
		if errors.Unwrap(err) == rueidis.ErrNoCache {
			return err.Error(), true
		}
	}
	return "", false
}

// OfReply returns the class of the text of an error reply.
func OfReply(text string) Class {
	if class, ok := codes[Code(text)]; ok {
		return class
	}
	if strings.HasPrefix(strings.TrimPrefix(text, "ERR "), "max number of clients") {
		return Unavailable
	}
	return Other
}

// Passes reports whether an error is a temporary error reply; see IsTemporaryReply.
func Passes(err error) bool {
	text, ok := reply(err)
	return ok && IsTemporaryReply(text)
}

// IsTemporaryReply reports whether an error reply is temporary, so that the refused command can be
// resent after a while: the replies of class Unavailable, and READONLY, which a former master
// returns during a failover.
func IsTemporaryReply(text string) bool {
	return OfReply(text) == Unavailable || Code(text) == "READONLY"
}

// whereInScript matches the position that a server adds to an error of a script.
var whereInScript = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script:[0-9]+\.`)

// WithoutScript removes the position in a script from a server's error text, because the position
// does not help users.
func WithoutScript(text string) string { return whereInScript.ReplaceAllString(text, "") }

// deniedInScript lists the texts of NOPERM for a command within a script: up to 7.0, and since
// 7.2.
var deniedInScript = []string{"The user executing the script can't ", "ACL failure in script: "}

// Code returns the first word of an error reply, such as READONLY. For a reply to a command
// within a script it returns the code of that command's reply, and for a reply to EXEC that
// states its reason the code of that reason. The client omits the word ERR.
func Code(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
	text = strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: ")
	// Redis 6.2: Error running script (call to f_...): @user_script:1: @user_script: 1: -OOM command not ...
	inner, inScript := text, false
	if strings.HasPrefix(text, "Error running script") {
		if _, rest, ok := strings.Cut(text, "@user_script: "); ok {
			_, inner, inScript = strings.Cut(rest, ": ")
		}
	}
	for _, denied := range deniedInScript {
		if strings.HasPrefix(inner, denied) {
			return "NOPERM"
		}
	}
	if inScript {
		text = strings.TrimPrefix(inner, "-")
	}
	code, _, _ := strings.Cut(text, " ")
	return code
}
