package bulk

import (
	"math"

	"retwis/bulk/resp"
)

// chunkSize is the size of one write.
const chunkSize = 64 << 10

// maxUnit is the maximum size of a command or a transaction: item.end has 31 bits, and other items
// may precede it in the chunk.
const maxUnit = math.MaxInt32 - 1<<20

// item is a command in a chunk.
type item struct {
	no       int64 // number of the command, starting at 1
	at       int64 // its line or offset; see origin.byLine
	end      int32 // end in the chunk; the item starts at the end of the previous item
	commands int32 // 1, or the number of SETs merged into an MSET
	first    int32 // index of the first merged SET in chunk.sets, if commands > 1
	flags    itemFlags
}

type itemFlags uint16

const (
	inUnit            itemFlags = 1 << iota // belongs to the previous item: a transaction stays together
	internal                                // sent by the load itself, not part of the input
	copied                                  // sent on all connections and counted once
	resend                                  // must be resent
	unsure                                  // with resend: may have been executed
	fresh                                   // with resend: was not sent before
	answeredWithError                       // answered with an error
	later                                   // temporarily refused: its slot is moving, or its server is busy
	markedRepeatable                        // the input marks it as repeatable
	moved                                   // copied into another chunk, which holds it now
)

// chunk is a sequence of commands for one server, sent in one write.
type chunk struct {
	buf   []byte
	items []item
	sets  []set // SETs of all MSETs
	extra bool  // not from the pool
	node  *node // server to which the chunk was last sent
	mixed bool  // some item is not a plain command with one reply

	// Only the pipe's reader uses these fields until the chunk is answered.
	done    int             // number of answered items
	trouble bool            // some items have the flag resend
	refused map[int]refusal // why items must be resent
}

// set is a SET that became part of an MSET.
type set struct{ no, at int64 }

// refusal is a reply after which a command is resent: a temporary error, or MOVED or ASK with an
// address. ASK applies to one command only.
type refusal struct {
	addr string
	ask  bool
	text string
}

func (c *chunk) reset() {
	if c.buf = c.buf[:0]; cap(c.buf) > 4*chunkSize {
		c.buf = nil
	}
	c.items, c.sets = c.items[:0], c.sets[:0]
	c.mixed, c.done, c.trouble, c.refused = false, 0, false, nil
}

// add appends an item.
func (c *chunk) add(raw []byte, it item) {
	c.buf = append(c.buf, raw...)
	it.end = int32(len(c.buf)) // bounded by one command plus a chunk
	c.items = append(c.items, it)
	if it.flags != 0 || it.commands != 1 {
		c.mixed = true
	}
}

// begin returns the start of item i.
func (c *chunk) begin(i int) int {
	if i == 0 {
		return 0
	}
	return int(c.items[i-1].end)
}

// raw returns item i, encoded in the protocol.
func (c *chunk) raw(i int) []byte { return c.buf[c.begin(i):c.items[i].end] }

// frame parses item i into f.
func (c *chunk) frame(i int, f *resp.Frame) {
	if resp.Parse(c.raw(i), f) != nil { // cannot happen: the item was parsed before
		f.Reset(0)
	}
}
