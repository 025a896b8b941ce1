package redlock

import (
	"fmt"
	"log/slog"
	"time"

	"retwis/redlock/internal/server"
)

// Options configure a Manager. The zero value is a good default.
//
// All managers of one set of servers should have the same TTL: a restarted server does not vote
// for the longest TTL in use. LockOptions override the options for a single lock.
type Options struct {
	// TTL is how long a lock lives without being extended, and so how long a name stays locked
	// after its holder dies. Default 10 s; whole milliseconds, from 10 ms to a day.
	TTL time.Duration
	// NodeTimeout is how long to wait for one server before the other servers decide without it. It
	// should be a few times the slowest round trip and much shorter than the TTL. Default 50 ms,
	// at most a quarter of the TTL.
	NodeTimeout time.Duration
	// RetryMin and RetryMax bound the random, growing pause between two attempts of a Lock that
	// waits. A release notifies the next waiter immediately, so the pauses matter only if the
	// notification is lost, the holder dies, or the holder is a client of another library. Defaults
	// 10 ms and 250 ms.
	RetryMin, RetryMax time.Duration
	// Drift is subtracted from the time that a lock is valid, to allow for clocks that do not run
	// at the same speed. Default 1% of the TTL plus 2 ms.
	Drift time.Duration
	// ExtendEvery is how often Do extends its lock. Default: a third of the TTL.
	ExtendEvery time.Duration
	// MaxExtensions limits the extensions of a lock; after the last extension, the lock expires.
	// Default 0: no limit, so a holder that hangs and keeps extending blocks all other clients.
	MaxExtensions int
	// MaxHold limits the time that a lock is held, including all extensions. After MaxHold, the
	// context of the lock ends with ErrMaxHold, the lock can no longer be extended, and the name is
	// free when the lock is unlocked, or a TTL later if the holder hangs. Every lock gets its full
	// MaxHold, even if another goroutine handed the name over. Default 0: no limit, so a holder
	// that hangs while Do extends its lock blocks all other clients.
	MaxHold time.Duration
	// Owner is printable text of up to 200 bytes that describes the holder to operators. Status
	// shows Owner, the host and the process ID to every client of the servers, so Owner must not
	// contain secrets. Default empty: nothing is recorded, which saves each server one command per
	// lock.
	Owner string
	// Fencing gives each lock a token that is greater than the token of every earlier lock of the
	// same name. See Lock.Token.
	Fencing bool
	// Logger receives messages about servers that disconnect, reconnect, or do not vote yet.
	// Default nil: nothing is logged.
	Logger *slog.Logger
}

// withDefaults validates the options and sets defaults. Errors name the field.
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

// grantTime returns how long a lock that was granted to a waiter is kept for this waiter: a few
// round trips, so that a dead waiter delays the other waiters only briefly.
func (o Options) grantTime() time.Duration {
	return min(max(10*o.NodeTimeout, 10*time.Millisecond), o.TTL)
}

// askTime returns the time within which a live waiter asks again: twice the longest pause, plus the
// duration of an attempt.
func (o Options) askTime() time.Duration { return 2*o.RetryMax + 4*o.NodeTimeout }

// lineTime returns how long a queue outlives its last arrival.
func (o Options) lineTime() time.Duration { return 4*o.RetryMax + o.TTL }

// LockOptions override the Options of the same names for one lock; a zero field keeps the value
// of the Manager.
type LockOptions struct {
	// TTL is how long this lock lives without being extended. A restarted server does not vote for
	// the longest TTL in use, even if only a single lock uses it: prefer a short TTL, and extend the
	// lock.
	TTL time.Duration
	// MaxHold limits how long this lock is held.
	MaxHold time.Duration
	// Owner describes the holder of this lock.
	Owner string
}

// maxTTL is the maximum TTL: all clients wait that long after a holder dies or a server restarts. A
// live holder can extend its lock.
const maxTTL = 24 * time.Hour

// checkTTL returns an error for a TTL out of range.
func checkTTL(typeName string, ttl time.Duration) error {
	switch {
	case ttl < 10*time.Millisecond || ttl%time.Millisecond != 0:
		return fmt.Errorf("redlock: %s.TTL is %v: it must be whole milliseconds, at least 10", typeName, ttl)
	case ttl > maxTTL:
		return fmt.Errorf("redlock: %s.TTL is %v: the maximum is %v; extend the lock to hold it for longer", typeName, ttl, maxTTL)
	}
	return nil
}

// checkHolder returns an error for an invalid MaxHold or Owner.
func checkHolder(typeName string, o LockOptions) error {
	switch {
	case o.MaxHold < 0:
		return fmt.Errorf("redlock: %s.MaxHold is %v: it cannot be negative", typeName, o.MaxHold)
	case len(o.Owner) > server.MaxOwner:
		return fmt.Errorf("redlock: %s.Owner has %d bytes: at most %d are allowed", typeName, len(o.Owner), server.MaxOwner)
	case !server.Printable(o.Owner):
		return fmt.Errorf("redlock: %s.Owner is %q: it must be printable text", typeName, o.Owner)
	}
	return nil
}
