package redlock

import (
	"fmt"
	"log/slog"
	"time"
)

// Options of a Manager. The zero value is a good one.
//
// All managers of one set of servers should have the same TTL: a server that
// was restarted keeps out of the voting for the longest TTL in use. A lock that needs
// another one has LockOptions.
type Options struct {
	// TTL is how long a lock lives without being extended, and so how long a
	// name stays locked when its holder dies. Default 10 s; whole
	// milliseconds, from 10 to a day.
	TTL time.Duration
	// NodeTimeout is how long one server may take to answer before the rest
	// decides without it. It should be a few times the slowest round trip and
	// small beside the TTL. Default 50 ms, and at most a quarter of the TTL.
	NodeTimeout time.Duration
	// RetryMin and RetryMax bound the random, growing time between two
	// attempts of a Lock that waits. A release tells the next in line at once,
	// so these matter only where that word is lost, the holder died, or the
	// holder is a client of another library. Defaults 10 ms and 250 ms.
	RetryMin, RetryMax time.Duration
	// Drift is taken off the time that a lock is valid, for clocks that do not
	// run at the same speed. Default 1% of the TTL and 2 ms.
	Drift time.Duration
	// ExtendEvery is how often Do and LockAll extend what they hold. Default a
	// third of the TTL.
	ExtendEvery time.Duration
	// MaxExtensions is how often a lock can be extended at most: after that
	// it runs out, however much its holder wants it. Default 0: no limit, so
	// that a holder that hangs and keeps extending keeps everybody out.
	MaxExtensions int
	// MaxHold is how long a lock can be held at most, however often it is
	// extended: then it ends as if it was lost, so that a holder that hangs does
	// not keep everybody out. Default 0: no limit.
	MaxHold time.Duration
	// Owner is printable text of up to 200 bytes that says who holds the locks, for
	// operators: Status shows it, with the host and the process, to everybody who
	// may ask the servers. Never put secrets there. Default empty: nothing is
	// recorded, which spares each server a command for each lock.
	Owner string
	// Fencing gives each lock a token that is greater than that of every lock
	// of the same name before it. See Lock.Token.
	Fencing bool
	// Logger hears of servers that go away, come back, or do not vote yet.
	// Default nil: silent.
	Logger *slog.Logger
}

// withDefaults returns the options with what was left out filled in, or an
// error that names the field.
func (o Options) withDefaults() (Options, error) {
	for _, field := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"TTL", &o.TTL, 10 * time.Second},
		{"NodeTimeout", &o.NodeTimeout, 0},
		{"RetryMin", &o.RetryMin, 10 * time.Millisecond},
		{"RetryMax", &o.RetryMax, 0},
		{"Drift", &o.Drift, 0},
		{"ExtendEvery", &o.ExtendEvery, 0},
	} {
		if *field.value < 0 {
			return o, fmt.Errorf("redlock: Options.%s is %v: it cannot be negative", field.name, *field.value)
		}
		if *field.value == 0 {
			*field.value = field.def
		}
	}
	if err := checkTTL("Options", o.TTL); err != nil {
		return o, err
	}
	if err := checkHolder("Options", LockOptions{MaxHold: o.MaxHold, Owner: o.Owner}); err != nil {
		return o, err
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = min(50*time.Millisecond, o.TTL/4)
	}
	if o.RetryMax == 0 {
		o.RetryMax = max(250*time.Millisecond, o.RetryMin)
	}
	if o.Drift == 0 {
		o.Drift = o.TTL/100 + 2*time.Millisecond
	}
	if o.ExtendEvery == 0 {
		o.ExtendEvery = o.TTL / 3
	}
	switch {
	case o.NodeTimeout+o.Drift >= o.TTL:
		return o, fmt.Errorf("redlock: Options.NodeTimeout is %v and Drift %v: together they must be less than the TTL of %v",
			o.NodeTimeout, o.Drift, o.TTL)
	case o.RetryMin > o.RetryMax:
		return o, fmt.Errorf("redlock: Options.RetryMin is %v: it must not be more than RetryMax, %v", o.RetryMin, o.RetryMax)
	case o.ExtendEvery >= o.TTL:
		return o, fmt.Errorf("redlock: Options.ExtendEvery is %v: it must be less than the TTL of %v", o.ExtendEvery, o.TTL)
	case o.MaxExtensions < 0:
		return o, fmt.Errorf("redlock: Options.MaxExtensions is %d: it cannot be negative", o.MaxExtensions)
	}
	return o, nil
}

// grantTime is how long a lock that was handed to a waiter is kept for it: some
// answers' worth, so that a waiter that has died holds up nobody for long.
func (o Options) grantTime() time.Duration {
	return min(max(10*o.NodeTimeout, 10*time.Millisecond), o.TTL)
}

// askTime is within what time a waiter asks again, or is taken for dead: twice the
// longest pause, and what an attempt may take.
func (o Options) askTime() time.Duration { return 2*o.RetryMax + 4*o.NodeTimeout }

// lineTime is how long a line of waiters outlives the last one that joined it.
func (o Options) lineTime() time.Duration { return 4*o.RetryMax + o.TTL }
