//go:build unix

package live

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// CanTakeOver reports whether NewConn works on this system.
const CanTakeOver = true

// rawConn is a connection with non-blocking writes.
type rawConn struct {
	conn net.Conn
	raw  syscall.RawConn
}

// NewConn returns a Conn, which needs no goroutine, for a connection taken over from an HTTP
// server. ok is false if the system or the connection does not support that.
func NewConn(conn net.Conn) (_ Conn, ok bool) {
	sys, ok := conn.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := sys.SyscallConn()
	if err != nil || conn.SetDeadline(time.Time{}) != nil {
		return nil, false
	}
	return &rawConn{conn: conn, raw: raw}, true
}

// rawWriter writes to one connection at a time. Reusing a rawWriter avoids an allocation per write.
type rawWriter struct {
	message []byte
	n       int
	err     error
	tryOnce func(fd uintptr) bool // the method attempt
}

func (w *rawWriter) write(c *rawConn, message []byte) (int, error) {
	if w.tryOnce == nil {
		w.tryOnce = w.attempt
	}
	w.message, w.n, w.err = message, 0, nil
	err := c.raw.Write(w.tryOnce)
	w.message = nil
	return w.n, errors.Join(err, w.err)
}

// attempt writes as much as the socket accepts. It always returns true, so that
// syscall.RawConn.Write does not wait.
func (w *rawWriter) attempt(fd uintptr) bool {
	for w.n < len(w.message) {
		n, err := syscall.Write(int(fd), w.message[w.n:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			w.err = err
			return true
		}
		w.n += n
	}
	return true
}

// Write writes as much as the client accepts without blocking.
func (c *rawConn) Write(p []byte) (int, error) {
	var w rawWriter
	return w.write(c, p)
}

// WriteAll writes all of p, or fails at the deadline.
func (c *rawConn) WriteAll(p []byte, deadline time.Time) error {
	err := c.conn.SetWriteDeadline(deadline)
	if err == nil {
		_, err = c.conn.Write(p)
	}
	return errors.Join(err, c.conn.SetWriteDeadline(time.Time{}))
}

// Alive reads without blocking and discards the data. At the end of the stream, the client has
// disconnected.
func (c *rawConn) Alive() bool {
	alive := true
	err := c.raw.Read(func(fd uintptr) bool {
		var b [64]byte
		for range 4 {
			n, err := syscall.Read(int(fd), b[:])
			if n > 0 || err == syscall.EINTR {
				continue
			}
			alive = err == syscall.EAGAIN
			break
		}
		return true
	})
	return alive && err == nil
}

// Close closes the connection.
func (c *rawConn) Close() { _ = c.conn.Close() }
