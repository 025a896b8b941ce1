// Package rediserr says what an error of a Redis client means for the caller:
// is the database out of reach, does it refuse writes alone, or may this user
// not do that? It is the one place that knows the error codes of servers.
//
// Servers give the reason in the first word of an error reply (READONLY, OOM,
// LOADING, ...). Redis 6.2 wraps the reply to a command within a script in a
// text of its own, so that the word stands in the middle.
package rediserr

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/rueidis"
)

// Class is what an error means.
type Class int

const (
	// Other is everything else: no error, a reply that is nil, a wrong type, a
	// mistake of the program.
	Other Class = iota
	// Unavailable: there was no answer, or the server serves neither reads nor
	// writes for the moment: it loads its data, its Cluster is down, its master
	// is out of reach, nobody owns the slot. Try again later.
	Unavailable
	// WritesRefused: the server reads but does not write for the moment: it is
	// out of memory, a read-only replica, cannot write to its disk, or has too
	// few replicas. Reads go on; try writes again later.
	WritesRefused
	// Denied: this user may not do that, or the server wants a user and a
	// password. Trying again does not help.
	Denied
)

// String names a class.
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

// codes are the first words of error replies that mean something here.
var codes = map[string]Class{
	"LOADING":     Unavailable,
	"MASTERDOWN":  Unavailable,
	"CLUSTERDOWN": Unavailable,
	"TRYAGAIN":    Unavailable,
	"BUSY":        Unavailable, // a script keeps the server

	"OOM":        WritesRefused,
	"READONLY":   WritesRefused,
	"MISCONF":    WritesRefused,
	"NOREPLICAS": WritesRefused,

	"NOPERM":    Denied,
	"NOAUTH":    Denied,
	"WRONGPASS": Denied,
	"DENIED":    Denied, // protected mode
}

// Of returns the class of an error, however it is wrapped.
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
		return Other // the caller did not want to wait
	case errors.As(err, &network), errors.As(err, &call),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, rueidis.ErrNoSlot), errors.Is(err, rueidis.ErrClosing), errors.Is(err, rueidis.ErrDoCacheAborted):
		return Unavailable
	}
	return Other
}

// IsReply reports whether an error is what a server answered.
func IsReply(err error) bool {
	_, ok := reply(err)
	return ok
}

// reply returns the text of an error reply. The client hands one on as it is,
// or, about client-side caching, as the beginning of a text of its own.
func reply(err error) (string, bool) {
	var said *rueidis.RedisError
	switch {
	case errors.As(err, &said):
		return said.Error(), !said.IsNil()
	case errors.Is(err, rueidis.ErrNoCache) && err != rueidis.ErrNoCache: // a bare ErrNoCache has no text of a server
		return err.Error(), true
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

// deniedInScript are what servers say instead of NOPERM of a command within a
// script: 7.0 and older, and 7.2 and newer.
var deniedInScript = []string{"The user executing the script can't ", "ACL failure in script: "}

// Code returns the first word of an error reply, such as READONLY. For a reply
// to a command within a script it returns the word of that command. The client
// leaves out the word ERR.
func Code(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
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
