package bulk

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
)

// pipe sends commands to one server and reads the answers, neither waiting for the
// other.
type pipe struct {
	conn *conn
	node *node
	out  chan *chunk   // to be sent
	sent chan *chunk   // to be answered, in order
	done chan struct{} // for each of these, when it is written
	over chan struct{} // the reader has ended
	quit chan struct{} // nobody wants to know any more
	wg   sync.WaitGroup

	// Of the writer, and of the loader when the pipe has stopped.
	begun int // chunks whose sending began
	cut   int // how much of the last of them was sent, or -1: all

	// Of the loader.
	pending []*chunk // sent and not yet back, oldest first
	back    int      // chunks that are back
	cur     *chunk   // being filled
	set     group    // SETs on their way to become an MSET
	failed  error
	stopped bool
	// troubled is set when a chunk came back with items that have to be sent again.
	troubled bool
}

// event is what a pipe tells the loader: a chunk is answered, or the pipe is dead.
type event struct {
	pipe  *pipe
	chunk *chunk
	err   error
}

// node is what a load counts of a server.
type node struct {
	addr     string
	commands atomic.Int64
	replies  atomic.Int64
	errors   atomic.Int64
	bytes    atomic.Int64
}

// startPipe begins to work on a connection. Each event goes to events, which has to
// be read.
func startPipe(c *conn, n *node, room int, judge judge, events chan<- event) *pipe {
	p := &pipe{
		conn: c, node: n, over: make(chan struct{}), quit: make(chan struct{}), cut: -1,
		out: make(chan *chunk, room), sent: make(chan *chunk, room), done: make(chan struct{}, room+1),
	}
	p.wg.Go(p.write)
	p.wg.Go(func() {
		err := p.read(judge, events)
		close(p.over)
		if err != nil {
			p.tell(events, event{pipe: p, err: err})
		}
	})
	return p
}

func (p *pipe) tell(events chan<- event, ev event) {
	select {
	case events <- ev:
	case <-p.quit:
	}
}

// stop ends both goroutines. What is unanswered stays in pending.
func (p *pipe) stop() {
	p.stopped = true
	close(p.quit)
	close(p.out)
	p.conn.Close()
	p.wg.Wait()
}

// write sends chunk after chunk. When the connection breaks the rest is passed over:
// the reader tells of it.
func (p *pipe) write() {
	defer close(p.sent)
	broken := false
	for c := range p.out {
		if broken {
			continue
		}
		// Before it is sent: the first answers may be there before Write returns.
		select {
		case p.sent <- c:
		case <-p.over:
			broken = true
			continue
		}
		p.begun++
		n, err := p.conn.Write(c.buf)
		if p.node.bytes.Add(int64(n)); err != nil {
			p.cut = n
			p.conn.Close()
			broken = true
		}
		p.done <- struct{}{}
	}
}

// judge is asked about each answer that is not a plain success.
type judge interface {
	// redirected tells whether the command was not executed and has to go
	// elsewhere.
	redirected(p *pipe, c *chunk, i int, text []byte) bool
	// failed counts an error.
	failed(p *pipe, c *chunk, i int, text []byte, inside bool)
}

// read reads the answers to chunk after chunk.
func (p *pipe) read(judge judge, events chan<- event) error {
	for c := range p.sent {
		if err := p.answers(c, judge); err != nil {
			return err
		}
		<-p.done // the answers can be here before Write has returned
		p.tell(events, event{pipe: p, chunk: c})
	}
	return nil
}

// answers reads the answers to one chunk.
func (p *pipe) answers(c *chunk, judge judge) error {
	n := len(c.items)
	for c.done < n {
		if !c.mixed {
			passed := p.conn.replies.oks(n - c.done)
			c.done += passed
			p.node.replies.Add(int64(passed))
			if c.done == n {
				break
			}
		}
		end := c.done + 1
		for end < n && c.items[end].flags&inUnit != 0 {
			end++
		}
		if err := p.unit(c, end, judge); err != nil {
			return err
		}
	}
	return nil
}

// unit reads the answers to the items from c.done to end, which belong together, and
// counts them when all are there: a transaction that was sent to the wrong server
// goes to another as a whole.
func (p *pipe) unit(c *chunk, end int, judge judge) error {
	type failure struct {
		item   int
		text   []byte
		inside bool
	}
	var failures []failure
	elsewhere := false
	for i := c.done; i < end; i++ {
		r, err := p.conn.replies.next()
		if err != nil {
			return err
		}
		if c.items[i].flags&internal != 0 {
			if err := p.ours(c, i); err != nil {
				return err
			}
			continue
		}
		if r.failed && judge.redirected(p, c, i, p.conn.replies.text) {
			elsewhere = true
		}
		if r.failed {
			failures = append(failures, failure{i, bytes.Clone(p.conn.replies.text), r.inside})
		}
	}
	for i := c.done; i < end; i++ {
		switch {
		case elsewhere:
			c.items[i].flags |= resend
			c.trouble = true
		case c.items[i].flags&(internal|copied) == 0:
			p.node.replies.Add(int64(c.items[i].many))
		}
	}
	for _, f := range failures {
		if !elsewhere {
			c.items[f.item].flags |= erred
			judge.failed(p, c, f.item, f.text, f.inside)
		}
	}
	c.done = end
	return nil
}

// ours checks the answer to a command of our own: the echo that ends a load, or
// ASKING.
func (p *pipe) ours(c *chunk, i int) error {
	var f Frame
	c.frame(i, &f)
	if is(f.Arg(0), "ECHO") && !bytes.Equal(f.Arg(1), p.conn.replies.text) {
		return fmt.Errorf("%w: the echo at the end is not what was sent", errProtocol)
	}
	return nil
}
