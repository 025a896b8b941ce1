package scan_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/redistest"
)

// spread is a Cluster of two masters with keys in many slots.
type spread struct {
	*redistest.ClusterServers
	client rueidis.Client
	slots  map[int]int // index of the master, by slot of a key
	last   int         // index of the master that a scan reads last
}

const spreadKeys = 60

func newSpread(t *testing.T) *spread {
	s := &spread{ClusterServers: redistest.Cluster(t, 2), slots: map[int]int{}}
	s.client = s.Client(t)
	for i := range spreadKeys {
		key := fmt.Sprint("k", i)
		do(t, s.client, s.client.B().Set().Key(key).Value("x").Build())
		slot, err := s.client.Do(t.Context(), s.client.B().ClusterKeyslot().Key(key).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		s.slots[int(slot)] = 0
	}
	for master, server := range s.Masters {
		c := server.Client(t)
		for slot := range s.slots {
			if n, err := c.Do(t.Context(), c.B().ClusterCountkeysinslot().Slot(int64(slot)).Build()).AsInt64(); err == nil && n > 0 {
				s.slots[slot] = master
			}
		}
	}
	if s.Masters[1].Port() > s.Masters[0].Port() {
		s.last = 1
	}
	return s
}

// moveAll moves the slots of a master's keys to the other master.
func (s *spread) moveAll(t *testing.T, from int) {
	for slot, master := range s.slots {
		if master != from {
			continue
		}
		if err := s.MoveSlot(t.Context(), slot, from, 1-from); err != nil {
			t.Error(err)
			return
		}
		s.slots[slot] = 1 - from
	}
}

// scan returns the number of distinct keys that a scan found, and calls page after each page.
func (s *spread) scan(t *testing.T, page func()) int {
	t.Helper()
	seen := map[string]bool{}
	for found, err := range scan.Keys(t.Context(), s.client, scan.Pattern{Match: "k*", Count: 10_000}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range found.Keys {
			seen[key] = true
		}
		page()
	}
	return len(seen)
}

// A scan returns a key whose slot moves to a master that was already read.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	s := newSpread(t)
	var once sync.Once
	seen := s.scan(t, func() { once.Do(func() { s.moveAll(t, s.last) }) })
	if seen != spreadKeys {
		t.Errorf("found %d of %d keys after all slots of a master moved", seen, spreadKeys)
	}
	for round := range 6 { // move slots at any time during a scan
		var moving sync.WaitGroup
		moving.Go(func() { s.moveAll(t, (1-s.last+round)%2) })
		for range 5 {
			if seen := s.scan(t, func() {}); seen != spreadKeys {
				t.Errorf("round %d: found %d of %d keys", round, seen, spreadKeys)
			}
		}
		moving.Wait()
	}
}

// A slot whose migration is never completed neither fails a scan nor makes the scan endless.
func TestSlotStaysOpen(t *testing.T) {
	t.Parallel()
	s := newSpread(t)
	for slot, master := range s.slots {
		from, to := s.Masters[master].Client(t), s.Masters[1-master].Client(t)
		ids := make([]string, 2)
		for i, c := range []rueidis.Client{from, to} {
			id, err := c.Do(t.Context(), c.B().ClusterMyid().Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = id
		}
		do(t, to, to.B().Arbitrary("CLUSTER", "SETSLOT", fmt.Sprint(slot), "IMPORTING", ids[0]).Build())
		do(t, from, from.B().Arbitrary("CLUSTER", "SETSLOT", fmt.Sprint(slot), "MIGRATING", ids[1]).Build())
		break
	}
	if seen := s.scan(t, func() {}); seen != spreadKeys {
		t.Errorf("found %d of %d keys", seen, spreadKeys)
	}
}
