package input

import (
	"io"
	"sync/atomic"
)

// counter counts the bytes read, and stops reading once interrupted returns an error.
type counter struct {
	r           io.Reader
	n           *atomic.Int64
	interrupted func() error // or nil
}

func (c *counter) Read(p []byte) (int, error) {
	if c.interrupted != nil {
		if err := c.interrupted(); err != nil {
			return 0, &InterruptedError{err}
		}
	}
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
