// Package network connects the processes of a lab by proxies that delay, lose and cut what
// goes from one process to another.
//
// Each node of a Cluster announces the address of a proxy, so all others reach it there. A
// proxy finds out which process has connected by the table of TCP connections of the kernel
// (Linux), and then applies the rule for that pair. Where the process cannot be found, the
// rules for every process apply.
package network

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
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
	mu      sync.Mutex
	changed chan struct{} // closed when a rule changes
	rules   map[[2]string]Rule
	pids    map[string]int
	proxies []*Proxy
}

// New returns a network without rules.
func New() *Network {
	return &Network{changed: make(chan struct{}), rules: map[[2]string]Rule{}, pids: map[string]int{}}
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
	n.mu.Lock()
	proxies := n.proxies
	n.proxies = nil
	n.mu.Unlock()
	for _, p := range proxies {
		p.close()
	}
}

// Proxy accepts connections for one process.
type Proxy struct {
	net      *Network
	to       string
	upstream string
	listener net.Listener
	done     chan struct{}
	wg       sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// Listen starts a proxy on a port of 127.0.0.1 for a process that listens on upstream.
func (n *Network) Listen(to string, port int, upstream string) (*Proxy, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	p := &Proxy{net: n, to: to, upstream: upstream, listener: listener, done: make(chan struct{}), open: map[net.Conn]bool{}}
	n.mu.Lock()
	n.proxies = append(n.proxies, p)
	n.mu.Unlock()
	p.wg.Go(p.accept)
	return p, nil
}

func (p *Proxy) close() {
	close(p.done)
	p.listener.Close()
	p.mu.Lock()
	for conn := range p.open {
		conn.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

// keep notes a connection, to close it with the proxy.
func (p *Proxy) keep(conn net.Conn) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		conn.Close()
		return false
	default:
		p.open[conn] = true
		return true
	}
}

func (p *Proxy) drop(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

func (p *Proxy) serve(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	from := p.net.process(client.RemoteAddr(), client.LocalAddr())
	server, err := net.DialTimeout("tcp", p.upstream, 5*time.Second)
	if err != nil {
		return // nobody listens: the client's connection ends, as it would without a proxy
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		wg.Go(func() {
			p.pipe(from, ends[0], ends[1])
			ends[0].Close()
			ends[1].Close()
		})
	}
	wg.Wait()
}

// packet is data on its way, and when it arrives.
type packet struct {
	data []byte
	at   time.Time
}

// pipe carries what one end sends to the other.
func (p *Proxy) pipe(from string, source io.Reader, target io.Writer) {
	way := make(chan packet, 256)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(over)
		for sent := range way {
			if !p.arrive(from, sent) {
				return
			}
			if _, err := target.Write(sent.data); err != nil {
				return
			}
		}
	})
	defer wg.Wait()
	defer close(way)
	buf := make([]byte, 32<<10)
	var last time.Time
	for {
		n, err := source.Read(buf)
		if n > 0 {
			rule, _ := p.net.rule(from, p.to)
			at := time.Now().Add(rule.Delay)
			if rule.Loss > 0 && rand.Float64() < rule.Loss {
				at = at.Add(again)
			}
			if at.Before(last) {
				at = last // a stream keeps its order
			}
			last = at
			select {
			case way <- packet{append([]byte(nil), buf[:n]...), at}:
			case <-over:
				return
			case <-p.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// arrive waits until data may arrive; not while the link is cut.
func (p *Proxy) arrive(from string, sent packet) bool {
	if wait := time.Until(sent.at); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.done:
			return false
		}
	}
	for {
		rule, changed := p.net.rule(from, p.to)
		if !rule.Cut {
			return true
		}
		select {
		case <-changed:
		case <-p.done:
			return false
		}
	}
}
