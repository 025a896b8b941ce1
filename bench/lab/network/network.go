// Package network connects the processes of a lab through proxies that can delay, lose and block
// the data between two processes.
//
// Each node of a Cluster announces the address of its proxy, so that all other processes connect to
// the proxy. The proxy identifies the connecting process by the open connections of each process,
// and applies the rules for that pair of processes. If the proxy cannot identify the process, only
// rules with Any apply.
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

// Any matches every process in a rule.
const Any = ""

// Rule describes what happens to the data between two processes, in both directions.
type Rule struct {
	Delay time.Duration
	// Loss is the share of packets that are lost. TCP retransmits them, so that the data
	// arrives later.
	Loss float64
	// Cut blocks all data. Connections stay open, as in a real partition.
	Cut bool
}

// retransmission is the delay caused by a lost packet: the minimum retransmission timeout of Linux.
const retransmission = 200 * time.Millisecond

// Network holds the rules.
type Network struct {
	ctx    context.Context // of the proxies and their connections
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when a rule changes
	rules   map[[2]string]Rule
	pids    map[string]int
}

// New returns a network without rules.
func New() *Network {
	n := &Network{changed: make(chan struct{}), rules: map[[2]string]Rule{}, pids: map[string]int{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Process sets the process ID for a name.
func (n *Network) Process(name string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[name] = pid
}

// Set sets the rule for the data between two processes; either can be Any. The zero Rule removes
// the rule.
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

// rule returns the combined rules for a pair, and a channel that is closed when the rules change.
func (n *Network) rule(a, b string) (Rule, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var combined Rule
	for _, pair := range [][2]string{{a, b}, {b, a}, {a, Any}, {Any, a}, {b, Any}, {Any, b}, {Any, Any}} {
		r, ok := n.rules[pair]
		if !ok {
			continue
		}
		combined.Delay = max(combined.Delay, r.Delay)
		combined.Loss = max(combined.Loss, r.Loss)
		combined.Cut = combined.Cut || r.Cut
	}
	return combined, n.changed
}

// Close closes all proxies and their connections.
func (n *Network) Close() {
	n.cancel()
	n.wg.Wait()
}

// Listen starts a proxy on a port of 127.0.0.1 for the process named to, which listens on upstream.
// It returns the address of the proxy.
func (n *Network) Listen(to string, port int, upstream string) (string, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", fmt.Errorf("network: %w", err)
	}
	context.AfterFunc(n.ctx, func() { listener.Close() })
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

// serve connects a client to the process named to.
func (n *Network) serve(client net.Conn, to, upstream string) {
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { client.Close() })
	from := n.process(client)
	server, err := net.DialTimeout("tcp", upstream, 5*time.Second)
	if err != nil {
		return // nothing listens: the client connection is closed, as without a proxy
	}
	context.AfterFunc(ctx, func() { server.Close() })
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		wg.Go(func() {
			defer cancel()
			pipe(ends[0], ends[1], func() bool { return n.pass(ctx, from, to) })
		})
	}
	wg.Wait()
}

// pipe copies data from source to target. It calls pass before each write. Data that arrives while
// pass waits is forwarded together.
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

// pass waits until data may be forwarded: for the delay of the link, and while the link is cut. It
// returns false if ctx ends.
func (n *Network) pass(ctx context.Context, from, to string) bool {
	rule, _ := n.rule(from, to)
	delay := rule.Delay
	if rule.Loss > 0 && rand.Float64() < rule.Loss {
		delay += retransmission
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
	local, remote := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	for name, pid := range pids {
		all, _ := sockets.ConnectionsPid("tcp4", int32(pid)) // fails if the process has exited
		for _, c := range all {
			if int(c.Laddr.Port) == remote.Port && int(c.Raddr.Port) == local.Port {
				return name
			}
		}
	}
	return ""
}
