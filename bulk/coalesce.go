package bulk

import (
	"bytes"
	"context"
)

// How much becomes one MSET. A server does nothing else meanwhile.
const (
	coalesceKeys  = 64
	coalesceBytes = 16 << 10
)

// set is a SET that became part of an MSET.
type set struct{ no, at int64 }

// group is the keys and values of SETs that follow each other.
type group struct {
	buf  []byte
	sets []set
	slot int
}

// gather adds the current command, a plain SET, to those before it. Nothing can tell one
// MSET from them: both set each key, whatever it was, and take its expiry away; for all
// other commands to the same keys they are closed first. A Cluster wants one slot.
func (l *loader) gather(ctx context.Context, slot int, it item) error {
	f := &l.frame
	p, err := l.room(ctx, slot, f.args[2].end)
	if err != nil {
		return err
	}
	pair := f.raw[f.args[0].end+2:]
	g := &p.set
	if n := len(g.sets); n >= coalesceKeys || n > 0 && (len(g.buf)+len(pair) > coalesceBytes || l.cluster && g.slot != slot) {
		p.closeSet()
	}
	g.buf = append(g.buf, pair...)
	g.sets = append(g.sets, set{it.no, it.at})
	g.slot = slot
	l.last = it.no
	return nil
}

// closeSet writes the gathered SETs as one command.
func (p *pipe) closeSet() {
	g := &p.set
	n := len(g.sets)
	if n == 0 {
		return
	}
	c := p.cur
	it := item{no: g.sets[0].no, at: g.sets[0].at, many: int32(n)} // at most coalesceKeys
	if n == 1 {
		c.buf = append(c.buf, "*3\r\n$3\r\nSET\r\n"...)
	} else {
		c.buf = append(appendLength(c.buf, '*', 2*n+1), "$4\r\nMSET\r\n"...)
		it.first = int32(len(c.sets)) // bounded by the size of a chunk
		c.sets = append(c.sets, g.sets...)
	}
	c.add(g.buf, it)
	g.buf, g.sets = g.buf[:0], g.sets[:0]
}

// failedSet counts the error of an MSET as one of each of its SETs: none was done.
func (l *loader) failedSet(p *pipe, c *chunk, i int, words string) {
	var f Frame
	c.frame(i, &f)
	it := c.items[i]
	for k := range int(it.many) {
		if 2*k+2 >= f.Len() {
			return
		}
		var one bytes.Buffer
		e := NewEncoder(&one)
		if e.Encode("SET", f.Arg(2*k+1), f.Arg(2*k+2)) != nil || e.Flush() != nil {
			return
		}
		s := c.sets[int(it.first)+k]
		l.failedOne(p, item{no: s.no, at: s.at}, words, one.Bytes(), retry{raw: one.Bytes(), db: l.db})
	}
}
