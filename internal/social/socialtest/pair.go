package socialtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
	"retwis/internal/redistest"
)

// Pair is a master, its replica behind a slow link, and a client of the current
// master.
type Pair struct {
	t               testing.TB
	Master, Replica *redistest.Server
	Link            *Relay
	current         atomic.Pointer[string] // the socket of the current master
	DB              rueidis.Client
}

// NewPair returns a Pair whose replica is in step.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	// New replicas sync over the socket immediately, on every version.
	p := &Pair{t: t, Master: redistest.TCP(t, "repl-diskless-sync yes", "repl-diskless-sync-delay 0")}
	p.use(p.Master)
	p.Link = newRelay(t, p.Master.Port())
	p.Replica = redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", p.Link.port()))
	p.DB = p.Dial(func() string { return *p.current.Load() })
	Wait(t, "the replica to be in step", func() bool {
		return Info(t, p.Dial(p.Replica.Socket), "master_link_status") == "up"
	})
	return p
}

// use makes a server the current master. It stores only the path of the socket, which a restart of
// the server does not change.
func (p *Pair) use(master *redistest.Server) {
	socket := master.Socket()
	p.current.Store(&socket)
}

// Dial returns a client that connects to the socket that socket returns.
func (p *Pair) Dial(socket func() string) rueidis.Client {
	p.t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"pair"}, ForceSingleClient: true, PipelineMultiplex: -1, RetryDelay: redisurl.RetryDelay,
		DialCtxFn: func(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket())
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	return client
}

// FailOver kills the master and promotes the replica with the data that it has.
func (p *Pair) FailOver() {
	p.t.Helper()
	p.Master.Kill(p.t)
	p.Promote()
	p.use(p.Replica)
}

// Promote makes the replica a master, and leaves the client connected to the old one.
func (p *Pair) Promote() {
	p.t.Helper()
	client := p.Dial(p.Replica.Socket)
	if err := client.Do(p.t.Context(), client.B().Arbitrary("REPLICAOF", "NO", "ONE").Build()).Error(); err != nil {
		p.t.Fatal(err)
	}
}

// Info returns a field of INFO replication.
func Info(t testing.TB, client rueidis.Client, name string) string {
	t.Helper()
	text, err := client.Do(t.Context(), client.B().Info().Section("replication").Build()).AsBytes()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Wait polls until ok returns true.
func Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx := untilTimeout(t)
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// Relay forwards bytes to a port of 127.0.0.1 and back. It delays the bytes that it sends back by
// Lag.
type Relay struct {
	listener net.Listener
	Lag      atomic.Int64 // a time.Duration
	down     atomic.Bool  // whether connections are refused
	done     chan struct{}
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t testing.TB, to int) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{listener: listener, done: make(chan struct{})}
	r.wg.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
			if err != nil || r.down.Load() {
				near.Close()
				if far != nil {
					far.Close()
				}
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, near, far)
			r.mu.Unlock()
			r.wg.Go(func() { r.pass(near, far, false) })
			r.wg.Go(func() { r.pass(far, near, true) })
		}
	})
	t.Cleanup(func() {
		close(r.done)
		listener.Close()
		r.cut()
		r.wg.Wait()
	})
	return r
}

func (r *Relay) port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// cut ends every connection.
func (r *Relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

func (r *Relay) pass(from, to net.Conn, delayed bool) {
	type piece struct {
		at    time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1<<16)
	r.wg.Go(func() {
		defer to.Close()
		for p := range pieces {
			for delayed && time.Since(p.at) < time.Duration(r.Lag.Load()) {
				select {
				case <-r.done:
					return
				case <-time.After(time.Millisecond):
				}
			}
			if _, err := to.Write(p.bytes); err != nil {
				from.Close()
				return
			}
		}
	})
	defer close(pieces)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case pieces <- piece{time.Now(), b[:n]}:
		case <-r.done:
			return
		}
	}
}

// Replicated is a Cluster of two masters. The master that does not store the key `tasks` has a
// replica.
type Replicated struct {
	t               testing.TB
	Master, Replica *redistest.Server
	replica         rueidis.Client // of the replica
	DB              rueidis.Client // of the Cluster
}

// NewReplicated returns a Replicated whose replica is in step.
func NewReplicated(t testing.TB) *Replicated {
	t.Helper()
	cluster := redistest.Cluster(t, 2)
	c := &Replicated{t: t, DB: cluster.Client(t), Master: cluster.Masters[0]}
	slot, err := c.DB.Do(t.Context(), c.DB.B().Arbitrary("CLUSTER", "KEYSLOT").Keys("tasks").Build()).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	if slot < 8192 {
		c.Master = cluster.Masters[1]
	}
	c.Replica = redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "repl-diskless-sync-delay 0")
	c.replica = c.Replica.Client(t)
	id, err := c.Master.Client(t).Do(t.Context(), c.DB.B().Arbitrary("CLUSTER", "MYID").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	c.run(c.replica, "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(c.Master.Port()))
	Wait(t, "the replica to know its master", func() bool {
		return c.replica.Do(t.Context(), c.replica.B().Arbitrary("CLUSTER", "REPLICATE", id).Build()).Error() == nil
	})
	Wait(t, "the replica to be in step", func() bool { return Info(t, c.replica, "master_link_status") == "up" })
	// After a failover, the nodes cannot learn of each other from the dead master, so all nodes
	// must know each other before.
	for _, node := range []rueidis.Client{c.replica, cluster.Masters[0].Client(t), cluster.Masters[1].Client(t)} {
		Wait(t, "all nodes to know each other", func() bool {
			text, err := node.Do(t.Context(), node.B().ClusterInfo().Build()).ToString()
			return err == nil && strings.Contains(text, "cluster_known_nodes:3\r")
		})
	}
	return c
}

func (c *Replicated) run(client rueidis.Client, words ...string) {
	c.t.Helper()
	if err := client.Do(c.t.Context(), client.B().Arbitrary(words...).Build()).Error(); err != nil {
		c.t.Fatalf("%v: %v", words, err)
	}
}

// Cut stops the replication.
func (c *Replicated) Cut() {
	c.t.Helper()
	c.run(c.replica, "CONFIG", "SET", "masteruser", "ghost")
	c.run(c.replica, "CONFIG", "SET", "masterauth", "ghost")
	c.run(c.Master.Client(c.t), "CLIENT", "KILL", "TYPE", "replica")
	Wait(c.t, "the link to be down", func() bool { return Info(c.t, c.replica, "master_link_status") == "down" })
}

// FailOver kills the master and promotes the replica with the data that it has.
func (c *Replicated) FailOver() {
	c.t.Helper()
	c.Master.Kill(c.t)
	c.run(c.replica, "CLUSTER", "FAILOVER", "TAKEOVER")
	Wait(c.t, "the client to learn of the failover", func() bool {
		for i := range 64 { // some of these keys belong to the dead master
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
			err := c.DB.Do(ctx, c.DB.B().Exists().Key(fmt.Sprint("key", i)).Build()).Error()
			cancel()
			if err != nil {
				return false
			}
		}
		return true
	})
}
