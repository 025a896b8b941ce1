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
	slots  map[int]int // slots of the keys, and the master of each
	late   int         // master that a scan reads last
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
		s.late = 1
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

// scan returns how many keys a scan returned. It calls page for each page.
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

// A key whose slot moves to a master that was already read is returned.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	s := newSpread(t)
	var once sync.Once
	seen := s.scan(t, func() { once.Do(func() { s.moveAll(t, s.late) }) })
	if seen != spreadKeys {
		t.Errorf("%d of %d keys, after all slots of a master moved", seen, spreadKeys)
	}
	for round := range 6 { // at various moments
		var moving sync.WaitGroup
		moving.Go(func() { s.moveAll(t, (1-s.late+round)%2) })
		for range 5 {
			if seen := s.scan(t, func() {}); seen != spreadKeys {
				t.Errorf("round %d: %d of %d keys", round, seen, spreadKeys)
			}
		}
		moving.Wait()
	}
}

// A slot that stays in migration, because an operator has given up, neither fails a scan nor
// makes it endless.
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
		t.Errorf("%d of %d keys", seen, spreadKeys)
	}
}
