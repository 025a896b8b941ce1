package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Locks are several names that are held together.
type Locks []*Lock

// maxNames is the limit of LockAll.
const maxNames = 64

// LockAll waits until it holds all the names, or the context is done; then it holds
// none. It locks the names in sorted order, each once, so that two callers never
// wait for each other (no deadlock). It extends what it holds while it waits for the
// rest. At most 64 names; one round trip each.
func (m *Manager) LockAll(ctx context.Context, names ...string) (Locks, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch {
	case len(names) == 0:
		return nil, errors.New("redlock: no names given")
	case len(names) > maxNames:
		return nil, fmt.Errorf("redlock: %d names given: at most %d at once", len(names), maxNames)
	}
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	var extending sync.WaitGroup
	defer extending.Wait()
	defer stop()
	held := make(Locks, 0, len(names))
	for _, name := range names {
		l, err := m.Lock(ctx, name)
		if err != nil {
			return nil, errors.Join(err, held.Unlock(context.WithoutCancel(ctx)))
		}
		held = append(held, l)
		extending.Go(func() { l.keepExtending(keeping) })
	}
	stop()
	extending.Wait()
	for _, l := range held {
		if l.Valid() && time.Until(l.Until()) > m.opt.TTL/2 {
			continue
		}
		if err := l.Extend(ctx); err != nil {
			return nil, errors.Join(err, held.Unlock(context.WithoutCancel(ctx)))
		}
	}
	return held, nil
}

// Until returns the earliest end of the locks.
func (ls Locks) Until() time.Time {
	var first time.Time
	for i, l := range ls {
		if until := l.Until(); i == 0 || until.Before(first) {
			first = until
		}
	}
	return first
}

// Extend extends all locks at once. The error joins all errors.
func (ls Locks) Extend(ctx context.Context) error {
	return ls.each(func(l *Lock) error { return l.Extend(ctx) })
}

// Unlock unlocks all locks at once. The error joins all errors.
func (ls Locks) Unlock(ctx context.Context) error {
	return ls.each(func(l *Lock) error { return l.Unlock(ctx) })
}

func (ls Locks) each(f func(*Lock) error) error {
	errs := make([]error, len(ls))
	var all sync.WaitGroup
	for i, l := range ls {
		all.Go(func() { errs[i] = f(l) })
	}
	all.Wait()
	return errors.Join(errs...)
}
