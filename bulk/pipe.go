package bulk

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
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
	c.replies.before = p.linger
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

// linger lets answers gather while many are still to come. To be woken for each of the
// server's small writes costs a third of the CPU that a load takes, and the server some
// of its own where the two share a machine.
func (p *pipe) linger() {
	const many, moment = 8, time.Millisecond
	if len(p.sent) > many {
		time.Sleep(moment)
	}
}

// judge is asked about each answer that is not a plain success.
type judge interface {
	// redirected tells whether the command was not executed and has to go
	// elsewhere.
	redirected(p *pipe, c *chunk, i int, words string) bool
	// failed counts an error. raw is what has to be sent to try again, if anything.
	failed(p *pipe, c *chunk, i int, words string, raw []byte)
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

// failure is the error of an item.
type failure struct {
	item  int
	words string
}

// unit reads the answers to the items from c.done to end, which belong together, and
// counts them when all are there: a transaction that was sent to the wrong server
// goes to another as a whole.
func (p *pipe) unit(c *chunk, end int, judge judge) error {
	begin, elsewhere := c.done, false
	var failures []failure
	for i := begin; i < end; i++ {
		failed, err := p.conn.replies.next()
		if err != nil {
			return err
		}
		if c.items[i].flags&(internal|copied) == internal {
			if err := p.ours(c, i); err != nil {
				return err
			}
			continue
		}
		if failed {
			failures = append(failures, failure{i, string(p.conn.replies.text)})
			elsewhere = judge.redirected(p, c, i, failures[len(failures)-1].words) || elsewhere
		}
		for _, in := range p.conn.replies.inside { // MULTI is the first of the unit, EXEC the last
			if end-begin > 1 && begin+1+in.index < i {
				failures = append(failures, failure{begin + 1 + in.index, in.text})
			}
		}
	}
	for i := begin; i < end; i++ {
		switch {
		case elsewhere:
			c.items[i].flags |= resend
			c.trouble = true
		case c.items[i].flags&(internal|copied) == 0:
			p.node.replies.Add(int64(c.items[i].many))
		}
	}
	if !elsewhere {
		p.tellFailures(c, begin, end, failures, judge)
	}
	c.done = end
	return nil
}

// tellFailures counts errors. What a transaction did not do at all has to be tried again
// as a whole, whatever the command that spoilt it.
func (p *pipe) tellFailures(c *chunk, begin, end int, failures []failure, judge judge) {
	aborted := end-begin > 1 && len(failures) > 0 && failures[len(failures)-1].item == end-1
	for _, f := range failures {
		c.items[f.item].flags |= erred
		raw := c.raw(f.item)
		if aborted {
			raw = nil
			if f.item == end-1 {
				raw = c.buf[c.begin(begin):c.items[end-1].end]
			}
		}
		judge.failed(p, c, f.item, f.words, raw)
	}
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
