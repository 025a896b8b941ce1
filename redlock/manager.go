// Package redlock locks names across processes and machines, on Redis or Valkey
// servers, by the Redlock algorithm.
//
// It has no shared locks, semaphores or reentrant locks, and takes one name at a time. No
// lock that expires can stop a holder that was paused: where two writers would break
// something, check the fencing token, or use a transaction of the database instead. It
// changes no key but the locks that it made. For one server and locks that may now and
// then be held twice, rueidislock is enough; see docs/locks.md.
//
// # The problem
//
// SET name value NX PX 10000 on one server is a lock, until that server is restarted,
// frozen or unreachable. This package asks N independent servers
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/): a client
// holds a lock if a majority of them, N/2+1, gave it, for the rest of the time to live
// (TTL) when the last of that majority answers. Five servers tolerate the loss of any
// two. One server works the same and is the simple case.
//
//	m, err := redlock.Dial([]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{})
//	…
//	err = m.Do(ctx, "invoice:42", func(ctx context.Context, l *redlock.Lock) error {
//		return bill(ctx) // ctx ends as soon as the lock cannot be shown to be held
//	})
//
// # Safety and liveness
//
// Mutual exclusion holds as long as the clocks of servers and clients run at the same
// speed to within Options.Drift, and no server forgets a lock. A server that was
// restarted does not vote as long as a lock that it forgot may live (delayed restart);
// that time is measured by clocks that nothing can set. What this package cannot detect
// can break the exclusion: a clock that is set forward while the server holds a lock,
// keys that are deleted or evicted, and a failover to a replica without the last writes.
// No lock of this kind can stop a holder that was paused after it checked the time: a
// resource that must never be written twice has to check the fencing token
// (Options.Fencing).
//
// If a holder dies, its names are free after the TTL. A server that does not answer
// delays no client. Waiting clients get the lock in the order of their arrival; the
// release notifies the next one, without polling. Goroutines of a process take turns on a
// name for a short time, without asking the servers. Dead waiters are skipped. If several clients
// ask at the same time and none gets a majority (split brain), each releases what it
// got and retries after a random pause. Clients of other libraries, which poll, find a
// name free now and then even if clients of this package always wait for it.
//
// Locks are not reentrant: Lock and Do fail with ErrNested if the context shows that
// the caller holds the name.
//
// # Cost
//
// Lock on a free name and Unlock take one round trip each, to all servers at once; the
// slowest of the majority decides. A turn within the process takes none. Fencing takes a second round trip only after a
// failure. Concurrent requests to one server travel in one batch. A Manager has one
// goroutine and one connection for each server, and one more of each after the first
// wait.
//
// On the servers, a lock is a plain string under the name itself, so that it excludes
// any other Redlock client and is excluded by it. A name with waiters has a queue in
// redlock:waiters:{name} and redlock:attempts:{name}, with fencing a counter
// redlock:token:{name}, and with Options.Owner a record of the holder,
// redlock:owner:{name}; all of them expire.
//
// # Operation
//
// A server that is new or was restarted is quarantined: it does not vote for a TTL,
// unless SkipQuarantine states that it has forgotten no locks. Status reports which
// servers vote and who holds a name, with counts for metrics, and Break frees a name.
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

// Manager makes locks on one set of servers. Many goroutines may use it. One Manager
// per process is best: its goroutines then queue locally without asking the servers.
type Manager struct {
	opt         Options
	voters      *voters
	localQueues localQueues
	hints       hints
	gaps        gaps
	// cluster says that names are keys of a Cluster, see server.SharesSlot.
	cluster bool

	mu sync.Mutex

	ctx       context.Context // ends when Close stops waiting
	cancel    context.CancelFunc
	closing   chan struct{} // closed when no caller may wait any more
	calls     sync.RWMutex  // held for reading by every Lock and TryLock
	closeOnce sync.Once
	listening sync.Once
	work      sync.WaitGroup // of the nodes
	listeners sync.WaitGroup // of their listeners
}

// New returns a Manager on independent servers, with one client each. The caller
// closes the clients. An odd number of servers is best: an even one needs one more
// vote and survives no more failures than the odd number below it. The client of a
// Cluster counts as one server, whose failovers can lose locks.
//
// Servers that cannot be reached yet are not an error: New waits for them briefly,
// and Lock keeps trying. The same server twice is an error, because it would have
// two votes.
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

// Dial is New with its own connections to independent servers, by URL:
// redis://user:password@host:6379/0, unix:///path or, over TLS,
// rediss://host?ca=FILE&cert=FILE&key=FILE (docs/operations.md lists the
// parameters). Close closes them.
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

// newManager makes a Manager and asks the servers for their identity.
func newManager(servers []server.Server, opt Options, prepare func(*Manager)) (*Manager, error) {
	opt, err := opt.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case len(servers) == 0:
		return nil, errors.New("redlock: no nodes given: give at least one server, better three or five")
	case len(servers) > maxNodes:
		return nil, fmt.Errorf("redlock: %d nodes given: at most %d make sense", len(servers), maxNodes)
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

// discoverTime is how long New and Dial wait for servers at most.
const discoverTime = time.Second

// discover waits until a majority of the servers is known, and a moment longer for
// the rest. It fails only if a server is there twice.
func (m *Manager) discover() error {
	r := m.voters.ask(server.Op{Kind: server.Boot, TTL: m.opt.TTL}, m.voters.all)
	begun := time.Now()
	_, _ = r.await(m.ctx, discoverTime)
	everyone := newRound(m.voters.nodes, len(m.voters.nodes), r.Op, time.Now())
	everyone.all = true
	everyone.send(m.voters.all)
	_, _ = everyone.await(m.ctx, min(m.opt.NodeTimeout, discoverTime-time.Since(begun)))
	everyone.mu.Lock()
	defer everyone.mu.Unlock()
	for _, answered := range everyone.replies {
		if twice := (*duplicateError)(nil); errors.As(answered.Err, &twice) {
			return fmt.Errorf("redlock: %w", twice)
		}
	}
	return nil
}

// skipTime is how long SkipQuarantine waits for servers at most.
const skipTime = 5 * time.Second

// SkipQuarantine declares that all servers have every lock that they ever gave, so
// that they vote immediately although they were started recently. That is true for
// new servers, and for servers that write every change to disk before they answer
// (appendfsync always) and were restarted with that data. It is wrong for any other
// server that was restarted less than a TTL ago. On an error some servers were not
// reached; the others vote. For a single server, use a Manager of that server alone.
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
		case cause == nil: // one was slow, or could not be reached just now
			select {
			case <-time.After(m.opt.RetryMin):
				continue
			case <-ctx.Done():
			}
		}
		return fmt.Errorf("redlock: not all servers were reached, but those that agreed vote: %d of %d agreed (%s)", r.agreed(), len(m.voters.nodes), r.reasons(skipTime))
	}
}

// Close ends every waiting Lock with ErrClosed. It waits, for a second at most,
// until abandoned locks are released on the servers, except on servers that do not
// answer, where they expire. Locks that are held stay so until they expire: unlock
// them first.
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

// drain waits until all work is done, a second has passed, or only servers that do
// not answer have work left.
func (m *Manager) drain(done <-chan struct{}) {
	end := time.NewTimer(discoverTime)
	defer end.Stop()
	look := time.NewTicker(m.opt.NodeTimeout)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-end.C:
			return
		case now := <-look.C:
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
