package nodes_test

import (
	"testing"

	"retwis/internal/redis/nodes"
	"retwis/internal/redistest"
)

// OwnSlots shows that a slot has moved, and Moving reports a slot that is being moved.
func TestSlots(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	client := cluster.Client(t)
	masters, err := nodes.Masters(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	slots := func() nodes.Slots {
		t.Helper()
		all, err := nodes.OwnSlots(t.Context(), masters)
		if err != nil || len(all) != 2 {
			t.Fatalf("OwnSlots = %q, %v; want 2 masters", all, err)
		}
		return all
	}
	before := slots()
	set := func(words ...string) {
		t.Helper()
		c := cluster.Masters[0].Client(t)
		if err := c.Do(t.Context(), c.B().Arbitrary("CLUSTER", "SETSLOT", "5").Args(words...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	other := cluster.Masters[1].Client(t)
	id, err := other.Do(t.Context(), other.B().ClusterMyid().Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	set("MIGRATING", id)
	if got := slots(); !got.Moving() || got.Same(before) || got.IsSame(masters[0], before) && got.IsSame(masters[1], before) || got.Importing(masters[0]) || got.Importing(masters[1]) {
		t.Errorf("migrating slot: %q, before %q", got, before)
	}
	set("STABLE")
	if got := slots(); got.Moving() || !got.Same(before) || !got.IsSame(masters[0], before) || !got.IsSame(masters[1], before) {
		t.Errorf("stable slot: %q, before %q", got, before)
	}
	if err := cluster.MoveSlot(t.Context(), 5, 0, 1); err != nil {
		t.Fatal(err)
	}
	if got := slots(); got.Moving() || got.Same(before) || got.IsSame(masters[0], before) || got.IsSame(masters[1], before) {
		t.Errorf("moved slot: %q, before %q", got, before)
	}
}

func TestSlotsOfOneServer(t *testing.T) {
	t.Parallel()
	masters, err := nodes.Masters(t.Context(), redistest.DB(t).Client(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nodes.OwnSlots(t.Context(), masters); err != nil || got.Moving() || !got.IsSame(masters[0], got) {
		t.Errorf("OwnSlots = %q, %v; want slots that do not move", got, err)
	}
}
