package task

import "sync"

// claims are the members that this process works on.
type claims struct {
	mu      sync.Mutex
	members map[string]int // how many times each was added
}

func (c *claims) add(member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members == nil {
		c.members = map[string]int{}
	}
	c.members[member]++
}

func (c *claims) remove(member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members[member]--; c.members[member] <= 0 {
		delete(c.members, member)
	}
}

func (c *claims) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, 0, len(c.members))
	for member := range c.members {
		all = append(all, member)
	}
	return all
}
