// Package redlock provides distributed locks on independent Redis or Valkey servers. It
// implements the Redlock algorithm.
//
// # Problem
//
// SET name value NX PX 10000 on one server is a lock until that server is restarted, frozen or
// unreachable. This package asks N independent servers
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/): a client holds a lock
// if a majority of the servers, N/2+1, granted it, for the part of the time to live (TTL) that is
// left when the last server of the majority answers. Five servers tolerate the loss of any two. A
// single server also works, but tolerates no loss.
//
// # Example
//
//	m, err := redlock.Dial([]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{})
//	…
//	err = m.Do(ctx, "invoice:42", func(ctx context.Context, l *redlock.Lock) error {
//		return bill(ctx) // ctx ends as soon as the lock is no longer known to be held
//	})
//
// # Guarantees
//
// Safety: mutual exclusion holds as long as the clocks of servers and clients run at the same speed
// to within Options.Drift, and no server loses a lock. A restarted server does not vote while a
// lock that it has lost may still be held (delayed restart); this time is measured with monotonic
// clocks.
//
// Liveness: if a holder dies, its names are free after the TTL. A server that does not answer
// delays no client. Waiting clients get the lock in order of arrival; a release notifies the next
// waiter, without polling. Dead waiters are skipped. Goroutines of one process take turns on a
// name for a short time without asking the servers. If several clients ask at the same time and
// none gets a majority (split brain), each releases its votes and retries after a random pause.
// Clients of other libraries, which poll, find a name free now and then, even if clients of this
// package always wait for the name.
//
// # Cost
//
// Lock on a free name and Unlock take one round trip each, to all servers at once; the slowest
// server of the majority decides. A turn within the process takes no round trip. Fencing takes a
// second round trip only after a failure. Concurrent requests to one server are sent in one batch.
// A Manager has one goroutine and one connection per server, and after the first wait two of each.
//
// On the servers, a lock is a plain string with the name itself as key, so locks of this package
// and of any other Redlock client exclude each other. A name with waiters has a queue in
// redlock:waiters:{name} and redlock:attempts:{name}; Options.Fencing adds a counter,
// redlock:token:{name}, and Options.Owner a record of the holder, redlock:owner:{name}. All keys
// expire.
//
// # Limits
//
// This package cannot detect everything that breaks mutual exclusion: a clock that is set forward
// while the server holds a lock, keys that are deleted or evicted, and a failover to a replica
// that lacks the last writes. No lock that expires can stop a holder that was paused after it
// checked the time: to prevent any write of such a holder, the resource must check the fencing
// token (Options.Fencing), or use a transaction of the database instead.
//
// There are no shared locks and no semaphores, and a lock covers one name. Locks are not
// reentrant: Lock and Do fail with ErrNested if the context shows that the caller already holds
// the name. The package changes no lock key that it did not create. For a single server and locks
// that may occasionally be held twice, rueidislock is enough; see docs/locks.md.
//
// # Operation
//
// A new or restarted server is quarantined: it does not vote for one TTL, unless SkipQuarantine
// states that it has lost no locks. Status reports which servers vote and who holds a name,
// with counts for metrics, and Break frees a name.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/redlock/internal/server"
)

// Manager creates locks on one set of servers. It is safe for concurrent use. Use one Manager per
// process: its goroutines then queue locally without asking the servers.
type Manager struct {
	opt         Options
	voters      *voters
	localQueues localQueues
	hints       hints
	gaps        gaps
	// cluster means that a server is a Cluster. See server.SharesSlot.
	cluster bool

	ctx       context.Context // ends when Close stops waiting
	cancel    context.CancelFunc
	closing   chan struct{} // closed when callers must stop waiting
	calls     sync.RWMutex  // held for reading by every Lock and TryLock
	closeOnce sync.Once
	listening sync.Once
	work      sync.WaitGroup // the workers of the nodes
	listeners sync.WaitGroup // the listeners of the nodes
}

// New returns a Manager for independent servers, with one client each. The caller closes the
// clients. Use an odd number of servers: an even number needs one more vote and survives no more
// failures than the odd number below it. A Cluster client counts as one server; a failover in the
// Cluster can lose locks.
//
// An unreachable server is not an error: New waits for it briefly, and Lock keeps trying. Passing
// the same server twice is an error, because the server would have two votes.
func New(nodes []rueidis.Client, opt Options) (*Manager, error) {
	servers := make([]*server.Redis, len(nodes))
	for i, client := range nodes {
		if client == nil {
			return nil, fmt.Errorf("redlock: node %d is nil", i)
		}
		servers[i] = server.NewRedis(client, label(i, client))
	}
	return newRedisManager(servers, opt)
}

// label returns the address of a server, if its client reports one.
func label(i int, client rueidis.Client) string {
	for address := range client.Nodes() {
		return address
	}
	return fmt.Sprintf("node %d", i)
}

// Dial is like New but opens its own connections to independent servers, given by URL:
// redis://user:password@host:6379/0, unix:///path or, over TLS,
// rediss://host?ca=FILE&cert=FILE&key=FILE (docs/operations.md lists the parameters). Close closes
// the connections.
func Dial(urls []string, opt Options) (*Manager, error) {
	servers := make([]*server.Redis, len(urls))
	for i, url := range urls {
		s, err := server.Dial(url)
		if err != nil {
			return nil, fmt.Errorf("redlock: node %d: %w", i, err)
		}
		for _, other := range servers[:i] {
			if other.Name() == s.Name() {
				return nil, fmt.Errorf("redlock: nodes are the same server twice: %s", s.Name())
			}
		}
		servers[i] = s
	}
	return newRedisManager(servers, opt)
}

func newRedisManager(servers []*server.Redis, opt Options) (*Manager, error) {
	plain := make([]server.Server, len(servers))
	for i, s := range servers {
		plain[i] = s
	}
	return newManager(plain, opt, func(m *Manager) {
		server.Prepare(servers, m.voters.id, m.voters.records)
		m.cluster = slices.ContainsFunc(servers, (*server.Redis).IsCluster)
	})
}

// newManager returns a Manager after asking the servers for their identity.
func newManager(servers []server.Server, opt Options, prepare func(*Manager)) (*Manager, error) {
	opt, err := opt.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case len(servers) == 0:
		return nil, errors.New("redlock: no nodes given: give at least one server, better three or five")
	case len(servers) > maxNodes:
		return nil, fmt.Errorf("redlock: %d nodes given: the maximum is %d", len(servers), maxNodes)
	}
	m := &Manager{
		opt: opt,
		voters: &voters{
			opt:      opt,
			id:       server.RandomText(),
			quorum:   len(servers)/2 + 1,
			all:      1<<len(servers) - 1,
			records:  server.NewRecords(len(servers), opt.TTL),
			draining: make(chan struct{}),
		},
		closing: make(chan struct{}),
	}
	m.localQueues.init()
	m.voters.waiters.init(m.voters.quorum)
	m.voters.timers.New = func() any {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return timer
	}
	m.hints.seed = maphash.MakeSeed()
	m.gaps.seed = m.hints.seed
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for i, s := range servers {
		m.voters.nodes = append(m.voters.nodes, newNode(m.voters, i, s))
	}
	if prepare != nil {
		prepare(m)
	}
	for _, n := range m.voters.nodes {
		m.work.Add(1)
		go func() {
			defer m.work.Done()
			n.work(m.ctx)
		}()
	}
	if err := m.discover(); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

// discoverTimeout limits how long New and Dial wait for servers.
const discoverTimeout = time.Second

// discover waits until a majority of the servers has identified itself, and a moment longer for the
// other servers. It fails only if a server was given twice.
func (m *Manager) discover() error {
	r := m.voters.ask(server.Op{Kind: server.Boot, TTL: m.opt.TTL}, m.voters.all)
	begun := time.Now()
	_, _ = r.await(m.ctx, discoverTimeout)
	second := newRound(m.voters.nodes, len(m.voters.nodes), r.Op, time.Now())
	second.all = true
	second.send(m.voters.all)
	_, _ = second.await(m.ctx, min(m.opt.NodeTimeout, discoverTimeout-time.Since(begun)))
	second.mu.Lock()
	defer second.mu.Unlock()
	for _, reply := range second.replies {
		if duplicate := (*duplicateError)(nil); errors.As(reply.Err, &duplicate) {
			return fmt.Errorf("redlock: %w", duplicate)
		}
	}
	return nil
}

// skipTime limits how long SkipQuarantine waits for servers.
const skipTime = 5 * time.Second

// SkipQuarantine declares that the servers still have every lock that they granted, so that they
// vote immediately although they were started recently. The declaration is true for new servers,
// and for servers that write every change to disk before they answer (appendfsync always) and were
// restarted with that data. It is false for any other server that was restarted less than a TTL
// ago. After an error, some servers were not reached; the other servers vote. To skip the
// quarantine of a single server, use a separate Manager.
func (m *Manager) SkipQuarantine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, skipTime)
	defer cancel()
	for {
		r := newRound(m.voters.nodes, len(m.voters.nodes), server.Op{Kind: server.Boot, TTL: m.opt.TTL, SkipQuarantine: true}, time.Now())
		r.all = true
		r.send(m.voters.all)
		won, cause := r.await(ctx, skipTime)
		switch {
		case won:
			return nil
		case cause == nil: // a server was slow or temporarily unreachable
			select {
			case <-time.After(m.opt.RetryMin):
				continue
			case <-ctx.Done():
			}
		}
		return fmt.Errorf("redlock: not all servers were reached; those that agreed vote: %d of %d agreed (%s)", r.agreed(), len(m.voters.nodes), r.reasons(skipTime))
	}
}

// Close ends every waiting Lock with ErrClosed. It waits, for a second at most, until abandoned
// locks are released on the servers; on servers that do not answer, these locks expire. Close does
// not release locks that are still held. They last until they expire: unlock them first.
func (m *Manager) Close() error {
	m.closeOnce.Do(func() {
		close(m.closing)
		m.calls.Lock()
		close(m.voters.draining)
		m.calls.Unlock()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			m.work.Wait()
		}()
		m.drain(drained)
		m.cancel()
		for _, n := range m.voters.nodes {
			n.server.Close()
		}
		<-drained
		m.listeners.Wait()
	})
	return nil
}

// drain waits until all work is done or a second has passed. It returns early if only unresponsive
// servers have work left.
func (m *Manager) drain(done <-chan struct{}) {
	end := time.NewTimer(discoverTimeout)
	defer end.Stop()
	ticker := time.NewTicker(m.opt.NodeTimeout)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-end.C:
			return
		case now := <-ticker.C:
			if !slices.ContainsFunc(m.voters.nodes, func(n *node) bool { return n.answers(now) }) {
				return
			}
		}
	}
}

func (m *Manager) isClosing() bool {
	select {
	case <-m.closing:
		return true
	default:
		return false
	}
}
