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

// NewConn returns a connection that needs no goroutine for one taken over from an HTTP server. ok
// is false if the system or the connection does not support that.
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

// rawWriter writes to one connection at a time. It exists so that a write does not allocate.
type rawWriter struct {
	message []byte
	n       int
	err     error
	write1  func(fd uintptr) bool
}

func (w *rawWriter) write(c *rawConn, message []byte) (int, error) {
	if w.write1 == nil {
		w.write1 = w.attempt
	}
	w.message, w.n, w.err = message, 0, nil
	err := c.raw.Write(w.write1)
	w.message = nil
	return w.n, errors.Join(err, w.err)
}

// attempt writes what fits. It always reports that it is done, so that nothing blocks.
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

// WriteAll writes everything by a deadline.
func (c *rawConn) WriteAll(p []byte, by time.Time) error {
	err := c.conn.SetWriteDeadline(by)
	if err == nil {
		_, err = c.conn.Write(p)
	}
	return errors.Join(err, c.conn.SetWriteDeadline(time.Time{}))
}

// Alive reads without blocking: if the client has gone, it has sent the end of the stream. Any data
// is dropped.
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
