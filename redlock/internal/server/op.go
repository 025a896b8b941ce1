package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"
)

// Server is one of the N independent servers: a real server behind a rueidis.Client or, in tests, a
// simulated server behind an unreliable network.
type Server interface {
	// Name returns the name of the server, for error messages.
	Name() string
	// Run executes a batch in order and returns when it has all replies. After a broken
	// connection, the replies mark ops that the server may have executed.
	Run(ctx context.Context, batch []*Op, replies []Reply)
	// Listen subscribes to a channel, calls ready once subscribed, and then calls receive for each
	// message, until the context ends or the connection breaks.
	Listen(ctx context.Context, channel string, ready func(), receive func(message string)) error
	Close()
}

// Kind is the kind of an Op. Each kind has a script.
type Kind uint8

// Kinds of ops.
const (
	Acquire     Kind = iota // acquire.lua
	Release                 // release.lua
	Extend                  // extend.lua
	Raise                   // raise.lua
	Show                    // show.lua
	Boot                    // boot.lua
	RecordOwner             // owner.lua
	kinds
)

// Op is one operation on one name, the same for every server.
type Op struct {
	Kind  Kind
	Name  string
	Value string
	// Quick takes a free name with a plain SET, and does nothing otherwise (Acquire).
	Quick bool
	// Queue adds the value to the queue (Acquire), ordered by Since in microseconds, or removes the
	// value (Release).
	Queue  bool
	Since  int64
	Waited time.Duration
	// Within is the time within which the waiter asks again (Acquire with Queue).
	Within time.Duration
	// Free is how long a name is left free before the next waiter gets it (Release), unless the
	// name was left free within Every.
	Free, Every time.Duration
	TTL         time.Duration
	Grant       time.Duration // how long the lock is kept for the next waiter
	Line        time.Duration // how long the queue outlives its last arrival (Acquire)
	Tokens      int           // number of fencing tokens to count (Acquire)
	Token       uint64        // minimum for the counter (Raise)
	// SkipQuarantine makes a server vote from now on (Boot).
	SkipQuarantine bool
	Owner          *Owner // RecordOwner
	// Until is when the key has expired: a Release need not be retried after that time.
	Until time.Time
}

// Answer is a server's answer to an Op.
type Answer uint8

// Answers.
const (
	Unanswered Answer = iota
	Yes               // done
	No                // another client holds the name
	Failed            // see Reply.Err
)

// Reply is the reply of one server to an op.
type Reply struct {
	Answer Answer
	// Maybe means that the server may have executed the op although the answer is not Yes.
	Maybe bool
	// Broken means that the connection broke or could not be opened.
	Broken bool
	Err    error
	Token  uint64 // the last token (Acquire)
	// Fresh means that the server had no token counter and started one.
	Fresh bool
	// Foreign means that the key holds the lock of another library, or other text that expires
	// (Release, Show).
	Foreign bool
	// TTL is the remaining time of the key (Acquire answered No, Show), the remaining quarantine
	// (QuarantineError), or the longest TTL in use (Boot).
	TTL         time.Duration
	Value       string        // the holder's value (Show, Acquire answered No); the run ID (Boot)
	Waiters     int64         // Show
	Quarantined time.Duration // Show, Boot: how long the server does not vote
	Since       time.Time     // Boot: when the server started to vote, by its clock
	Owner       Owner         // Show; zero: not requested, or not recorded
}

// NewValue returns a new lock value: 20 random bytes as printable letters, after a prefix that
// distinguishes locks from other data. grant.lua depends on the format.
func NewValue() string { return Prefix + RandomText() }

// valueLength is the length of a value.
const valueLength = len(Prefix) + 27

// IsValue reports whether text has the format of a value.
func IsValue(text string) bool { return len(text) == valueLength && strings.HasPrefix(text, Prefix) }

// RandomText returns 20 random bytes as printable letters.
func RandomText() string {
	var bytes [20]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}
