package redlock

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// LockOptions are those of one lock where they differ from the Options of the same
// names; zero is what the Manager has.
type LockOptions struct {
	// TTL is how long this lock lives without being extended. A server that was
	// restarted keeps out of the voting for the longest TTL in use, also of one
	// lock: extending a short one is better than a long one.
	TTL time.Duration
	// MaxHold is how long this lock can be held at most.
	MaxHold time.Duration
	// Owner says who holds this lock.
	Owner string
}

const (
	// maxTTL is the longest TTL: it is for how long everybody waits when a holder
	// dies, or a server was restarted. One that lives extends.
	maxTTL = 24 * time.Hour
	// maxOwner is how long the text of an owner may be, in bytes.
	maxOwner = 200
)

// lockOptions returns what holds for one lock. There is at most one set of options.
func (m *Manager) lockOptions(given []LockOptions) (LockOptions, error) {
	opt := LockOptions{TTL: m.opt.TTL, MaxHold: m.opt.MaxHold, Owner: m.opt.Owner}
	if len(given) == 0 {
		return opt, nil
	}
	if len(given) > 1 {
		return opt, fmt.Errorf("redlock: %d LockOptions given: one lock has one", len(given))
	}
	o := given[0]
	if o.TTL != 0 {
		opt.TTL = o.TTL
		if err := checkTTL("LockOptions", o.TTL); err != nil {
			return opt, err
		}
		if drift := m.drift(o.TTL); m.opt.NodeTimeout+drift >= o.TTL {
			return opt, fmt.Errorf("redlock: LockOptions.TTL is %v: it must be more than Options.NodeTimeout of %v and the drift of %v together",
				o.TTL, m.opt.NodeTimeout, drift)
		}
	}
	if o.MaxHold != 0 {
		opt.MaxHold = o.MaxHold
	}
	if o.Owner != "" {
		opt.Owner = o.Owner
	}
	return opt, checkHolder("LockOptions", opt)
}

// checkTTL refuses times that no lock can live for.
func checkTTL(of string, ttl time.Duration) error {
	switch {
	case ttl < 10*time.Millisecond || ttl%time.Millisecond != 0:
		return fmt.Errorf("redlock: %s.TTL is %v: it must be whole milliseconds, at least 10", of, ttl)
	case ttl > maxTTL:
		return fmt.Errorf("redlock: %s.TTL is %v: it can be %v at most; extend the lock to hold it for longer", of, ttl, maxTTL)
	}
	return nil
}

func checkHolder(of string, o LockOptions) error {
	switch {
	case o.MaxHold < 0:
		return fmt.Errorf("redlock: %s.MaxHold is %v: it cannot be negative", of, o.MaxHold)
	case len(o.Owner) > maxOwner:
		return fmt.Errorf("redlock: %s.Owner has %d bytes: it can have %d at most", of, len(o.Owner), maxOwner)
	case !printable(o.Owner):
		return fmt.Errorf("redlock: %s.Owner is %q: it must be printable text", of, o.Owner)
	}
	return nil
}

func printable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// drift is taken off the time for which a lock is valid: Options.Drift, or as much of
// another ttl.
func (m *Manager) drift(ttl time.Duration) time.Duration {
	if ttl >= m.opt.TTL {
		return time.Duration(float64(m.opt.Drift) * (float64(ttl) / float64(m.opt.TTL)))
	}
	return min(m.opt.Drift, time.Duration(float64(m.opt.Drift)*(float64(ttl)/float64(m.opt.TTL)))+2*time.Millisecond)
}

// extendEvery is Options.ExtendEvery, or as much of another ttl.
func (m *Manager) extendEvery(ttl time.Duration) time.Duration {
	if ttl == m.opt.TTL {
		return m.opt.ExtendEvery
	}
	return time.Duration(float64(m.opt.ExtendEvery) * (float64(ttl) / float64(m.opt.TTL)))
}

// with gives a lock that was taken just now what holds for it beside its ttl.
func (l *Lock) with(opt LockOptions) *Lock {
	l.mu.Lock()
	l.owner, l.since = opt.Owner, time.Now()
	if opt.MaxHold > 0 {
		l.maxHold, l.limit = opt.MaxHold, l.since.Add(opt.MaxHold)
		if l.limit.Before(l.until) {
			l.until = l.limit
		}
	}
	l.mu.Unlock()
	l.describe(false)
	return l
}
