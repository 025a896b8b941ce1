package redlock

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// simServer does what the scripts do on a server, on a clock of its own. It is only
// an op away from the algorithm: no protocol, no commands. TestSimServer compares
// it with a real one.
type simServer struct {
	label string
	rate  float64 // how fast its clock runs
	// forgetful does not keep itself out of the voting after a restart.
	forgetful bool
	// byClock ends its quarantine by its own clock.
	byClock bool

	mu       sync.Mutex
	epoch    time.Time
	offset   time.Duration // by how much its clock was set
	stepped  time.Time     // when it was last set forward
	boot     int
	started  time.Duration
	data     simData
	snapshot simData
	up       bool
	changed  chan struct{} // closed when it freezes, thaws or restarts
	frozen   bool
	ears     []simEar
}

// simData is what a server keeps, and may lose.
type simData struct {
	keys   map[string]simKey
	lines  map[string][]simWaiter
	tokens map[string]uint64
	free   map[string]time.Duration
	run    int // the boot in which votes were last known to count; 0: none
	ttl    time.Duration
	clocks map[simMachine]time.Time // since when a machine has known a boot
}

// simMachine is a machine and the boot of a server that it knows.
type simMachine struct {
	name string
	boot int
}

// simEvidence is what a manager sends to a server that may be quarantined.
type simEvidence struct {
	longest    time.Duration
	known      simMachine
	since, now time.Time // by the clock of the machine
}

type simKey struct {
	value   string
	expires time.Duration
}

type simWaiter struct {
	since   int64
	manager string
	value   string
	attempt uint64
	again   time.Duration // by when it asks again
	listens bool
}

type simEar struct {
	channel string
	tell    func(value string, attempt uint64)
}

func newSimServer(label string, rate float64) *simServer {
	s := &simServer{label: label, rate: rate, epoch: time.Now(), boot: 1, up: true, changed: make(chan struct{})}
	s.data = newSimData()
	s.data.run = 1 // it is new, and known to be
	return s
}

func newSimData() simData {
	return simData{
		keys: map[string]simKey{}, lines: map[string][]simWaiter{}, tokens: map[string]uint64{},
		free: map[string]time.Duration{}, clocks: map[simMachine]time.Time{},
	}
}

func (d simData) clone() simData {
	c := newSimData()
	for k, v := range d.keys {
		c.keys[k] = v
	}
	for k, v := range d.lines {
		c.lines[k] = slices.Clone(v)
	}
	for k, v := range d.free {
		c.free[k] = v
	}
	for k, v := range d.tokens {
		c.tokens[k] = v
	}
	maps.Copy(c.clocks, d.clocks)
	c.run, c.ttl = d.run, d.ttl
	return c
}

// now is the time on the server's clock.
func (s *simServer) now() time.Duration {
	return time.Duration(float64(time.Since(s.epoch))*s.rate) + s.offset
}

// quarantine is boot.lua.
func (s *simServer) quarantine(e simEvidence) time.Duration {
	if s.forgetful || s.data.run == s.boot {
		return 0
	}
	longest := max(e.longest, s.data.ttl)
	var up time.Duration
	switch {
	case s.byClock:
		up = s.now() - s.started
	case e.known.boot == s.boot:
		if first, ok := s.data.clocks[e.known]; !ok || e.since.Before(first) {
			s.data.clocks[e.known] = e.since
		}
		up = e.now.Sub(s.data.clocks[e.known])
	}
	if up >= longest {
		s.data.run = s.boot
	}
	return longest - up
}

func (s *simServer) holder(name string) (simKey, bool) {
	key, ok := s.data.keys[name]
	if ok && s.now() >= key.expires {
		delete(s.data.keys, name)
		return simKey{}, false
	}
	return key, ok
}

func (s *simServer) set(name, value string, ttl time.Duration) {
	s.data.keys[name] = simKey{value, s.now() + ttl}
}

// grant is grant.lua.
func (s *simServer) grant(name string, ttl time.Duration, caller string) string {
	for len(s.data.lines[name]) > 0 {
		next := s.data.lines[name][0]
		s.data.lines[name] = s.data.lines[name][1:]
		if next.value == caller {
			return next.value
		}
		if s.now() > next.again {
			continue
		}
		heard := 0
		for _, ear := range s.ears {
			if ear.channel == channel(next.manager) {
				heard++
				ear.tell(next.value, next.attempt)
			}
		}
		if heard > 0 || !next.listens {
			s.set(name, next.value, ttl)
			return next.value
		}
	}
	return ""
}

func (s *simServer) count(name string) (token uint64, fresh bool) {
	last := s.data.tokens[name]
	if last > 0 {
		s.data.tokens[name] = last + 1
	} else {
		// The year of the simulation, in the server's microseconds.
		s.data.tokens[name] = uint64(946684800+int64(s.now()/time.Second)+1) * 1_000_000
	}
	return s.data.tokens[name], last == 0
}

func (s *simServer) leave(name, value string) {
	s.data.lines[name] = slices.DeleteFunc(s.data.lines[name], func(w simWaiter) bool { return w.value == value })
}

// do carries out one op.
func (s *simServer) do(o *op, manager string, listens bool, evidence simEvidence) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, taken := s.holder(o.name)
	switch o.kind {
	case opAcquire:
		if left := s.quarantine(evidence); left > 0 {
			return reply{answer: failed, ttl: left, err: youngError{left}}
		}
		return s.acquire(o, manager, listens, held, taken)
	case opRelease:
		if o.queue {
			s.leave(o.name, o.value)
		}
		if !taken && s.now() >= s.data.free[o.name] {
			s.grant(o.name, o.grant, "")
		}
		if !taken || held.value != o.value && (o.other == "" || held.value != o.other) {
			return reply{answer: no}
		}
		switch {
		case o.free > 0 && (s.data.free[o.name] == 0 || (s.now()-s.data.free[o.name]).Abs() >= o.every):
			delete(s.data.keys, o.name)
			s.data.free[o.name] = s.now() + o.free
		case s.grant(o.name, o.grant, "") == "":
			delete(s.data.keys, o.name)
		}
		return reply{answer: yes}
	case opExtend:
		if !taken || held.value != o.value {
			return reply{answer: no}
		}
		s.set(o.name, o.other, o.ttl)
		answered := reply{answer: yes, waiters: int64(len(s.data.lines[o.name]))}
		if o.fence {
			answered.token, answered.fresh = s.count(o.name)
		}
		return answered
	case opRaise:
		s.data.tokens[o.name] = max(s.data.tokens[o.name], o.token)
		return reply{answer: yes}
	case opShow:
		return reply{answer: yes, value: held.value, waiters: int64(len(s.data.lines[o.name]))}
	default:
		s.data.ttl = max(s.data.ttl, o.ttl)
		return reply{answer: yes, value: s.label + "/" + strconv.Itoa(s.boot), ttl: s.data.ttl}
	}
}

// acquire is acquire.lua, and SET NX.
func (s *simServer) acquire(o *op, manager string, listens bool, held simKey, taken bool) reply {
	yes := func() reply {
		s.set(o.name, o.value, o.ttl)
		if o.fence {
			token, fresh := s.count(o.name)
			return reply{answer: yes, token: token, fresh: fresh}
		}
		return reply{answer: yes}
	}
	join := func() reply {
		if o.queue && !o.quick {
			s.leave(o.name, o.value)
			line := append(s.data.lines[o.name], simWaiter{o.since, manager, o.value, o.attempt, s.now() + o.within, listens})
			slices.SortFunc(line, func(a, b simWaiter) int {
				if a.since != b.since {
					return int(a.since - b.since)
				}
				return strings.Compare(a.manager+":"+a.value, b.manager+":"+b.value)
			})
			s.data.lines[o.name] = line
		}
		key := s.data.keys[o.name]
		if o.quick {
			return reply{answer: no}
		}
		return reply{answer: no, ttl: key.expires - s.now(), value: key.value}
	}
	switch {
	case taken && held.value == o.value && !o.quick:
		return yes()
	case taken:
		return join()
	}
	if left := s.data.free[o.name] - s.now(); o.queue && left > 0 && left <= time.Second {
		answered := join()
		answered.ttl, answered.value = left, ""
		return answered
	}
	if o.queue {
		if first := s.grant(o.name, o.grant, o.value); first != "" && first != o.value {
			return join()
		}
	}
	return yes()
}

// change applies a fault, and wakes whoever waits for one.
func (s *simServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// restart starts another run of the server, with what it has kept.
func (s *simServer) restart(data simData) {
	s.change(func() {
		s.boot++
		s.started = s.now()
		s.data, s.ears, s.up, s.frozen = data, nil, true, false
	})
}

// simLink is the network between one manager and one server.
type simLink struct {
	server *simServer
	m      *Manager
	net    *simNet
	// listens says that the manager knows of its subscription.
	listens atomic.Bool
	// untied plants a bug: a message counts for whatever attempt it meets.
	untied bool

	mu    sync.Mutex
	known simMachine // that of the manager, and the boot that answered it last
	since time.Time  // it knows it
}

// simNet is what the network does.
type simNet struct {
	mu    sync.Mutex
	rng   *rand.Rand
	loss  float64 // of requests, and of replies
	slow  float64 // of messages that take long
	late  sync.WaitGroup
	calm  bool
	cuts  map[*simLink]bool
	holds map[*simLink]simHold
	drops func(*op) bool // ops that the network swallows on purpose
}

// simHold is until when the connections of a link keep what goes over them: the one
// of the commands, and the one of the messages.
type simHold struct{ commands, messages time.Time }

// hold keeps what goes over a link for a while. Nothing is lost, and the two
// connections need not go on at the same time.
func (n *simNet) hold(l *simLink, commands, messages time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.holds[l] = simHold{now.Add(commands), now.Add(messages)}
}

// pass returns when a connection of a link is not held any more.
func (n *simNet) pass(l *simLink, messages bool) {
	for {
		n.mu.Lock()
		until := n.holds[l].commands
		if messages {
			until = n.holds[l].messages
		}
		calm := n.calm
		n.mu.Unlock()
		left := time.Until(until)
		if left <= 0 || calm {
			return
		}
		time.Sleep(left)
	}
}

// simAnswerTime is how long a connection may be silent in the simulation.
const simAnswerTime = 200 * time.Millisecond

func (n *simNet) chance(p float64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.calm && n.rng.Float64() < p
}

func (n *simNet) upTo(d time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(d)))
}

// delay is how long a message takes.
func (n *simNet) delay() time.Duration {
	if n.chance(n.slow) {
		return n.upTo(300 * time.Millisecond)
	}
	return 100*time.Microsecond + n.upTo(time.Millisecond)
}

func (n *simNet) cut(l *simLink) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts[l]
}

// latest returns the number of the last attempt of a waiter.
func (w *waiting) latest(value string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.tickets[value]; t != nil {
		return t.attempt
	}
	return 0
}

func (l *simLink) name() string { return l.server.label }

func (l *simLink) close() {}

var errSim = errors.New("the network broke")

func failAll(replies []reply, maybe bool) {
	for i := range replies {
		replies[i] = reply{answer: failed, maybe: maybe, broken: true, err: errSim}
	}
}

func (l *simLink) run(_ context.Context, batch []*op, replies []reply) {
	s := l.server
	s.mu.Lock()
	up, boot := s.up, s.boot
	s.mu.Unlock()
	if !up {
		failAll(replies, false)
		return
	}
	sent := make([]op, len(batch)) // what is on the wire stays as it was
	for i, o := range batch {
		sent[i] = *o
	}
	evidence, listens := l.evidence(), l.listens.Load()
	l.net.pass(l, false)
	if l.net.cut(l) || l.net.chance(l.net.loss) {
		if l.net.chance(0.5) { // it gets there when nobody expects it any more
			l.net.late.Go(func() {
				time.Sleep(l.net.upTo(2 * time.Second))
				if l.arrives(boot, time.Minute) {
					l.execute(sent, make([]reply, len(sent)), listens, evidence)
				}
			})
		}
		time.Sleep(simAnswerTime)
		failAll(replies, true)
		return
	}
	time.Sleep(l.net.delay())
	done := make([]reply, len(batch))
	if !l.arrives(boot, simAnswerTime) {
		l.net.late.Go(func() {
			if l.arrives(boot, time.Minute) {
				l.execute(sent, done, listens, evidence)
			}
		})
		failAll(replies, true)
		return
	}
	l.execute(sent, done, listens, evidence)
	if l.net.cut(l) || l.net.chance(l.net.loss) {
		time.Sleep(simAnswerTime)
		failAll(replies, true)
		return
	}
	time.Sleep(l.net.delay())
	l.net.pass(l, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot != boot {
		failAll(replies, true)
		return
	}
	copy(replies, done)
	l.learn(boot)
}

// learn notes that a boot of the server has answered.
func (l *simLink) learn(boot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.boot != boot {
		l.known.boot, l.since = boot, time.Now()
	}
}

// evidence is what boot.lua is sent.
func (l *simLink) evidence() simEvidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return simEvidence{longest: l.m.quarantine(), known: l.known, since: l.since, now: time.Now()}
}

// arrives waits until the server, in the same run, takes what was sent.
func (l *simLink) arrives(boot int, patience time.Duration) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s := l.server
		s.mu.Lock()
		changed, same, frozen := s.changed, s.boot == boot && s.up, s.frozen
		s.mu.Unlock()
		switch {
		case !same:
			return false
		case !frozen:
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

func (l *simLink) execute(sent []op, replies []reply, listens bool, evidence simEvidence) {
	for i := range sent {
		if l.net.drops != nil && l.net.drops(&sent[i]) {
			replies[i] = reply{answer: failed, err: errSim}
			continue
		}
		replies[i] = l.server.do(&sent[i], l.m.id, listens, evidence)
	}
}

func (l *simLink) listen(ctx context.Context, channel string, ready func(), heard func(message string, fit bool)) error {
	defer l.listens.Store(false)
	s := l.server
	s.mu.Lock()
	if !s.up || s.frozen {
		s.mu.Unlock()
		return errSim
	}
	boot := s.boot
	fit := s.quarantine(l.evidence()) <= 0
	s.ears = append(s.ears, simEar{channel, func(value string, attempt uint64) {
		if l.net.chance(l.net.loss) {
			return
		}
		l.net.late.Go(func() {
			time.Sleep(l.net.delay())
			l.net.pass(l, true)
			if !l.net.cut(l) {
				if l.untied {
					attempt = l.m.waiting.latest(value)
				}
				heard(value+" "+strconv.FormatUint(attempt, 10), fit)
			}
		})
	}})
	s.mu.Unlock()
	l.listens.Store(true)
	ready()
	for {
		s.mu.Lock()
		changed, same := s.changed, s.boot == boot && s.up
		s.mu.Unlock()
		if !same {
			return errSim
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
