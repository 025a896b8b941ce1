package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"
)

// Server is one of the N independent servers, as the algorithm sees it: a real one
// behind a rueidis.Client, or in tests a simulated one behind a network that loses,
// delays and forgets.
type Server interface {
	// Name returns the name of the server for errors.
	Name() string
	// Run executes a batch in order and returns when all replies are there. After
	// a connection broke, the replies say that the server may have executed it.
	Run(ctx context.Context, batch []*Op, replies []Reply)
	// Listen calls ready when it listens to a channel, then receive with each
	// message, until the context ends or the connection breaks.
	Listen(ctx context.Context, channel string, ready func(), receive func(message string)) error
	Close()
}

// Kind is what an Op does, each by a script of its name.
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
	// Quick takes a free name by a plain SET, or nothing (Acquire).
	Quick bool
	// Queue puts the value into the queue (Acquire), ordered by Since in
	// microseconds, or takes it out (Release).
	Queue  bool
	Since  int64
	Waited time.Duration
	// The waiter asks again within Within (Acquire with queue).
	Within time.Duration
	// Free is for how long a name is left free before the next waiter gets it
	// (Release), unless it was left free within Every.
	Free, Every time.Duration
	TTL         time.Duration
	Grant       time.Duration
	Line        time.Duration
	Tokens      int    // how many fencing tokens are counted (Acquire)
	Token       uint64 // the counter is raised to it (Raise)
	// SkipQuarantine makes a server vote from now on (Boot).
	SkipQuarantine bool
	Owner          *Holder // RecordOwner
	// Until is when an Release need not be retried: by then the key has expired.
	Until time.Time
}

// Answer is what a server says about an Op.
type Answer uint8

// Answers.
const (
	Unanswered Answer = iota
	Yes               // done
	No                // another client holds it
	Failed            // see Reply.Err
)

// Reply is the reply of one server to an op.
type Reply struct {
	Answer Answer
	// Maybe says that the server may have executed the op although the answer is
	// not yes.
	Maybe bool
	// Broken says that the connection broke or could not be opened.
	Broken bool
	Err    error
	Token  uint64 // the last one (Acquire)
	// Fresh says that the server had no counter of tokens and started one.
	Fresh bool
	// Foreign says that the key has the lock of another library, or other text that
	// expires (Release, Show).
	Foreign bool
	// TTL is how long the key lives (a no to Acquire, Show), how long the
	// server does not vote (QuarantineError), or the longest TTL in use (Boot).
	TTL         time.Duration
	Value       string        // the holder's (Show, a no to Acquire); the run id (Boot)
	Waiters     int64         // Show
	Quarantined time.Duration // Show, Boot: for how long the server does not vote
	Since       time.Time     // Boot: since when it votes, by its clock
	Owner       Holder        // Show; zero: not asked, or not recorded
}

// NewValue returns the value of a lock: 20 random bytes in printable letters, after a
// prefix by which locks are told from everything else. grant.lua knows the form.
func NewValue() string { return Prefix + RandomText() }

// valueLength is the length of a value.
const valueLength = len(Prefix) + 27

// IsValue reports whether text has the form of a value.
func IsValue(text string) bool { return len(text) == valueLength && strings.HasPrefix(text, Prefix) }

// RandomText returns 20 random bytes in printable letters.
func RandomText() string {
	var bytes [20]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}
