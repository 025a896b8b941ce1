package social_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// failoverEnv is how many followers the author of TestFailoverDuringFanOut has,
// for a long run: 1000000, say.
const failoverEnv = "SOCIAL_FAILOVER_FOLLOWERS"

// pair is a master and its replica, which gets everything late, and a client
// that talks to the one that is the master.
type pair struct {
	t               testing.TB
	master, replica *redistest.Server
	link            *relay
	current         atomic.Pointer[redistest.Server]
	client          rueidis.Client
}

func newPair(t testing.TB) *pair {
	t.Helper()
	// Replicas that come get their copy over the socket at once, on every version.
	p := &pair{t: t, master: redistest.TCP(t, "repl-diskless-sync yes", "repl-diskless-sync-delay 0")}
	p.current.Store(p.master)
	p.link = newRelay(t, p.master.Port())
	p.replica = redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", p.link.port()))
	p.client = p.dial(func() string { return p.current.Load().Socket() })
	wait(t, "the replica to be in step", func() bool {
		return info(t, p.dial(p.replica.Socket), "master_link_status") == "up"
	})
	return p
}

func (p *pair) dial(socket func() string) rueidis.Client {
	p.t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"pair"}, ForceSingleClient: true, PipelineMultiplex: -1,
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

// failOver kills the master and makes the replica the master, with what it has.
func (p *pair) failOver() {
	p.t.Helper()
	p.master.Kill(p.t)
	client := p.dial(p.replica.Socket)
	if err := client.Do(p.t.Context(), client.B().Arbitrary("REPLICAOF", "NO", "ONE").Build()).Error(); err != nil {
		p.t.Fatal(err)
	}
	p.current.Store(p.replica)
}

// info is a line of INFO replication.
func info(t testing.TB, client rueidis.Client, name string) string {
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

// wait waits until ok, which another process brings about.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// relay passes bytes on to a port of 127.0.0.1 and back; what comes back is
// held up for as long as lag says.
type relay struct {
	listener net.Listener
	lag      atomic.Int64 // a time.Duration
	down     atomic.Bool  // nobody gets through
	done     chan struct{}
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t testing.TB, to int) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, done: make(chan struct{})}
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

func (r *relay) port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// cut ends every connection.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

func (r *relay) pass(from, to net.Conn, late bool) {
	type piece struct {
		at    time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1<<16)
	r.wg.Go(func() {
		defer to.Close()
		for p := range pieces {
			for late && time.Since(p.at) < time.Duration(r.lag.Load()) {
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

// fans gives an author n followers, from the id 1001 on, who have nothing but
// that.
func (b *bundle) fans(author social.User, n int) {
	b.t.Helper()
	for from := 0; from < n; from += 1000 {
		words := []string{"ZADD", fmt.Sprintf("followers:%d", author.ID)}
		for i := from; i < min(n, from+1000); i++ {
			words = append(words, fmt.Sprint(1_600_000_000+i), fmt.Sprint(1001+i))
		}
		b.do(words...)
	}
}

// lacking is how many of n fans do not have the post.
func (b *bundle) lacking(n int, post int64) (lack int) {
	b.t.Helper()
	want := fmt.Sprint(post)
	for from := 0; from < n; from += 1000 {
		var cmds rueidis.Commands
		for i := from; i < min(n, from+1000); i++ {
			cmds = append(cmds, b.client.B().Lpos().Key(fmt.Sprintf("posts:%d", 1001+i)).Element(want).Build())
		}
		for _, res := range b.client.DoMulti(b.ctx, cmds...) {
			if at, err := res.AsInt64(); err != nil || at != 0 {
				lack++
			}
		}
	}
	return lack
}

// A master that dies in the middle of a fan-out takes with it what its replica
// did not have yet. The fan-out is not finished before all of it is there
// again.
func TestFailoverDuringFanOut(t *testing.T) {
	t.Parallel()
	followers, lag := 4000, time.Hour // the replica gets nothing any more
	if text := os.Getenv(failoverEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		followers, lag = n, 3*time.Second
	}
	p := newPair(t)
	b := on(t, p.client)
	if followers > 4000 {
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
		t.Cleanup(cancel)
		b.ctx = ctx
	}
	author := b.register("author")
	b.fans(author, followers)
	offset := info(t, p.client, "master_repl_offset")
	wait(t, "the replica to have all", func() bool {
		return info(t, p.dial(p.replica.Socket), "slave_repl_offset") >= offset
	})
	p.link.lag.Store(int64(lag))
	began := time.Now()
	post := b.post(author, "to all of you")
	middle := fmt.Sprintf("posts:%d", 1001+followers/2) // the latest follower comes first
	wait(t, "half of the fan-out", func() bool { return b.do("EXISTS", middle) == "1" })
	p.failOver()
	lost := b.lacking(followers, post)
	t.Logf("%d followers; master killed after %.1f s, replica promoted", followers, time.Since(began).Seconds())
	if lost == 0 {
		t.Fatal("nothing was lost: the test shows nothing")
	}
	// All of it can be lost, `fanouts` included: what shows the end is that
	// nobody lacks the post.
	if lag < time.Hour { // the entry of `fanouts` is not lost
		wait(t, "the fan-out to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
		if lack := b.lacking(followers, post); lack > 0 {
			t.Fatalf("%d of %d followers lack the post, and nobody knows of it", lack, followers)
		}
	}
	wait(t, "everybody to have the post", func() bool { return b.do("EXISTS", middle) == "1" && b.lacking(followers, post) == 0 })
	t.Logf("all %d have it after %.1f s", followers, time.Since(began).Seconds())
	wait(t, "the fan-out to be finalized", func() bool { return b.do("EXISTS", "fanouts") == "0" })
	if posts, err := b.Posts(b.ctx, post); err != nil || len(posts) != 1 || posts[0].Body != "to all of you" {
		t.Errorf("the post that was acknowledged is %+v, %v", posts, err)
	}
	for _, list := range []string{"timeline", "posts:1"} {
		if got := b.do("LRANGE", list, "0", "-1"); got != fmt.Sprint(post) {
			t.Errorf("%s has %q", list, got)
		}
	}
	if got := b.do("ZRANGE", "profile:1", "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the profile has %q", got)
	}
}

// replicated is a Cluster of two masters. The one that does not have `fanouts`
// has a replica.
type replicated struct {
	t               testing.TB
	master, replica *redistest.Server
	at              rueidis.Client // of the replica
	client          rueidis.Client // of the Cluster
}

func newReplicated(t testing.TB) *replicated {
	t.Helper()
	cluster := redistest.Cluster(t, 2)
	c := &replicated{t: t, client: cluster.Client(t), master: cluster.Masters[0]}
	slot, err := c.client.Do(t.Context(), c.client.B().Arbitrary("CLUSTER", "KEYSLOT").Keys("fanouts").Build()).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	if slot < 8192 {
		c.master = cluster.Masters[1]
	}
	c.replica = redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "repl-diskless-sync-delay 0")
	c.at = c.replica.Client(t)
	id, err := c.master.Client(t).Do(t.Context(), c.client.B().Arbitrary("CLUSTER", "MYID").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	c.run(c.at, "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(c.master.Port()))
	wait(t, "the replica to know its master", func() bool {
		return c.at.Do(t.Context(), c.at.B().Arbitrary("CLUSTER", "REPLICATE", id).Build()).Error() == nil
	})
	wait(t, "the replica to be in step", func() bool { return info(t, c.at, "master_link_status") == "up" })
	// After a failover the masters cannot introduce each other: the one between
	// them is dead. So all must know all before.
	for _, node := range []rueidis.Client{c.at, cluster.Masters[0].Client(t), cluster.Masters[1].Client(t)} {
		wait(t, "all nodes to know each other", func() bool {
			text, err := node.Do(t.Context(), node.B().ClusterInfo().Build()).ToString()
			return err == nil && strings.Contains(text, "cluster_known_nodes:3\r")
		})
	}
	return c
}

func (c *replicated) run(client rueidis.Client, words ...string) {
	c.t.Helper()
	if err := client.Do(c.t.Context(), client.B().Arbitrary(words...).Build()).Error(); err != nil {
		c.t.Fatalf("%v: %v", words, err)
	}
}

// cut keeps from the replica what is written from now on.
func (c *replicated) cut() {
	c.t.Helper()
	c.run(c.at, "CONFIG", "SET", "masteruser", "ghost")
	c.run(c.at, "CONFIG", "SET", "masterauth", "ghost")
	c.run(c.master.Client(c.t), "CLIENT", "KILL", "TYPE", "replica")
	wait(c.t, "the link to be down", func() bool { return info(c.t, c.at, "master_link_status") == "down" })
}

// failOver kills the master and makes the replica the master, with what it has.
func (c *replicated) failOver() {
	c.t.Helper()
	c.master.Kill(c.t)
	c.run(c.at, "CLUSTER", "FAILOVER", "TAKEOVER")
	wait(c.t, "the client to know of it", func() bool {
		for i := range 64 { // some of them are of the master that died
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
			err := c.client.Do(ctx, c.client.B().Exists().Key(fmt.Sprint("key", i)).Build()).Error()
			cancel()
			if err != nil {
				return false
			}
		}
		return true
	})
}

// On a Cluster `fanouts` can be on another master than the timelines: its entry
// stays until the replicas of all masters have the post.
func TestClusterFailoverAfterFanOut(t *testing.T) {
	t.Parallel()
	c := newReplicated(t)
	b := on(t, c.client)
	const followers = 1500
	author := b.register("author")
	b.fans(author, followers)
	b.post(author, "so that this process knows of the replica")
	wait(t, "the first fan-out to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
	c.cut()
	post := b.post(author, "to all of you")
	wait(t, "everybody to have the post", func() bool { return b.lacking(followers, post) == 0 })
	c.failOver()
	wait(t, "everybody to have the post again", func() bool { return b.lacking(followers, post) == 0 })
	wait(t, "the fan-out to be finalized", func() bool { return b.do("EXISTS", "fanouts") == "0" })
}

// A fan-out that waits, here for a replica, is not taken for that of a dead
// process by another.
func TestWaitingFanOutsAreNotTaken(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	b, other := on(t, p.client), on(t, p.client)
	author := b.register("author")
	b.post(author, "so that this process knows of the replica")
	wait(t, "the first fan-out to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
	p.link.lag.Store(int64(time.Hour))
	post := fmt.Sprint(b.post(author, "waits"))
	for range 3 {
		before := b.do("ZSCORE", "fanouts", post)
		b.clock.advance(time.Minute)
		other.clock.advance(time.Minute)
		b.RenewClaims()
		if err := other.ResumeFanOuts(b.ctx); err != nil {
			t.Fatal(err)
		}
		if after := b.do("ZSCORE", "fanouts", post); after == before {
			t.Fatalf("the claim is still of %s", after)
		}
		if claims := other.Claims(); claims != 0 {
			t.Fatalf("another process works on %d fan-outs of one that lives", claims)
		}
	}
	p.link.lag.Store(0)
	wait(t, "the fan-out to be finalized", func() bool { return b.do("EXISTS", "fanouts") == "0" })
}
