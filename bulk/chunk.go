package bulk

import "math"

// chunkSize is how much is sent in one write.
const chunkSize = 64 << 10

// maxUnit is the most bytes of a command or a transaction: an item has 31 bits for where
// it ends, and may stand behind others.
const maxUnit = math.MaxInt32 - 1<<20

// item is a command in a chunk.
type item struct {
	no    int64 // the number of the command, the first being 1
	at    int64 // its line or offset, see loader.byLine
	end   int32 // where it ends in the chunk; it begins where the one before ends
	many  int32 // how many SETs it stands for, see coalesce.go; else 1
	first int32 // the first of them in chunk.sets, if many > 1
	flags itemFlags
}

type itemFlags uint8

const (
	inUnit   itemFlags = 1 << iota // belongs to the item before it: a transaction stays whole
	internal                       // our own, not of the input
	copied                         // the same command went to another server too, where it counts
	resend                         // to be sent again
	unsure                         // and perhaps executed
	fresh                          // and not sent before
	erred                          // answered with an error
	later                          // refused for now, as its slot is moving
)

// chunk is a row of commands for one server.
type chunk struct {
	buf   []byte
	items []item
	sets  []set // that became MSETs
	extra bool  // not of the pool
	pipe  *pipe // to which it was sent last
	mixed bool  // some item is more than one command with one answer

	// Of the pipe's reader, until the chunk has come back.
	done    int              // items answered
	trouble bool             // some items have the flag resend
	turned  map[int]redirect // where items belong, as the server says
}

// redirect is where a command belongs: for good (MOVED), or for once (ASK).
type redirect struct {
	addr string
	once bool
}

func (c *chunk) reset() {
	if c.buf = c.buf[:0]; cap(c.buf) > 4*chunkSize {
		c.buf = nil
	}
	c.items, c.sets = c.items[:0], c.sets[:0]
	c.mixed, c.done, c.trouble, c.turned = false, 0, false, nil
}

// add appends an item.
func (c *chunk) add(raw []byte, it item) {
	c.buf = append(c.buf, raw...)
	it.end = int32(len(c.buf)) // bounded by one command and a chunk
	c.items = append(c.items, it)
	if it.flags != 0 || it.many != 1 {
		c.mixed = true
	}
}

// begin is where item i begins.
func (c *chunk) begin(i int) int {
	if i == 0 {
		return 0
	}
	return int(c.items[i-1].end)
}

// raw is item i in the protocol.
func (c *chunk) raw(i int) []byte { return c.buf[c.begin(i):c.items[i].end] }

// frame reads item i into f again.
func (c *chunk) frame(i int, f *Frame) {
	s := Scanner{buf: c.raw(i), done: true}
	s.end = len(s.buf)
	if s.scan(f) != nil { // it was scanned before
		f.args = f.args[:0]
	}
}
