package redlock

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Watch yields the status of a name, and again each time that another one holds it, or
// nobody, until the context is done. It asks every Options.RetryMax, without standing
// in line: who holds the name for less may be missed. The last value is an error if
// the name cannot be watched, or the manager was closed.
func (m *Manager) Watch(ctx context.Context, name string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		look := time.NewTicker(m.opt.RetryMax)
		defer look.Stop()
		var last watched
		for first := true; ; first = false {
			status, err := m.Status(ctx, name)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if now := watchedOf(status); first || now != last {
				last = now
				if !yield(status, nil) {
					return
				}
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			case <-m.closing:
				yield(nil, ErrClosed)
				return
			}
		}
	}
}

// watched is what Watch compares.
type watched struct {
	value     string
	undecided bool
	notLocks  int
}

func watchedOf(s Status) watched {
	holder, _ := s.Holder()
	w := watched{value: holder.Value, undecided: s.Undecided()}
	for _, n := range s {
		if errors.Is(n.Err, ErrNotLock) {
			w.notLocks++
		}
	}
	return w
}
