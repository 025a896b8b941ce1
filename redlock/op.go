package redlock

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"
)

// server is one of the N independent servers, as the algorithm sees it: a real one
// behind a rueidis.Client, or in tests a simulated one behind a network that loses,
// delays and forgets.
type server interface {
	// name returns the name of the server for errors.
	name() string
	// run executes a batch in order and returns when all replies are there. After
	// a connection broke, the replies say that the server may have executed it.
	run(ctx context.Context, batch []*op, replies []reply)
	// listen calls ready when it listens to a channel, then receive with each
	// message, until the context ends or the connection breaks; votes says that the
	// server votes, over this connection.
	listen(ctx context.Context, channel string, ready func(), receive func(message string, votes bool)) error
	close()
}

type kind uint8

const (
	opAcquire kind = iota // acquire.lua
	opRelease             // release.lua
	opExtend              // extend.lua
	opRaise               // raise.lua
	opShow                // show.lua
	opBoot                // boot.lua
	opOwner               // owner.lua
	kinds
)

// op is one operation on one name, the same for every server.
type op struct {
	kind  kind
	name  string
	value string
	// chain has the earlier values that a server may still have instead, and position
	// is that of value in it (opExtend, opRelease, opOwner).
	chain    *chain
	position int
	// quick takes a free name by a plain SET, or nothing (opAcquire).
	quick bool
	// queue puts the value into the queue (opAcquire), ordered by since in
	// microseconds, or takes it out (opRelease).
	queue  bool
	since  int64
	waited time.Duration
	// attempt is the number of the waiter's attempt. The waiter asks again within
	// that time (opAcquire with queue).
	attempt uint64
	within  time.Duration
	// free is for how long a name is left free before the next waiter gets it
	// (opRelease), unless it was left free within every.
	free, every time.Duration
	ttl         time.Duration
	grant       time.Duration
	line        time.Duration
	fence       bool
	token       uint64
	// skipQuarantine makes a server vote from now on (opBoot).
	skipQuarantine bool
	owner          *ownerArgs // opOwner
	// until is when an opRelease need not be retried: by then the key has expired.
	until time.Time
}

type answer uint8

const (
	unanswered answer = iota
	yes               // done
	no                // another client holds it
	failed            // see reply.err
)

// reply is the reply of one server to an op.
type reply struct {
	answer answer
	// maybe says that the server may have executed the op although the answer is
	// not yes.
	maybe bool
	// broken says that the connection broke or could not be opened.
	broken bool
	err    error
	token  uint64
	// fresh says that the server had no counter of tokens and started one.
	fresh bool
	// foreign says that a client of another library holds the name (opRelease).
	foreign bool
	// ttl is how long the key lives (a no to opAcquire, opShow), how long the
	// server does not vote (quarantineError), or the longest TTL in use (opBoot).
	ttl         time.Duration
	value       string        // the holder's (opShow, a no to opAcquire); the run id (opBoot)
	waiters     int64         // opShow, opExtend
	quarantined time.Duration // opShow, opBoot: for how long the server does not vote
	since       time.Time     // opBoot: since when it votes, by its clock
	owner       *Owner        // opShow; nil: not asked
}

// randomText returns 20 random bytes in printable letters.
func randomText() string {
	var bytes [20]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}

// quarantineError says that a server does not vote yet.
type quarantineError struct{ left time.Duration }

func (e quarantineError) Error() string {
	return fmt.Sprintf("quarantined, because it was started recently and may have lost locks: does not vote for another %v", e.left)
}
