package bulk

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"retwis/bulk/internal/input"
	"retwis/bulk/resp"
)

// maxKinds is the maximum number of error kinds that are counted separately: errors of scripts
// can begin with anything.
const maxKinds = 50

// counts collects the statistics and the failed commands of a load.
type counts struct {
	began    time.Time
	from     int64 // see Report.From
	commands atomic.Int64
	records  atomic.Int64
	skipped  atomic.Int64
	bad      atomic.Int64
	resent   atomic.Int64
	bytes    atomic.Int64 // emitted bytes
	input    atomic.Int64

	mu          sync.Mutex
	files       []origin
	cut         []string // what was left out at the end of files
	nodes       []*node
	errors      int64
	kinds       map[string]int64
	failures    []Failure
	maxFailures int       // maximum length of failures
	to          io.Writer // receives failed commands
	toDB        int       // database selected at the end of the output to it; -1: unknown
	toErr       error     // error of the first failed write to it
}

// node returns the counters of a server.
func (c *counts) node(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.addr == addr {
			return n
		}
	}
	n := &node{addr: addr}
	c.nodes = append(c.nodes, n)
	return n
}

// node counts the commands and replies of one server.
type node struct {
	addr     string
	commands atomic.Int64
	replies  atomic.Int64
	errors   atomic.Int64
	bytes    atomic.Int64
}

// origin is a file of the input.
type origin struct {
	first  int64 // number of its first command
	name   string
	byLine bool // places are line numbers, not byte offsets
}

// begin records that a file starts after command number no.
func (c *counts) begin(in *input.Input, no int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, origin{no + 1, in.Name(), in.ByLine()})
}

// end records what was left out at the end of a file.
func (c *counts) end(cut string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cut != "" {
		c.cut = append(c.cut, cut)
	}
}

// origin returns the file that contains command number no.
func (c *counts) origin(no int64) origin {
	for i := len(c.files) - 1; i > 0; i-- {
		if c.files[i].first <= no {
			return c.files[i]
		}
	}
	if len(c.files) == 0 {
		return origin{}
	}
	return c.files[0]
}

// where describes the place of command number no. at is its line or offset.
func (c *counts) where(no, at int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.origin(no)
	text := fmt.Sprintf("byte %d", at)
	if from.byLine {
		text = fmt.Sprintf("line %d", at)
	}
	if from.name != "" {
		text = from.name + ", " + text
	}
	return text
}

// retry is the input that repeats a failed command.
type retry struct {
	raw     []byte
	db      int  // database in which the command runs
	selects bool // the command may select another database
}

// fail counts an error. It calls describe if failures is not full.
func (c *counts) fail(n *node, text string, repeat retry, describe func() Failure) {
	n.errors.Add(1)
	kind, _, _ := strings.Cut(text, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	if c.kinds == nil {
		c.kinds = make(map[string]int64)
	}
	if _, ok := c.kinds[kind]; !ok && len(c.kinds) >= maxKinds {
		kind = "other"
	}
	c.kinds[kind]++
	if len(c.failures) < c.maxFailures {
		c.failures = append(c.failures, describe())
	}
	if c.to != nil && len(repeat.raw) > 0 {
		c.keep(repeat)
	}
}

// keep writes a failed command to c.to, preceded by a SELECT if its database differs from the
// database of the previous command.
func (c *counts) keep(repeat retry) {
	var f resp.Frame
	if repeat.db != c.toDB {
		f.Reset(2)
		f.Add([]byte("SELECT"))
		f.Add(strconv.AppendInt(nil, int64(repeat.db), 10))
	}
	c.toDB = repeat.db
	if repeat.selects {
		c.toDB = -1
	}
	if c.toErr == nil {
		_, c.toErr = c.to.Write(append(f.Raw(), repeat.raw...))
	}
}

// report returns the current figures.
func (c *counts) report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{
		Commands: c.commands.Load(), Records: c.records.Load(), Skipped: c.skipped.Load(), Bad: c.bad.Load(), Resent: c.resent.Load(),
		Errors: c.errors, Kinds: make(map[string]int64, len(c.kinds)), Failures: append([]Failure{}, c.failures...),
		Bytes: c.bytes.Load(), Input: c.input.Load(), From: c.from, Truncated: append([]string(nil), c.cut...), Seconds: time.Since(c.began).Seconds(), Nodes: []Node{},
	}
	for kind, n := range c.kinds {
		r.Kinds[kind] = n
	}
	for _, n := range c.nodes {
		stats := Node{Addr: n.addr, Commands: n.commands.Load(), Replies: n.replies.Load(), Errors: n.errors.Load(), Bytes: n.bytes.Load()}
		r.Nodes = append(r.Nodes, stats)
		r.Replies += stats.Replies
		r.Bytes += stats.Bytes
	}
	if r.Seconds > 0 {
		r.Rate = float64(r.Commands) / r.Seconds
	}
	return r
}

// watch calls f ten times per second until stop is called, and then once more.
func (c *counts) watch(f func(Report)) (stop func()) {
	if f == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(100 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				f(c.report())
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		f(c.report())
	}
}
