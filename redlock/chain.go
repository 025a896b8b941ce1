package redlock

import (
	"slices"
	"sync"
	"time"
)

// chain has the values of a lock that is handed over within the process, oldest first: a
// server that missed handovers has an earlier one, and loses nothing by that. There are
// at most maxHandovers+1.
type chain struct {
	mu     sync.Mutex
	values []string
	// confirmed is the position of the newest value that each server has confirmed.
	confirmed []int
	ttl       time.Duration // the longest
	queued    bool          // a server may still have the first value in its queue
}

// next returns the chain of a lock that is handed over, with the value of the next
// holder.
func (l *Lock) next(value string, ttl time.Duration) *chain {
	c := l.chain
	if c == nil {
		c = &chain{
			values: []string{l.value}, confirmed: make([]int, len(l.m.nodes)), ttl: l.ttl, queued: l.queued,
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values, c.ttl = append(c.values, value), max(c.ttl, ttl)
	return c
}

// longest returns the longest TTL, and whether a server may still have the first value
// in its queue.
func (c *chain) longest() (ttl time.Duration, queued bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ttl, c.queued
}

// first returns the first value, which is that of the queue, or value if there is no
// chain.
func (c *chain) first(value string) string {
	if c == nil {
		return value
	}
	return c.values[0] // never changes
}

// before returns the values that a server may still have instead of the one at a
// position.
func (c *chain) before(position, server int) []string {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[min(c.confirmed[server], position):position:position]
}

// confirm records that a server has the value at a position.
func (c *chain) confirm(position, server int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed[server] = max(c.confirmed[server], position)
}

// clone returns the chain as it is now.
func (c *chain) clone() *chain {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &chain{values: slices.Clone(c.values), confirmed: slices.Clone(c.confirmed), ttl: c.ttl, queued: c.queued}
}
