package watched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// model is a server with a number for each ID, which grows with each write, and a record of the
// minimum numbers that callers of a Map must get: the number that was reported, or written by this
// process, before the call.
type model struct {
	*rapid.T
	m        *Map[int]
	lag      time.Duration
	written  [ids]int
	reported [ids][]report // oldest first
	changes  [ids]int      // since the start of a read that a caller may join
	calls    []*call
	started  chan *load
	loads    []*load
}

const ids = 4

type report struct {
	at     time.Time
	number int
	own    bool // a write of this process, which has no lag
}

type call struct {
	ids     []int64
	minimum []int
	cancel  context.CancelFunc
	done    chan error
	values  []int
}

type load struct {
	ids      []int64
	fresh    bool
	unshared bool
	minimum  []int // numbers that were reported or, if fresh, written before the start
	changes  []int
	canceled atomic.Bool
	reply    chan error
	values   []int
}

type freshKey struct{}

func isFresh(ctx context.Context, _ int64) bool { return ctx.Value(freshKey{}) != nil }

func fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

func newModel(t *rapid.T, opt Options[int]) *model {
	s := &model{T: t, lag: opt.Lag, started: make(chan *load, 100)}
	opt.Link = NewLink(true, func(context.Context) error { return nil })
	opt.Keys, opt.Most, opt.IsFresh, opt.WithFresh = []string{"key:"}, 10, isFresh, fresh
	var err error
	if s.m, err = NewMap(opt); err != nil {
		t.Fatal(err)
	}
	for id := range s.reported {
		s.reported[id] = []report{{}}
	}
	return s
}

// known returns the minimum number that a caller must get now.
func (s *model) known(id int64, lag time.Duration) int {
	number := 0
	for _, r := range s.reported[id] {
		if r.own || time.Since(r.at) >= lag {
			number = max(number, r.number)
		}
	}
	return number
}

func (s *model) ids() []int64 {
	return rapid.SliceOfN(rapid.Int64Range(0, ids-1), 1, ids).Draw(s.T, "ids")
}

func (s *model) id() int64 { return rapid.Int64Range(0, ids-1).Draw(s.T, "id") }

// get calls GetMany.
func (s *model) get(isFresh bool, wanted ...int64) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{ids: wanted, cancel: cancel, done: make(chan error, 1)}
	lag := s.lag
	if lag > 0 {
		lag += readingFor
	}
	for _, id := range wanted {
		minimum := s.known(id, lag)
		if isFresh {
			minimum = s.written[id]
		}
		c.minimum = append(c.minimum, minimum)
	}
	if isFresh {
		ctx = fresh(ctx)
	}
	s.calls = append(s.calls, c)
	var waited atomic.Bool // the leader may have failed
	go func() {
		var err error
		c.values, err = s.m.GetMany(ctx, wanted, Ask[int]{Load: func(ctx context.Context, reads []*Read[int]) error {
			l := &load{fresh: reads[0].Fresh, unshared: isFresh || waited.Load(), reply: make(chan error, 1)}
			for _, r := range reads {
				l.ids = append(l.ids, r.ID)
			}
			s.started <- l
			select {
			case err := <-l.reply:
				for i, r := range reads {
					r.Value = l.values[i]
				}
				return err
			case <-ctx.Done():
				l.canceled.Store(true)
				return ctx.Err()
			}
		}})
		c.done <- err
	}()
	s.settle()
	waited.Store(true)
}

// recordLoad records a read that the server has received.
func (s *model) recordLoad(l *load) {
	for _, id := range l.ids {
		minimum := s.known(id, 0)
		if l.fresh {
			minimum = s.written[id]
		}
		l.minimum, l.changes = append(l.minimum, minimum), append(l.changes, s.changes[id])
		for _, other := range s.loads {
			if at := slices.Index(other.ids, id); at >= 0 && !l.unshared && !other.unshared && other.changes[at] == s.changes[id] {
				s.Fatalf("ID %d is read twice at the same time", id)
			}
		}
	}
	s.loads = append(s.loads, l)
}

// settle waits until all goroutines are blocked, and checks the calls that have returned.
func (s *model) settle() {
	synctest.Wait()
	s.loads = slices.DeleteFunc(s.loads, func(l *load) bool { return l.canceled.Load() })
	for len(s.started) > 0 {
		s.recordLoad(<-s.started)
	}
	s.calls = slices.DeleteFunc(s.calls, func(c *call) bool {
		select {
		case err := <-c.done:
			for i, id := range c.ids {
				if err == nil && (c.values[i] < c.minimum[i] || c.values[i] > s.written[id]) {
					s.Fatalf("ID %d has the number %d, want %d to %d", id, c.values[i], c.minimum[i], s.written[id])
				}
			}
			return true
		default:
			return false
		}
	})
}

// answer replies to a read with random numbers that the server or the client-side cache may hold.
func (s *model) answer(i int, err error) {
	l := s.loads[i]
	s.loads = slices.Delete(s.loads, i, i+1)
	for i, id := range l.ids {
		l.values = append(l.values, rapid.IntRange(l.minimum[i], s.written[id]).Draw(s.T, "number"))
	}
	l.reply <- err
	s.settle()
}

// changed records a report of a change. Later callers must not join reads that have started before.
func (s *model) changed(id int64, own bool) {
	s.changes[id]++
	s.reported[id] = append(s.reported[id], report{time.Now(), s.written[id], own})
}

// step performs a random step.
func (s *model) step() {
	switch rapid.IntRange(0, 11).Draw(s.T, "step") {
	case 0, 1, 2:
		s.get(rapid.IntRange(0, 4).Draw(s.T, "fresh") == 0, s.ids()...)
	case 3, 4:
		if len(s.loads) > 0 {
			err := map[bool]error{true: io.EOF}[rapid.IntRange(0, 5).Draw(s.T, "fails") == 0]
			s.answer(rapid.IntRange(0, len(s.loads)-1).Draw(s.T, "load"), err)
		}
	case 5:
		s.written[s.id()]++
	case 6:
		id := s.id()
		s.changed(id, false)
		s.m.opt.Link.Changed("key:", id)
	case 7:
		id := s.id()
		s.written[id]++
		if _, ok := s.m.slots.GetEntryQuietly(id); !ok {
			return // no value is cached, so no reader has to be notified
		}
		s.changed(id, true)
		s.m.Force(id)
	case 8:
		for id := range int64(ids) {
			s.changed(id, false)
		}
		s.m.opt.Link.Lost()
	case 9:
		for id := range s.changes {
			s.changes[id]++
		}
		s.m.slots.InvalidateAll()
	case 10:
		time.Sleep(time.Duration(rapid.IntRange(1, 1000).Draw(s.T, "ms")) * time.Millisecond)
	case 11:
		if len(s.calls) > 0 {
			s.calls[rapid.IntRange(0, len(s.calls)-1).Draw(s.T, "call")].cancel()
			s.settle()
		}
	}
}

// end answers all reads, and checks that the latest values are then cached.
func (s *model) end() {
	for len(s.loads) > 0 {
		s.answer(0, nil)
	}
	if len(s.calls) > 0 {
		s.Fatalf("%d callers have not returned", len(s.calls))
	}
	for id := range int64(ids) {
		s.changed(id, false)
		s.m.opt.Link.Changed("key:", id)
	}
	for id := range int64(ids) {
		for range 3 { // the result of a read that bypasses all caches is not kept
			time.Sleep(s.lag + readingFor)
			s.get(false, id)
			for len(s.loads) > 0 {
				s.answer(0, nil)
			}
		}
		if value, ok := s.m.Peek(id); !ok || value != s.written[id] {
			s.Fatalf("cached value of ID %d is %d (%v), want %d", id, value, ok, s.written[id])
		}
	}
}

// In any interleaving of reads, reports and replies, no caller gets a value older than a change
// that was reported before the call or older than a write of this process. Callers that miss the
// same value wait for a single read.
func TestMap(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, Lag} {
		rapid.Check(t, func(t *rapid.T) {
			rapid.SyncTest(t, func(t *rapid.T) {
				s := newModel(t, Options[int]{Lag: lag})
				defer func() {
					for _, c := range s.calls {
						c.cancel()
					}
				}()
				for range rapid.IntRange(1, 60).Draw(t, "steps") {
					s.step()
				}
				s.end()
			})
		})
	}
}

// Getting a cached value does not allocate.
func TestMapHit(t *testing.T) {
	link := NewLink(true, func(context.Context) error { return nil })
	m, err := NewMap(Options[*int]{Link: link, Most: 10, IsFresh: isFresh, WithFresh: fresh})
	if err != nil {
		t.Fatal(err)
	}
	want := 7
	get := func() {
		value, err := m.Get(context.Background(), 1, Ask[*int]{
			Valid: func(_ int64, value *int) bool { return *value == want },
			Load:  Each(func(context.Context, *Read[*int]) (*int, error) { return &want, nil }),
		})
		if err != nil || value != &want {
			t.Errorf("Get = %v, %v; want %v", value, err, &want)
		}
	}
	if got := testing.AllocsPerRun(100, get); got > 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// After Force, the next read bypasses all caches unless the map is fenced. The result of a read
// that bypasses the caches is not kept, because the server does not report changes of the value.
func TestMapForce(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{false, true} {
		link := NewLink(true, func(context.Context) error { return nil })
		m, err := NewMap(Options[int]{Link: link, Most: 10, IsFresh: isFresh, WithFresh: fresh, Fenced: fenced})
		if err != nil {
			t.Fatal(err)
		}
		get := func() (isFresh bool) {
			_, err := m.Get(t.Context(), 1, Ask[int]{Load: Each(func(_ context.Context, r *Read[int]) (int, error) {
				isFresh = r.Fresh
				return 1, nil
			})})
			if err != nil {
				t.Error(err)
			}
			return isFresh
		}
		if get() {
			t.Error("the first read bypasses all caches")
		}
		m.Force(1)
		if _, ok := m.Peek(1); ok || get() == fenced {
			t.Errorf("fenced %v: old value cached = %v, want false; or the next read was fresh = %v", fenced, ok, fenced)
		}
		if _, ok := m.Peek(1); ok != fenced {
			t.Errorf("fenced %v: value cached after the read = %v, want %v", fenced, ok, fenced)
		}
	}
}

// A waiting caller reads the value itself if the leader fails or reads a value that is invalid for
// the caller.
func TestMapUnshared(t *testing.T) {
	t.Parallel()
	for name, leaderErr := range map[string]error{"error": io.EOF, "invalid value": nil} {
		synctest.Test(t, func(t *testing.T) {
			link := NewLink(true, func(context.Context) error { return nil })
			m, err := NewMap(Options[string]{Link: link, Most: 10, IsFresh: isFresh})
			if err != nil {
				t.Fatal(err)
			}
			reply := make(chan error)
			var reads atomic.Int64
			get := func(caller string) (string, error) {
				return m.Get(t.Context(), 1, Ask[string]{
					Valid: func(_ int64, value string) bool { return value == caller },
					Load: Each(func(context.Context, *Read[string]) (string, error) {
						reads.Add(1)
						if caller == "leader" {
							return caller, <-reply
						}
						return caller, nil
					}),
				})
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := get("leader"); !errors.Is(err, leaderErr) {
					t.Errorf("%s: the leader got %v, want %v", name, err, leaderErr)
				}
			})
			synctest.Wait()
			wg.Go(func() {
				if value, err := get("other"); value != "other" || err != nil {
					t.Errorf("%s: the waiting caller got %q, %v", name, value, err)
				}
			})
			synctest.Wait()
			if reads.Load() != 1 {
				t.Errorf("%s: %d reads, want only the read of the leader", name, reads.Load())
			}
			reply <- leaderErr
			wg.Wait()
		})
	}
}

// Concurrent callers get no value older than a reported value. The race detector checks the
// accesses.
func TestMapConcurrent(t *testing.T) {
	t.Parallel()
	link := NewLink(true, func(context.Context) error { return nil })
	m, err := NewMap(Options[int64]{
		Link: link, Keys: []string{"key:"}, Bytes: 3 * slotBytes, Size: func(n int64) int { return int(n % slotBytes) },
		IsFresh: isFresh, WithFresh: fresh,
	})
	if err != nil {
		t.Fatal(err)
	}
	var written, reported [ids]atomic.Int64
	load := func(_ context.Context, reads []*Read[int64]) error {
		for _, r := range reads {
			r.Value = written[r.ID].Load()
		}
		return nil
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for id := range int64(ids) {
		writers.Go(func() {
			for n := range int64(2000) {
				written[id].Store(n)
				if n%3 == 0 {
					m.Force(id)
				}
				link.Changed("key:", id)
				reported[id].Store(n)
			}
		})
	}
	for n := range int64(4) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				wanted := []int64{n % ids, (n + 1) % ids}
				minimum := []int64{reported[wanted[0]].Load(), reported[wanted[1]].Load()}
				got, err := m.GetMany(t.Context(), wanted, Ask[int64]{Load: load})
				if err != nil || slices.CompareFunc(got, minimum, cmp.Compare) < 0 || got[1] < minimum[1] {
					t.Errorf("got %v, %v, want %v or more", got, err, minimum)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// The weight of a slot includes the size of the value. An evicted slot, which has missed changes,
// is not restored.
func TestMapSize(t *testing.T) {
	t.Parallel()
	m, err := NewMap(Options[string]{Link: NewLink(true, nil), Bytes: 1 << 20, Size: func(text string) int { return len(text) }})
	if err != nil {
		t.Fatal(err)
	}
	evicted, current := new(slot[string]), new(slot[string])
	m.weigh(1, evicted)
	if _, ok := m.slots.GetIfPresent(1); ok {
		t.Error("an evicted slot was restored")
	}
	m.slots.Set(1, current)
	m.weigh(1, evicted)
	if s, _ := m.slots.GetIfPresent(1); s != current {
		t.Error("an evicted slot replaced a later slot")
	}
	m.put(&Read[string]{ID: 1, Value: fmt.Sprintf("%5000d", 1), slot: current, flight: new(flight[string])})
	if entry, ok := m.slots.GetEntryQuietly(1); !ok || entry.Value != current || entry.Weight != 5000+slotBytes {
		t.Errorf("weight of the value: %d, want %d", entry.Weight, 5000+slotBytes)
	}
}
