package redlock_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"retwis/internal/require"
)

// A client has two connections to a server: one for commands, one for messages.
const (
	commands = iota
	messages
	connections
)

// relay is a proxy between a client and a server. It can hold back the data of either connection
// without losing data.
type relay struct {
	listener net.Listener
	target   string         // the socket or the port of the server
	all      sync.WaitGroup // of its goroutines

	mu      sync.Mutex
	conns   map[net.Conn]bool
	held    [connections]time.Time     // time until which nothing passes
	delay   [connections]time.Duration // delay of each chunk
	passed  [connections]int           // number of chunks that passed
	changed chan struct{}
	refuses bool // rejects new connections
	closed  bool
	toxics  [2]toxic // by direction: to the server, from the server
}

// toxic is a network fault in one direction.
type toxic struct {
	blocked       bool
	delay, jitter time.Duration
	piece         int // maximum number of bytes that arrive together; 0: all
}

// The directions of toxics.
const (
	toServer = iota
	fromServer
)

// startRelay starts a relay to a server. The relay is closed when the test ends.
func startRelay(t testing.TB, network, target string) *relay {
	t.Helper()
	r := newRelay(t, network, target)
	t.Cleanup(r.close)
	return r
}

// newRelay starts a relay to a server. The caller closes the relay.
func newRelay(t testing.TB, network, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.OK(t)(err)
	r := &relay{listener: listener, target: target, conns: map[net.Conn]bool{}, changed: make(chan struct{})}
	r.all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, target)
			if err != nil || r.isDown() {
				client.Close()
				if err == nil {
					server.Close()
				}
				continue
			}
			r.all.Go(func() { r.serve(client, server) })
		}
	})
	return r
}

func (r *relay) url() string { return "redis://" + r.listener.Addr().String() }

func (r *relay) close() {
	r.listener.Close()
	r.change(func() { r.closed = true })
	r.cut()
	r.all.Wait()
}

// cut breaks every connection.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
}

// change changes the relay with f, and wakes goroutines that wait for a change.
func (r *relay) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// hold holds back the data of connections of one kind.
func (r *relay) hold(kind int, length time.Duration) {
	r.change(func() { r.held[kind] = time.Now().Add(length) })
}

// slow delays the data of connections of one kind.
func (r *relay) slow(kind int, delay time.Duration) {
	r.change(func() { r.delay[kind] = delay })
}

// chunks returns how many chunks have passed over connections of a kind.
func (r *relay) chunks(kind int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed[kind]
}

// serve copies data between a client and a server until a connection ends.
func (r *relay) serve(client, server net.Conn) {
	r.change(func() { r.conns[client], r.conns[server] = true, true })
	if r.isClosed() {
		r.cut()
	}
	var kind connKind
	var both sync.WaitGroup
	for way, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			r.copy(ends[1], ends[0], &kind, way)
			client.Close()
			server.Close()
		})
	}
	both.Wait()
	r.change(func() {
		delete(r.conns, client)
		delete(r.conns, server)
	})
}

func (r *relay) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuses
}

func (r *relay) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// connKind is the kind of a connection: commands, until a SUBSCRIBE shows that it has messages.
type connKind struct {
	mu   sync.Mutex
	kind int
}

// see returns the kind of a connection after a chunk.
func (k *connKind) see(chunk []byte) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if bytes.Contains(chunk, []byte("SUBSCRIBE")) {
		k.kind = messages
	}
	return k.kind
}

func (r *relay) copy(to io.Writer, from io.Reader, seen *connKind, way int) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !r.wait(seen.see(buffer[:n])) {
				return
			}
			if !r.deliver(to, buffer[:n], way) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes a chunk with the toxic of a direction. It returns false if the connection has
// ended.
func (r *relay) deliver(to io.Writer, chunk []byte, way int) bool {
	var late time.Duration
	for first := true; len(chunk) > 0; first = false {
		r.mu.Lock()
		toxic, changed, closed := r.toxics[way], r.changed, r.closed
		r.mu.Unlock()
		switch {
		case closed:
			return false
		case toxic.blocked:
			<-changed
			continue
		}
		if first && toxic.delay > 0 {
			late = toxic.delay - toxic.jitter + rand.N(2*toxic.jitter+1)
		} else if toxic.piece > 0 {
			late = 500 * time.Microsecond
		}
		time.Sleep(late) // the fault itself
		n := len(chunk)
		if toxic.piece > 0 {
			n = min(n, toxic.piece/2+rand.N(toxic.piece))
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return false
		}
		chunk = chunk[n:]
	}
	return true
}

// poison sets the toxic of a direction.
func (r *relay) poison(way int, fault toxic) { r.change(func() { r.toxics[way] = fault }) }

// wait waits until a chunk may pass. It returns false if the relay was closed.
func (r *relay) wait(kind int) bool {
	r.mu.Lock()
	earliest := time.Now().Add(r.delay[kind])
	r.mu.Unlock()
	for {
		r.mu.Lock()
		until, changed, closed := r.held[kind], r.changed, r.closed
		if earliest.After(until) {
			until = earliest
		}
		left := time.Until(until)
		if left <= 0 && !closed {
			r.passed[kind]++
		}
		r.mu.Unlock()
		if closed || left <= 0 {
			return !closed
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
}
