//go:build !unix

package live

import "net"

// CanTakeOver reports whether NewConn works on this system.
const CanTakeOver = false

// rawConn is unused on this system, where every connection has a goroutine.
type rawConn struct{ Conn }

// NewConn reports that the system cannot write without blocking.
func NewConn(net.Conn) (Conn, bool) { return nil, false }

// rawWriter is unused on this system.
type rawWriter struct{}

func (rawWriter) write(c *rawConn, message []byte) (int, error) { return c.Conn.Write(message) }
