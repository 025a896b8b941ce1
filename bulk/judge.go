package bulk

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"retwis/bulk/resp"
	"retwis/internal/redis/rediserr"
)

// judge interprets the error replies of a load. The readers of all pipes call it.
type judge struct {
	count     *counts
	db        *database
	cluster   bool
	failFast  bool
	broadcast rejections  // of the command sent on all connections
	stop      atomic.Bool // a command failed and failFast is set
}

// stopped returns ErrFailed once a command failed and Options.FailFast is set.
func (j *judge) stopped() error {
	if j.stop.Load() {
		return ErrFailed
	}
	return nil
}

// refused reports whether an error means that item i was not executed and must be resent, to
// another server or later. If so, refused records the redirection or the error in the chunk.
func (j *judge) refused(from string, c *chunk, i int, text string) bool {
	var why refusal
	switch kind, rest, _ := strings.Cut(text, " "); {
	case j.cluster && (kind == "MOVED" || kind == "ASK"):
		_, addr, ok := strings.Cut(rest, " ")
		if !ok {
			return false
		}
		why = refusal{addr: redirectAddr(from, addr), ask: kind == "ASK"}
		if why.ask && c.items[i].flags&inUnit != 0 { // ASKING applies to one command, not to a transaction
			c.items[i].flags |= later
		}
	case rediserr.IsTemporaryReply(text):
		why = refusal{text: text}
		c.items[i].flags |= later
	default:
		return false
	}
	if c.refused == nil {
		c.refused = make(map[int]refusal)
	}
	c.refused[i] = why
	return true
}

// redirectAddr returns the address of a redirection. A missing host is the host of the server that
// sent the redirection.
func redirectAddr(from, addr string) string {
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		if host, _, err := net.SplitHostPort(from); err == nil {
			return net.JoinHostPort(host, port)
		}
	}
	return addr
}

// failed counts the error of item i. raw is the input that repeats the item, or nil if another item
// of its transaction provides that input.
func (j *judge) failed(n *node, c *chunk, i int, text string, raw []byte) {
	switch it := c.items[i]; {
	case it.flags&copied != 0:
		j.broadcast.add(n, text)
		return
	case it.commands > 1:
		j.failedMSET(n, c, i, text)
	case len(raw) > len(c.raw(i)): // a whole transaction, which was not executed
		j.failedCommand(n, it, text, c.raw(i), retry{raw, j.db.selected, len(j.db.selections) > 0})
	default:
		j.failedCommand(n, it, text, c.raw(i), retry{raw: raw, db: j.db.during(it.no)})
	}
	if j.failFast {
		j.stop.Store(true)
	}
}

// failedMSET counts the error of an MSET once per SET, because none of the SETs was executed.
func (j *judge) failedMSET(n *node, c *chunk, i int, text string) {
	var f resp.Frame
	c.frame(i, &f)
	it := c.items[i]
	for k := range int(it.commands) {
		if 2*k+2 >= f.Len() {
			return
		}
		var encoded bytes.Buffer
		e := resp.NewEncoder(&encoded)
		if e.Encode("SET", f.Arg(2*k+1), f.Arg(2*k+2)) != nil || e.Flush() != nil {
			return
		}
		s := c.sets[int(it.first)+k]
		j.failedCommand(n, item{no: s.no, at: s.at}, text, encoded.Bytes(), retry{raw: encoded.Bytes(), db: j.db.selected})
	}
}

// failedCommand counts the error of one command.
func (j *judge) failedCommand(n *node, it item, text string, raw []byte, repeat retry) {
	j.count.fail(n, text, repeat, func() Failure {
		from := j.count.origin(it.no)
		f := Failure{File: from.name, Command: it.no, Text: resp.Text(raw), Error: text, Node: n.addr}
		if from.byLine {
			f.Line = it.at
		} else {
			f.Offset = it.at
		}
		return f
	})
}

// rejections keeps the first error of a command that was sent on all connections.
type rejections struct {
	mu    sync.Mutex
	first rejection
}

// rejection is an error reply of a server.
type rejection struct {
	node *node // nil: no error
	text string
}

func (r *rejections) add(n *node, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.node == nil {
		r.first = rejection{n, text}
	}
}

// take returns the first error and clears it.
func (r *rejections) take() rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.first
	r.first = rejection{}
	return first
}
