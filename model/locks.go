package model

import (
	"sync"

	"retwis/model/internal/record"
	"retwis/redlock"

	"github.com/redis/rueidis"
)

// locks makes the locks of a Store, with a Manager that is made for the first one.
type locks struct {
	mu      sync.Mutex
	manager *redlock.Manager
	closed  bool
}

// of returns the Manager, after checking an id.
func (l *locks) of(o *record.Objects, id string) (*redlock.Manager, error) {
	if err := o.CheckID(id); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, redlock.ErrClosed
	}
	if l.manager == nil {
		manager, err := redlock.New([]rueidis.Client{o.Table.Client}, redlock.Options{})
		if err != nil {
			return nil, err
		}
		l.manager = manager
	}
	return l.manager, nil
}

// lock locks a record by the Manager.
func lock(o *record.Objects, l *locks, id string, lock func(m *redlock.Manager, name string) (*redlock.Lock, error)) (*redlock.Lock, error) {
	manager, err := l.of(o, id)
	if err != nil {
		return nil, wrap(o.Table, err)
	}
	held, err := lock(manager, o.Table.Layout.Of(id).Lock(id))
	return held, wrap(o.Table, err)
}
