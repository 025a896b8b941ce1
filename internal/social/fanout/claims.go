package fanout

import "sync"

// claims are the fan-outs that this process works on.
type claims struct {
	mu    sync.Mutex
	posts map[int64]int // how many times each was added
}

func (c *claims) add(post int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts == nil {
		c.posts = map[int64]int{}
	}
	c.posts[post]++
}

func (c *claims) remove(post int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts[post]--; c.posts[post] <= 0 {
		delete(c.posts, post)
	}
}

func (c *claims) all() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]int64, 0, len(c.posts))
	for post := range c.posts {
		all = append(all, post)
	}
	return all
}
