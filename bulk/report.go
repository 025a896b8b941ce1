package bulk

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Report says what a load has done.
type Report struct {
	Commands int64 `json:"commands"` // of the input, that were sent
	Replies  int64 `json:"replies"`  // one for each command that is known to be done, or to have failed
	Errors   int64 `json:"errors"`   // of the replies
	Records  int64 `json:"records"`  // of CSV, TSV and NDJSON that were read
	Skipped  int64 `json:"skipped"`  // of the records, see Options.SkipIfMissing
	Resent   int64 `json:"resent"`   // commands that were sent again, after a lost connection or elsewhere

	Kinds    map[string]int64 `json:"errors_by_kind"` // how many errors begin with each word: WRONGTYPE, OOM, …
	Failures []Failure        `json:"failures"`       // the first Options.ShowErrors

	Bytes   int64   `json:"bytes"`   // of the protocol, sent or emitted
	Input   int64   `json:"input"`   // bytes read, compressed if the input is
	From    int64   `json:"from"`    // where a checkpoint let the load begin, a byte of the decompressed input
	Seconds float64 `json:"seconds"` // it took
	Rate    float64 `json:"rate"`    // commands a second

	Nodes []Node `json:"nodes"` // the servers, in the order in which they were met
}

// Node is what went to one server.
type Node struct {
	Addr     string `json:"addr"`
	Commands int64  `json:"commands"`
	Replies  int64  `json:"replies"`
	Errors   int64  `json:"errors"`
	Bytes    int64  `json:"bytes"`
}

// Failure is a command to which the server answered with an error.
type Failure struct {
	Command int64  `json:"command"`          // its number, the first being 1
	Line    int64  `json:"line,omitempty"`   // of the input, in formats that have lines
	Offset  int64  `json:"offset,omitempty"` // of its first byte, in the protocol
	Text    string `json:"text"`             // the command, shortened and escaped
	Error   string `json:"error"`            // the server's words
	Node    string `json:"node"`             // the server
}

// most kinds of errors are counted apart; what a script says may be anything.
const mostKinds = 50

// counts are the figures of a load, as they come in.
type counts struct {
	began    time.Time
	from     int64
	commands atomic.Int64
	records  atomic.Int64
	skipped  atomic.Int64
	resent   atomic.Int64
	bytes    atomic.Int64 // emitted
	input    atomic.Int64

	mu       sync.Mutex
	nodes    []*node
	errors   int64
	kinds    map[string]int64
	failures []Failure
	most     int
	to       io.Writer
	toDB     int   // the database that is selected behind what was written to it; -1: nobody knows
	toErr    error // of writing the failed commands
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

// retry is what to send to try again.
type retry struct {
	raw     []byte
	db      int  // in which it is executed
	selects bool // it may leave another database selected
}

// fail counts an error and keeps it, if there is room. tell tells the rest of it.
func (c *counts) fail(n *node, text string, again retry, tell func() Failure) {
	n.errors.Add(1)
	kind, _, _ := strings.Cut(text, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	if c.kinds == nil {
		c.kinds = make(map[string]int64)
	}
	if _, ok := c.kinds[kind]; !ok && len(c.kinds) >= mostKinds {
		kind = "other"
	}
	c.kinds[kind]++
	if len(c.failures) < c.most {
		c.failures = append(c.failures, tell())
	}
	if c.to != nil && len(again.raw) > 0 {
		c.keep(again)
	}
}

// keep writes a failed command, behind a SELECT where it belongs to another database than
// the one before it.
func (c *counts) keep(again retry) {
	var f Frame
	if again.db != c.toDB {
		f.reset(2)
		f.add([]byte("SELECT"))
		f.add(strconv.AppendInt(nil, int64(again.db), 10))
	}
	c.toDB = again.db
	if again.selects {
		c.toDB = -1
	}
	if c.toErr == nil {
		_, c.toErr = c.to.Write(append(f.raw, again.raw...))
	}
}

// report returns the figures of now.
func (c *counts) report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{
		Commands: c.commands.Load(), Records: c.records.Load(), Skipped: c.skipped.Load(), Resent: c.resent.Load(),
		Errors: c.errors, Kinds: make(map[string]int64, len(c.kinds)), Failures: append([]Failure{}, c.failures...),
		Bytes: c.bytes.Load(), Input: c.input.Load(), From: c.from, Seconds: time.Since(c.began).Seconds(), Nodes: []Node{},
	}
	for kind, n := range c.kinds {
		r.Kinds[kind] = n
	}
	for _, n := range c.nodes {
		one := Node{Addr: n.addr, Commands: n.commands.Load(), Replies: n.replies.Load(), Errors: n.errors.Load(), Bytes: n.bytes.Load()}
		r.Nodes = append(r.Nodes, one)
		r.Replies += one.Replies
		r.Bytes += one.Bytes
	}
	if r.Seconds > 0 {
		r.Rate = float64(r.Commands) / r.Seconds
	}
	return r
}

// watch calls f a few times a second until it is stopped.
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
