package bulk

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"retwis/bulk/internal/command"
	"retwis/bulk/internal/server"
	"retwis/bulk/resp"
)

// pipe sends commands to one server and reads the replies. Writer and reader have a goroutine each.
type pipe struct {
	conn     *server.Conn
	node     *node
	judge    *judge
	out      chan *chunk   // chunks to send
	sent     chan *chunk   // chunks to be answered, in order
	done     chan struct{} // one signal per written chunk
	readDone chan struct{} // closed when the reader ends
	quit     chan struct{} // closed when the loader stops the pipe
	wg       sync.WaitGroup

	// Used by the writer, and by the loader once the pipe has stopped.
	begun int // number of chunks whose sending began
	cut   int // number of bytes of the last begun chunk that were sent; -1: all

	// Used by the loader.
	pending  []*chunk // sent and not yet answered, oldest first
	returned int      // number of answered chunks
	cur      *chunk   // being filled
	set      group    // SETs that become the next MSET
	failed   error
	stopped  bool
	// troubled is set when an answered chunk has items that must be resent.
	troubled bool
}

// event tells the loader that a chunk is answered, or that the pipe failed.
type event struct {
	pipe  *pipe
	chunk *chunk
	err   error
}

// startPipe starts a pipe on a connection. The loader must receive from events.
func startPipe(c *server.Conn, n *node, j *judge, events chan<- event) *pipe {
	room := cap(events)
	p := &pipe{
		conn: c, node: n, judge: j, readDone: make(chan struct{}), quit: make(chan struct{}), cut: -1,
		out: make(chan *chunk, room), sent: make(chan *chunk, room), done: make(chan struct{}, room+1),
	}
	c.Replies.BeforeRead = p.coalesceReads
	p.wg.Go(p.write)
	p.wg.Go(func() {
		err := p.read(events)
		close(p.readDone)
		if err != nil {
			p.report(events, event{pipe: p, err: err})
		}
	})
	return p
}

func (p *pipe) report(events chan<- event, ev event) {
	select {
	case events <- ev:
	case <-p.quit:
	}
}

// stop ends both goroutines. Chunks without replies stay in pending.
func (p *pipe) stop() {
	p.stopped = true
	close(p.quit)
	close(p.out)
	p.conn.Close()
	p.wg.Wait()
}

// write sends the chunks of out. After the connection breaks, it skips the remaining chunks; the
// reader reports the error.
func (p *pipe) write() {
	defer close(p.sent)
	broken := false
	for c := range p.out {
		if broken {
			continue
		}
		// The reader gets the chunk before Write, because replies can arrive before Write returns.
		select {
		case p.sent <- c:
		case <-p.readDone:
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

// flushSETs appends the pending SETs to the current chunk.
func (p *pipe) flushSETs() { p.set.flush(p.cur) }

// coalesceReads sleeps before a read while many chunks are outstanding. Waking up for each small
// write of the server costs a third of the load's CPU time, and some of the server's CPU time if
// both share a machine.
func (p *pipe) coalesceReads() {
	const minChunks, pause = 8, time.Millisecond
	if len(p.sent) > minChunks {
		time.Sleep(pause)
	}
}

// read reads the replies to the chunks of sent.
func (p *pipe) read(events chan<- event) error {
	for c := range p.sent {
		if err := p.readChunk(c); err != nil {
			return err
		}
		<-p.done // replies can arrive before Write returns
		p.report(events, event{pipe: p, chunk: c})
	}
	return nil
}

// readChunk reads the replies to one chunk.
func (p *pipe) readChunk(c *chunk) error {
	n := len(c.items)
	for c.done < n {
		if !c.mixed {
			ok := p.conn.Replies.SkipOK(n - c.done)
			c.done += ok
			p.node.replies.Add(int64(ok))
			if c.done == n {
				break
			}
		}
		end := c.done + 1
		for end < n && c.items[end].flags&inUnit != 0 {
			end++
		}
		if err := p.readUnit(c, end); err != nil {
			return err
		}
	}
	return nil
}

// itemError is the error reply to an item.
type itemError struct {
	item int
	text string
}

// readUnit reads the replies to the items from c.done to end, a command or a transaction. It counts
// the replies once all have arrived, because a transaction with a temporarily refused command is
// resent as a whole.
func (p *pipe) readUnit(c *chunk, end int) error {
	begin, refused := c.done, false
	var failures []itemError
	for i := begin; i < end; i++ {
		failed, err := p.conn.Replies.Next()
		if err != nil {
			return err
		}
		if c.items[i].flags&(internal|copied) == internal {
			if err := p.checkEcho(c, i, failed); err != nil {
				return err
			}
			continue
		}
		if failed {
			text := string(p.conn.Replies.Text())
			failures = append(failures, itemError{i, text})
			refused = p.judge.refused(p.conn.Addr, c, i, text) || refused
		}
		for _, in := range p.conn.Replies.Inner { // MULTI is the first item of the unit, and EXEC the last
			if end-begin > 1 && begin+1+in.Index < i {
				failures = append(failures, itemError{begin + 1 + in.Index, in.Text})
			}
		}
	}
	for i := begin; i < end; i++ {
		switch {
		case refused:
			c.items[i].flags |= resend
			c.trouble = true
		case c.items[i].flags&(internal|copied) == 0:
			p.node.replies.Add(int64(c.items[i].commands))
		}
	}
	if !refused {
		p.reportFailures(c, begin, end, failures)
	}
	c.done = end
	return nil
}

// reportFailures reports errors to the judge. To repeat an aborted transaction, all of its commands
// are needed, so the failure of EXEC has the input of the whole transaction.
func (p *pipe) reportFailures(c *chunk, begin, end int, failures []itemError) {
	aborted := end-begin > 1 && len(failures) > 0 && failures[len(failures)-1].item == end-1
	for _, f := range failures {
		c.items[f.item].flags |= answeredWithError
		raw := c.raw(f.item)
		if aborted {
			raw = nil
			if f.item == end-1 {
				raw = c.buf[c.begin(begin):c.items[end-1].end]
			}
		}
		p.judge.failed(p.node, c, f.item, f.text, raw)
	}
}

// checkEcho checks the reply to an internal command: the ECHO that ends a load, ASKING or SELECT.
// An error reply is accepted, because it also proves that all earlier replies were read: the user
// may lack permission for ECHO, or a proxy may not support it.
func (p *pipe) checkEcho(c *chunk, i int, failed bool) error {
	var f resp.Frame
	c.frame(i, &f)
	if command.Is(f.Arg(0), "ECHO") && !failed && !bytes.Equal(f.Arg(1), p.conn.Replies.Text()) {
		return fmt.Errorf("%w: the echo at the end differs from what was sent", server.ErrProtocol)
	}
	return nil
}
