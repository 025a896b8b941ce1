// Package redlock locks names across processes and machines, with Redis or
// Valkey servers as the judges.
//
// # The problem
//
// SET name value NX PX 10000 on one server is a lock, until that server is
// restarted, frozen or cut off. This package asks N servers that know nothing of
// each other, by the Redlock algorithm (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/):
// a lock is held by whoever has it on a majority, for as long as is left of the
// time to live (TTL) when the last of that majority has answered. Five servers
// go on with any two of them dead. One server works the same and is the simple
// case.
//
//	m, err := redlock.Dial([]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{})
//	…
//	err = m.Do(ctx, "invoice:42", func(ctx context.Context, l *redlock.Lock) error {
//		return bill(ctx) // ctx ends the moment the lock cannot be shown to be held
//	})
//
// # What it promises
//
// Mutual exclusion, as long as the clocks of servers and clients run at the same
// speed to within Options.Drift, and no server forgets a lock. Servers that were
// restarted are kept from voting for as long as a lock of theirs may live, measured
// by clocks that nobody can set, so that only what this package cannot see can
// break that: a clock that is set forward while the server holds a lock, keys that are
// deleted or evicted, a failover to a replica that lacks the last writes. No lock of this kind can stop a holder that was paused after it looked
// at the clock: what must never be written twice has to check the fencing token
// (Options.Fencing) where it is written.
//
// A holder that dies frees its names after the TTL. Nobody waits for a server
// that does not answer. Those who wait get the lock in the order in which they
// came, told by the release instead of asking again and again; within a process
// it is handed on without waiting for the servers. Waiters that were killed are
// passed over. Clients of other libraries, which poll, find a name free now and
// then, also where it is always waited for.
//
// Locks are not reentrant: Lock and Do fail with ErrNested where the context says
// that the caller holds the name.
//
// # Cost
//
// Lock on a free name and Unlock are one round trip each, to all servers at once;
// the slowest of the majority decides. Fencing costs a second round trip only
// after trouble. Everything that goroutines ask of one server at the same time
// travels in one batch. A Manager has one goroutine and one connection a server,
// and one more of each as soon as a lock was waited for.
//
// On the servers a lock is a plain string under the name itself, so that any
// other Redlock client is kept out, and keeps this one out. A name that is waited
// for has a line beside it, redlock:waiters:{name} and redlock:attempts:{name},
// with fencing a counter, redlock:token:{name}, and with Options.Owner a record of
// who holds it, redlock:owner:{name}; all of them expire.
//
// # Operation
//
// A server that is new or was restarted is quarantined: it does not vote for a TTL,
// unless Trust says that it has forgotten no locks. Health reports which servers vote,
// Status and Watch who holds a name, and Break frees it.
package redlock

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// maxName is how long a name may be, in bytes.
const maxName = 1024

// Manager makes locks on one set of servers. It may be used by many goroutines,
// and one Manager a process is best: its goroutines then take turns without
// asking the servers.
type Manager struct {
	opt    Options
	id     string
	nodes  []*node
	quorum int
	all    nodeSet
	// cluster says that names are keys of a Cluster, see sharesSlot.
	cluster bool

	gates   gates
	waiting waiting
	hints   hints
	gaps    gaps
	timers  sync.Pool // of the rounds
	stats   counters

	records *records
	mu      sync.Mutex

	ctx       context.Context // ends when Close has waited long enough
	cancel    context.CancelFunc
	closing   chan struct{} // nobody may wait any more
	draining  chan struct{} // nobody does
	calls     sync.RWMutex  // held for reading by every Lock and TryLock
	closeOnce sync.Once
	listening sync.Once
	work      sync.WaitGroup // of the nodes
	ears      sync.WaitGroup // of their listeners
}

// New returns a Manager on independent servers, one client each, which stay the
// caller's to close. An odd number is best: an even one needs one more vote and
// survives no more failures than the odd number below it. The client of a Cluster
// counts as one server, whose failovers can lose locks.
//
// Servers that cannot be reached yet do not count as an error; New waits for them
// a moment, and Lock goes on trying. The same server twice is an error, since it
// would have two votes.
func New(nodes []rueidis.Client, opt Options) (*Manager, error) {
	servers := make([]*redisServer, len(nodes))
	for i, client := range nodes {
		if client == nil {
			return nil, fmt.Errorf("redlock: node %d is nil", i)
		}
		servers[i] = &redisServer{
			label:    label(i, client),
			client:   client,
			cluster:  client.Mode() == rueidis.ClientModeCluster,
			failover: client.Mode() != rueidis.ClientModeStandalone,
		}
	}
	return newRedisManager(servers, opt)
}

// label names a server by its address, as far as its client tells it.
func label(i int, client rueidis.Client) string {
	for address := range client.Nodes() {
		return address
	}
	return fmt.Sprintf("node %d", i)
}

// Dial is New with connections of its own to independent servers, by URL:
// redis://user:password@host:6379/0, unix:///path or, over TLS,
// rediss://host?ca=FILE&cert=FILE&key=FILE (docs/operations.md lists the
// parameters). Close closes them.
func Dial(urls []string, opt Options) (*Manager, error) {
	servers := make([]*redisServer, len(urls))
	for i, url := range urls {
		s, err := dialed(url)
		if err != nil {
			return nil, fmt.Errorf("redlock: node %d: %w", i, err)
		}
		for _, other := range servers[:i] {
			if other.label == s.label {
				return nil, fmt.Errorf("redlock: nodes are the same server twice: %s", s.label)
			}
		}
		servers[i] = s
	}
	return newRedisManager(servers, opt)
}

func newRedisManager(servers []*redisServer, opt Options) (*Manager, error) {
	scripts, clock := newScripts(), machineClock()
	plain := make([]server, len(servers))
	for i, s := range servers {
		s.index, s.scripts, s.clock = i, scripts, clock
		plain[i] = s
	}
	return newManager(plain, opt, func(m *Manager) {
		for _, s := range servers {
			s.id, s.records = m.id, m.records
			m.cluster = m.cluster || s.cluster
		}
	})
}

// newManager makes a Manager and asks the servers who they are.
func newManager(servers []server, opt Options, prepare func(*Manager)) (*Manager, error) {
	opt, err := opt.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case len(servers) == 0:
		return nil, errors.New("redlock: no nodes given: name at least one server, better three or five")
	case len(servers) > maxNodes:
		return nil, fmt.Errorf("redlock: %d nodes given: at most %d make sense", len(servers), maxNodes)
	}
	m := &Manager{
		opt:      opt,
		id:       randomText(),
		quorum:   len(servers)/2 + 1,
		all:      1<<len(servers) - 1,
		records:  newRecords(len(servers), opt.TTL),
		closing:  make(chan struct{}),
		draining: make(chan struct{}),
	}
	m.gates.init()
	m.waiting.init()
	m.timers.New = func() any {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return timer
	}
	m.hints.seed = maphash.MakeSeed()
	m.gaps.seed = m.hints.seed
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for i, s := range servers {
		m.nodes = append(m.nodes, newNode(m, i, s))
	}
	if prepare != nil {
		prepare(m)
	}
	for _, n := range m.nodes {
		m.work.Add(1)
		go func() {
			defer m.work.Done()
			n.work(m.ctx)
		}()
	}
	if err := m.greet(); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

// greetTime is how long New and Dial wait for servers at most.
const greetTime = time.Second

// greet waits until a majority of the servers is known, and a moment longer for
// the rest. It fails only where one of them is there twice.
func (m *Manager) greet() error {
	r := m.ask(op{kind: opLearn, ttl: m.opt.TTL}, m.all)
	begun := time.Now()
	_, _ = r.await(m.ctx, greetTime)
	everyone := newRound(m.nodes, len(m.nodes), r.op, time.Now())
	everyone.all = true
	everyone.send(m.all)
	_, _ = everyone.await(m.ctx, min(m.opt.NodeTimeout, greetTime-time.Since(begun)))
	everyone.mu.Lock()
	defer everyone.mu.Unlock()
	for _, answered := range everyone.replies {
		if twice := (*twiceError)(nil); errors.As(answered.err, &twice) {
			return fmt.Errorf("redlock: %w", twice)
		}
	}
	return nil
}

// twiceError says that two of the nodes are one server.
type twiceError struct{ one, other string }

func (e *twiceError) Error() string {
	return fmt.Sprintf("nodes are the same server twice: %s and %s", e.one, e.other)
}

// meet notes what node i reported of its server.
func (m *Manager) meet(i int, answered reply) error {
	if twin := m.records.learn(i, answered); twin >= 0 {
		return &twiceError{m.nodes[twin].server.name(), m.nodes[i].server.name()}
	}
	return nil
}

// quarantine is how long a server that lost its keys must not vote.
func (m *Manager) quarantine() time.Duration { return m.records.longest() }

// ask starts a round among the servers in the set.
func (m *Manager) ask(o op, to nodeSet) *round {
	r := newRound(m.nodes, m.quorum, o, time.Now())
	r.send(to)
	return r
}

// Lock waits until it holds the name, or the context is done. Those who wait get
// it in the order in which they came. Within this process that is exact; between
// processes it holds as long as nobody's waiting is cut off from the servers.
//
// The lock lives for Options.TTL, or that of LockOptions, of which there can be one;
// extend it with Extend, or let Do do that.
func (m *Manager) Lock(ctx context.Context, name string, opts ...LockOptions) (*Lock, error) {
	m.calls.RLock()
	defer m.calls.RUnlock()
	opt, err := m.lockOptions(opts)
	if err != nil {
		return nil, err
	}
	if err := m.check(ctx, name); err != nil {
		return nil, err
	}
	if turn := m.gates.enter(name); turn != nil {
		handed, err := m.gates.wait(ctx, name, turn, m.closing)
		if err != nil {
			return nil, err
		}
		if handed != nil {
			if l := m.takeOver(ctx, handed, opt.TTL); l != nil {
				return l.takenIn(ctx).with(opt), nil
			}
		}
	}
	l, err := m.contend(ctx, name, opt.TTL)
	if err != nil {
		m.gates.leave(name)
		return nil, err
	}
	m.gates.hold(l, true)
	return l.takenIn(ctx).with(opt), nil
}

// TryLock asks once. The error is ErrHeld where somebody else holds the lock, and
// ErrNoQuorum where too few servers answered.
func (m *Manager) TryLock(ctx context.Context, name string, opts ...LockOptions) (*Lock, error) {
	m.calls.RLock()
	defer m.calls.RUnlock()
	opt, err := m.lockOptions(opts)
	if err != nil {
		return nil, err
	}
	if err := m.check(ctx, name); err != nil {
		return nil, err
	}
	if until := m.gates.heldUntil(name); !until.IsZero() {
		return nil, fmt.Errorf("redlock: %q: %w: by this process for another %v",
			name, ErrHeld, time.Until(until).Round(time.Millisecond))
	}
	l, r, err := m.attempt(ctx, op{name: name, value: randomText(), ttl: opt.TTL}, time.Now())
	if err != nil {
		m.withdraw(r)
		m.stats.refused(err)
		return nil, err
	}
	m.gates.hold(l, false)
	return l.takenIn(ctx).with(opt), nil
}

// Do runs f while it holds the name, and extends the lock as long as f runs. The
// context given to f ends when ctx does, and with the cause ErrLost the moment the
// lock cannot be shown to be held any more; f must then stop. Do returns the error
// of f, joined with ErrLost if the lock was lost.
func (m *Manager) Do(ctx context.Context, name string, f func(ctx context.Context, l *Lock) error, opts ...LockOptions) error {
	l, err := m.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	return l.Keep(ctx, f)
}

// trustTime is how long Trust waits for servers at most.
const trustTime = 5 * time.Second

// Trust tells all servers that they have every lock that was ever given, so that
// they vote at once although they were started recently. That is known of servers
// that are new, or that write every change to disk before they answer
// (appendfsync always) and were restarted with that data. It is wrong of any other
// server that was restarted less than a TTL ago. An error means that some were not
// reached; the others vote. To trust a single server, make a Manager of it alone.
func (m *Manager) Trust(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	for {
		r := newRound(m.nodes, len(m.nodes), op{kind: opLearn, ttl: m.opt.TTL, trust: true}, time.Now())
		r.all = true
		r.send(m.all)
		won, cause := r.await(ctx, trustTime)
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
		return fmt.Errorf("redlock: not all servers were told, but those that agreed vote: %d of %d agreed (%s)", r.agreed(), len(m.nodes), r.reasons(trustTime))
	}
}

// Close ends the waiting of every Lock with ErrClosed, and waits, a second at most,
// until what was given up has been released on the servers, but not for servers that
// do not answer: there it expires. Locks that are still held stay so until they
// expire: unlock them first.
func (m *Manager) Close() error {
	m.closeOnce.Do(func() {
		close(m.closing)
		m.calls.Lock()
		close(m.draining)
		m.gates.close()
		m.calls.Unlock()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			m.work.Wait()
		}()
		m.drain(drained)
		m.cancel()
		for _, n := range m.nodes {
			n.server.close()
		}
		<-drained
		m.ears.Wait()
	})
	return nil
}

// drain waits until all is done, or a second has passed, or only servers are left that
// do not answer.
func (m *Manager) drain(done <-chan struct{}) {
	end := time.NewTimer(greetTime)
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
			if !slices.ContainsFunc(m.nodes, func(n *node) bool { return n.answers(now) }) {
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

// check refuses what cannot be locked.
func (m *Manager) check(ctx context.Context, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("redlock: %w: the name is empty", ErrName)
	case len(name) > maxName:
		return fmt.Errorf("redlock: %w: the name has %d bytes, and at most %d are allowed", ErrName, len(name), maxName)
	case strings.HasPrefix(name, prefix):
		return fmt.Errorf("redlock: %q: %w: names that begin with %q are the package's own", name, ErrName, prefix)
	case m.cluster && !sharesSlot(name):
		return fmt.Errorf("redlock: %q: %w: on a Cluster a closing brace needs a hash tag in front of it", name, ErrName)
	case m.isClosing():
		return ErrClosed
	case m.nested(ctx, name) != nil:
		return m.nested(ctx, name)
	case ctx.Err() != nil:
		return waitError(name, context.Cause(ctx), nil)
	}
	return nil
}

// waitError says why a wait ended, and what it waited for.
func waitError(name string, cause, last error) error {
	if last != nil {
		return fmt.Errorf("%w (%w)", last, cause)
	}
	return fmt.Errorf("redlock: %q: %w", name, cause)
}

// ended says that an attempt was the last because the context ended.
func ended(ctx context.Context, name string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return waitError(name, cause, err)
	}
	return err
}

// randomText returns 20 random bytes in printable letters.
func randomText() string {
	var bytes [20]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}
