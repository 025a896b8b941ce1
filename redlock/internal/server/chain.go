package server

import (
	"slices"
	"sync"
	"time"
)

// Chain has the values of a lock that is handed over within the process, oldest first: a
// server that missed handovers has an earlier one, and loses nothing by that. There are
// at most redlock.maxHandovers+1.
type Chain struct {
	mu     sync.Mutex
	values []string
	// confirmed is the position of the newest value that each server has confirmed.
	confirmed []int
	ttl       time.Duration // the longest
	queued    bool          // a server may still have the first value in its queue
}

// NewChain returns the chain of a lock that is handed over for the first time.
func NewChain(servers int, value string, ttl time.Duration, queued bool) *Chain {
	return &Chain{values: []string{value}, confirmed: make([]int, servers), ttl: ttl, queued: queued}
}

// Add adds the value of the next holder.
func (c *Chain) Add(value string, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values, c.ttl = append(c.values, value), max(c.ttl, ttl)
}

// Longest returns the longest TTL, and whether a server may still have the first value
// in its queue.
func (c *Chain) Longest() (ttl time.Duration, queued bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ttl, c.queued
}

// First returns the first value, which is that of the queue, or value if there is no
// chain.
func (c *Chain) First(value string) string {
	if c == nil {
		return value
	}
	return c.values[0] // never changes
}

// Before returns the values that a server may still have instead of the one at a
// position.
func (c *Chain) Before(position, server int) []string {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[min(c.confirmed[server], position):position:position]
}

// Confirm records that a server has the value at a position.
func (c *Chain) Confirm(position, server int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed[server] = max(c.confirmed[server], position)
}

// Clone returns the chain as it is now.
func (c *Chain) Clone() *Chain {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Chain{values: slices.Clone(c.values), confirmed: slices.Clone(c.confirmed), ttl: c.ttl, queued: c.queued}
}
