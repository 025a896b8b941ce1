package redlock

import (
	"context"
	"time"
)

// server is one of the N independent servers, as the algorithm sees it: real
// ones stand behind a rueidis.Client, simulated ones behind a network that
// loses, delays and forgets.
type server interface {
	// name is what errors call the server.
	name() string
	// run carries out a batch in order and returns when all replies are there.
	// The replies of a connection that broke say that the server may have done
	// it.
	run(ctx context.Context, batch []*op, replies []reply)
	// listen calls ready when it listens to a channel, then heard with each
	// message there, until the context ends or the connection breaks; fit says
	// that the server was found to vote, over this connection.
	listen(ctx context.Context, channel string, ready func(), heard func(message string, fit bool)) error
	close()
}

type kind uint8

const (
	opAcquire kind = iota // acquire.lua
	opRelease             // release.lua
	opExtend              // extend.lua
	opRaise               // raise.lua
	opShow                // show.lua
	opLearn               // boot.lua
	opOwner               // owner.lua
	kinds
)

// op is one operation on one name, the same for every server.
type op struct {
	kind  kind
	name  string
	value string
	// other is the value that a lock had before (opRelease) or gets
	// (opExtend).
	other string
	// quick takes a free name or nothing, by a plain SET (opAcquire).
	quick bool
	// queue puts the value in line (opAcquire), by the time since when in
	// microseconds, or takes it out (opRelease).
	queue  bool
	since  int64
	waited time.Duration
	// attempt is the number of this attempt among those of its waiter, which
	// asks again within that time (opAcquire that queues).
	attempt uint64
	within  time.Duration
	// free is for how long a name is left free before the next in line gets it
	// (opRelease), unless it was left free within every.
	free, every time.Duration
	ttl         time.Duration
	grant       time.Duration
	line        time.Duration
	fence       bool
	token       uint64
	// trust makes a server vote from now on (opLearn).
	trust bool
	owner *ownerArgs // opOwner
	// until is when an opRelease need not be tried any more: by then the key
	// has expired.
	until time.Time
}

type answer uint8

const (
	unanswered answer = iota
	yes               // done
	no                // another one holds it
	failed            // see reply.err
)

// reply is what one server said to an op.
type reply struct {
	answer answer
	// maybe says of a reply that is not yes that the server may have done it
	// all the same.
	maybe bool
	// broken says that the connection broke, or could not be made.
	broken bool
	err    error
	token  uint64
	// fresh says that the server had no counter, and began one for the token.
	fresh bool
	// foreign says that a client of another library holds the name (opRelease).
	foreign bool
	// ttl is how long the key lives (a no to opAcquire, opShow), how long the
	// server does not vote (youngError), or the longest ttl in use (opLearn).
	ttl     time.Duration
	value   string        // who holds it (opShow, a no to opAcquire); the run id (opLearn)
	waiters int64         // opShow, opExtend
	young   time.Duration // opShow, opLearn: for how long the server does not vote
	since   time.Time     // opLearn: since when it votes, by its clock
	owner   Owner         // opShow
}
