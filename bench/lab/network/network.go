// Package network connects the processes of a lab by proxies that delay, lose and cut what
// goes from one process to another.
//
// Each node of a Cluster announces the address of a proxy, so all others reach it there. A
// proxy finds out which process has connected by the connections of the processes, and then
// applies the rule for that pair. Where the process cannot be found, the rules for every process
// apply.
package network

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	sockets "github.com/shirou/gopsutil/v4/net"

	"retwis/internal/sleep"
)

// Any stands for every process, in a rule.
const Any = ""

// Rule is what happens to the data between two processes, in both directions.
type Rule struct {
	Delay time.Duration
	// Loss is the part of packets that are lost and sent again. TCP hides a loss: the
	// data comes later, by Again.
	Loss float64
	// Cut lets nothing through. Connections stay open, as in a real partition.
	Cut bool
}

// again is how long a lost packet delays a connection: the least time after which Linux
// sends it again.
const again = 200 * time.Millisecond

// Network holds the rules.
type Network struct {
	life context.Context // of the proxies and their connections
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when a rule changes
	rules   map[[2]string]Rule
	pids    map[string]int
}

// New returns a network without rules.
func New() *Network {
	n := &Network{changed: make(chan struct{}), rules: map[[2]string]Rule{}, pids: map[string]int{}}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// Process says which process has a name now.
func (n *Network) Process(name string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[name] = pid
}

// Set sets the rule for what goes between two processes; either can be Any. The zero Rule
// ends it.
func (n *Network) Set(from, to string, rule Rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if rule == (Rule{}) {
		delete(n.rules, [2]string{from, to})
	} else {
		n.rules[[2]string{from, to}] = rule
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// rule returns the sum of the rules for a pair, and a channel that is closed when it may
// have changed.
func (n *Network) rule(a, b string) (Rule, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var sum Rule
	for _, pair := range [][2]string{{a, b}, {b, a}, {a, Any}, {Any, a}, {b, Any}, {Any, b}, {Any, Any}} {
		r, ok := n.rules[pair]
		if !ok {
			continue
		}
		sum.Delay = max(sum.Delay, r.Delay)
		sum.Loss = max(sum.Loss, r.Loss)
		sum.Cut = sum.Cut || r.Cut
	}
	return sum, n.changed
}

// Close ends all proxies and their connections.
func (n *Network) Close() {
	n.end()
	n.wg.Wait()
}

// Listen starts a proxy on a port of 127.0.0.1 for a process that listens on upstream. It returns
// the proxy's address.
func (n *Network) Listen(to string, port int, upstream string) (string, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", fmt.Errorf("network: %w", err)
	}
	context.AfterFunc(n.life, func() { listener.Close() })
	n.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.wg.Go(func() { n.serve(conn, to, upstream) })
		}
	})
	return listener.Addr().String(), nil
}

// serve connects a client with a process.
func (n *Network) serve(client net.Conn, to, upstream string) {
	ctx, end := context.WithCancel(n.life)
	defer end()
	context.AfterFunc(ctx, func() { client.Close() })
	from := n.process(client)
	server, err := net.DialTimeout("tcp", upstream, 5*time.Second)
	if err != nil {
		return // nobody listens: the client's connection ends, as it would without a proxy
	}
	context.AfterFunc(ctx, func() { server.Close() })
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		wg.Go(func() {
			defer end()
			pipe(ends[0], ends[1], func() bool { return n.pass(ctx, from, to) })
		})
	}
	wg.Wait()
}

// pipe carries what one end sends to the other, when it may pass. What comes meanwhile waits, and
// goes together.
func pipe(source io.Reader, target io.Writer, pass func() bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := source.Read(buf)
		if err != nil || !pass() {
			return
		}
		if _, err := target.Write(buf[:n]); err != nil {
			return
		}
	}
}

// pass waits until data may arrive; not while the link is cut.
func (n *Network) pass(ctx context.Context, from, to string) bool {
	rule, _ := n.rule(from, to)
	delay := rule.Delay
	if rule.Loss > 0 && rand.Float64() < rule.Loss {
		delay += again
	}
	if delay > 0 && !sleep.For(ctx, delay) {
		return false
	}
	for {
		rule, changed := n.rule(from, to)
		if !rule.Cut {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// process returns the name of the process at the other end of a connection on this machine,
// or "" if it cannot be found.
func (n *Network) process(conn net.Conn) string {
	n.mu.Lock()
	pids := maps.Clone(n.pids)
	n.mu.Unlock()
	here, there := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	for name, pid := range pids {
		all, _ := sockets.ConnectionsPid("tcp4", int32(pid)) // it can have ended
		for _, c := range all {
			if int(c.Laddr.Port) == there.Port && int(c.Raddr.Port) == here.Port {
				return name
			}
		}
	}
	return ""
}
