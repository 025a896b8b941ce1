package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy sits between one process and its database, and delays, stops or cuts their traffic.
type Proxy struct {
	server, socket string
	number         int
	listener       net.Listener
	delay          atomic.Int64 // in each direction
	running        sync.WaitGroup

	mu     sync.Mutex
	down   bool
	conns  map[net.Conn]struct{}
	frozen chan struct{} // closed by Thaw; nil while nothing is frozen
}

// Proxy returns a proxy to the database, for one process.
func (db *Database) Proxy(t testing.TB) *Proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest") // the path of a socket must be short
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	p := &Proxy{server: db.server.Socket(), socket: filepath.Join(dir, "proxy"), number: db.number, conns: map[net.Conn]struct{}{}}
	if p.listener, err = net.Listen("unix", p.socket); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.Thaw()
		p.Cut(true)
		p.running.Wait()
		os.RemoveAll(dir)
	})
	return p
}

// URL returns the URL of the database through the proxy.
func (p *Proxy) URL() string { return fmt.Sprintf("unix://%s?db=%d", p.socket, p.number) }

// Delay delays all further traffic, half on the way to the server and half on the way back.
func (p *Proxy) Delay(roundTrip time.Duration) { p.delay.Store(int64(roundTrip / 2)) }

// Freeze holds all traffic until Thaw. The connections stay open.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Cut sets whether the proxy is down. Cut(true) closes all connections; while the proxy is down, new
// connections are closed immediately.
func (p *Proxy) Cut(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		for conn := range p.conns {
			conn.Close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.down {
			client.Close()
			server.Close()
		} else {
			p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		}
		p.mu.Unlock()
		p.running.Go(func() { p.pass(client, server) })
		p.running.Go(func() { p.pass(server, client) })
	}
}

// chunk is the result of one read.
type chunk struct {
	at   time.Time
	data []byte
}

// pass forwards the data of one side to the other side, in order.
func (p *Proxy) pass(from, to net.Conn) {
	chunks := make(chan chunk, 1024)
	p.running.Go(func() {
		for c := range chunks {
			time.Sleep(time.Until(c.at.Add(time.Duration(p.delay.Load()))))
			p.wait()
			_, _ = to.Write(c.data) // if to is closed, the remaining data is lost
		}
		to.Close()
	})
	for {
		data := make([]byte, 32<<10)
		n, err := from.Read(data)
		if n > 0 {
			chunks <- chunk{time.Now(), data[:n]}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	from.Close()
	p.mu.Lock()
	delete(p.conns, from)
	p.mu.Unlock()
}

// wait waits for Thaw.
func (p *Proxy) wait() {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}
