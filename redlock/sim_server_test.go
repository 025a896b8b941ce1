package redlock

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

// simServer simulates the scripts on a server with its own clock, without protocol and commands.
// TestSimServer compares a simServer with a real server.
type simServer struct {
	label string
	index int // among the servers
	// second, if not nil, is the clock for tokens, in place of the clock of the simulation.
	second func() int64
	rate   float64 // speed of its clock
	// forgetful makes the server vote immediately after a restart.
	forgetful bool
	// byClock ends a quarantine by the server's own clock.
	byClock bool

	mu          sync.Mutex
	epoch       time.Time
	offset      time.Duration // total by which the clock was set
	stepped     time.Time     // when the clock was last set forward
	boot        int
	started     time.Duration
	data        simData
	snapshot    simData
	up          bool
	changed     chan struct{} // closed when the server freezes, thaws or restarts
	frozen      bool
	subscribers []simSubscriber
}

// simData is what a server stores, and may lose.
type simData struct {
	keys   map[string]simKey
	lines  map[string][]simWaiter // queues by name
	tokens map[string]uint64
	free   map[string]time.Duration // when the gap for other libraries ends, by name
	run    int                      // the last boot that voted; 0: none
	since  time.Duration            // when that boot first voted
	ttl    time.Duration
	clocks map[simMachine]time.Time // first reading of a machine's clock in a boot
}

// simMachine is a machine and the server boot that it knows.
type simMachine struct {
	name string
	boot int
}

// simEvidence is what a manager sends to a server that may be quarantined.
type simEvidence struct {
	longest    time.Duration
	known      simMachine
	since, now time.Time // by the machine's clock
}

type simKey struct {
	value   string
	expires time.Duration
}

type simWaiter struct {
	since   int64
	manager string
	value   string
	askBy   time.Duration // time by which the waiter asks again
	listens bool
}

// simSubscriber is a manager that listens on a channel.
type simSubscriber struct {
	channel string
	deliver func(message string)
}

func newSimServer(label string, rate float64) *simServer {
	s := &simServer{label: label, rate: rate, epoch: time.Now(), boot: 1, up: true, changed: make(chan struct{})}
	s.data = newSimData()
	s.data.run = 1 // a new server votes
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
	c.run, c.since, c.ttl = d.run, d.since, d.ttl
	return c
}

// now returns the time on the server's clock.
func (s *simServer) now() time.Duration {
	return time.Duration(float64(time.Since(s.epoch))*s.rate) + s.offset
}

// quarantine simulates boot.lua.
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
		s.data.run, s.data.since = s.boot, s.now()
	}
	return longest - up
}

// holder returns the unexpired key of a lock.
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

// grant simulates grant.lua.
func (s *simServer) grant(name string, ttl time.Duration, caller string) string {
	for len(s.data.lines[name]) > 0 {
		next := s.data.lines[name][0]
		s.data.lines[name] = s.data.lines[name][1:]
		if next.value == caller {
			return next.value
		}
		if s.now() > next.askBy {
			continue
		}
		received := 0
		for _, sub := range s.subscribers {
			if sub.channel == server.Channel(next.manager) {
				received++
				sub.deliver(next.value)
			}
		}
		if received > 0 || !next.listens {
			s.set(name, next.value, ttl)
			return next.value
		}
	}
	return ""
}

// count simulates token.lua.
func (s *simServer) count(name string, n uint64) (token uint64, fresh bool) {
	last := s.data.tokens[name]
	if s.second != nil { // as on a real server that has been voting for a long time
		token = uint64(s.second()+1)*1_000_000 + n - 1
	} else {
		// The simulation starts in this year.
		const year = 946684800_000_000
		token = year + uint64(s.now()/time.Second+1)*1_000_000
		earliest := year + uint64((s.data.since + 2*time.Second).Microseconds())
		token = max(token, earliest) + n - 1
		if last < earliest {
			last = 0
		}
	}
	if last > 0 {
		token = max(token, last+n)
	}
	s.data.tokens[name] = token
	return token, last == 0
}

// leave removes a waiter from the queue of a name.
func (s *simServer) leave(name, value string) {
	s.data.lines[name] = slices.DeleteFunc(s.data.lines[name], func(w simWaiter) bool { return w.value == value })
}

// do executes an op.
func (s *simServer) do(o *server.Op, manager string, listens bool, evidence simEvidence) server.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, taken := s.holder(o.Name)
	switch o.Kind {
	case server.Acquire:
		if left := s.quarantine(evidence); left > 0 {
			return server.Reply{Answer: server.Failed, TTL: left, Err: server.QuarantineError{Left: left}}
		}
		return s.acquire(o, manager, listens, held, taken)
	case server.Release:
		if o.Queue {
			s.leave(o.Name, o.Value)
		}
		if !taken && s.now() >= s.data.free[o.Name] {
			s.grant(o.Name, o.Grant, "")
		}
		if !taken || held.value != o.Value {
			return server.Reply{Answer: server.No}
		}
		switch {
		case o.Free > 0 && (s.data.free[o.Name] == 0 || (s.now()-s.data.free[o.Name]).Abs() >= o.Every):
			delete(s.data.keys, o.Name)
			s.data.free[o.Name] = s.now() + o.Free
		case s.grant(o.Name, o.Grant, "") == "":
			delete(s.data.keys, o.Name)
		}
		return server.Reply{Answer: server.Yes}
	case server.Extend:
		if !taken || held.value != o.Value {
			return server.Reply{Answer: server.No}
		}
		s.set(o.Name, o.Value, o.TTL)
		return server.Reply{Answer: server.Yes}
	case server.Raise:
		s.data.tokens[o.Name] = max(s.data.tokens[o.Name], o.Token)
		return server.Reply{Answer: server.Yes}
	case server.Show:
		return server.Reply{Answer: server.Yes, Value: held.value, Waiters: int64(len(s.data.lines[o.Name]))}
	default:
		s.data.ttl = max(s.data.ttl, o.TTL)
		return server.Reply{Answer: server.Yes, Value: s.label + "/" + strconv.Itoa(s.boot), TTL: s.data.ttl}
	}
}

// acquire simulates acquire.lua and SET NX.
func (s *simServer) acquire(o *server.Op, manager string, listens bool, held simKey, taken bool) server.Reply {
	yes := func() server.Reply {
		s.set(o.Name, o.Value, o.TTL)
		if o.Tokens > 0 {
			token, fresh := s.count(o.Name, uint64(o.Tokens))
			return server.Reply{Answer: server.Yes, Token: token, Fresh: fresh}
		}
		return server.Reply{Answer: server.Yes}
	}
	join := func() server.Reply {
		if o.Queue && !o.Quick {
			s.leave(o.Name, o.Value)
			line := append(s.data.lines[o.Name], simWaiter{o.Since, manager, o.Value, s.now() + o.Within, listens})
			slices.SortFunc(line, func(a, b simWaiter) int {
				if a.since != b.since {
					return int(a.since - b.since)
				}
				return strings.Compare(a.manager+":"+a.value, b.manager+":"+b.value)
			})
			s.data.lines[o.Name] = line
		}
		key := s.data.keys[o.Name]
		if o.Quick {
			return server.Reply{Answer: server.No}
		}
		return server.Reply{Answer: server.No, TTL: key.expires - s.now(), Value: key.value}
	}
	switch {
	case taken && held.value == o.Value && !o.Quick:
		return yes()
	case taken:
		return join()
	}
	if left := s.data.free[o.Name] - s.now(); o.Queue && left > 0 && left <= time.Second {
		answered := join()
		answered.TTL, answered.Value = left, ""
		return answered
	}
	if o.Queue {
		if first := s.grant(o.Name, o.Grant, o.Value); first != "" && first != o.Value {
			return join()
		}
	}
	return yes()
}

// change applies a fault, and wakes the goroutines that wait for a change.
func (s *simServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// restart starts another run of the server with the given data.
func (s *simServer) restart(data simData) {
	s.change(func() {
		s.boot++
		s.started = s.now()
		s.data, s.subscribers, s.up, s.frozen = data, nil, true, false
	})
}
