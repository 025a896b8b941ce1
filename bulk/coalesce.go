package bulk

import "retwis/bulk/resp"

// Limits of one MSET. A server serves no other client while it executes an MSET.
const (
	coalesceKeys  = 64
	coalesceBytes = 16 << 10
)

// group holds the encoded keys and values of consecutive SETs.
type group struct {
	buf  []byte
	sets []set
	slot int
}

// flush appends the SETs of the group to a chunk as one command.
func (g *group) flush(c *chunk) {
	n := len(g.sets)
	if n == 0 {
		return
	}
	it := item{no: g.sets[0].no, at: g.sets[0].at, commands: int32(n)}
	if n == 1 {
		c.buf = append(c.buf, "*3\r\n$3\r\nSET\r\n"...)
	} else {
		c.buf = append(resp.AppendLength(c.buf, '*', 2*n+1), "$4\r\nMSET\r\n"...)
		it.first = int32(len(c.sets)) // bounded by the size of a chunk
		c.sets = append(c.sets, g.sets...)
	}
	c.add(g.buf, it)
	g.buf, g.sets = g.buf[:0], g.sets[:0]
}
