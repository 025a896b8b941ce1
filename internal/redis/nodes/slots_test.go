package nodes_test

import (
	"errors"
	"slices"
	"testing"

	"retwis/internal/redis/nodes"
	"retwis/internal/redistest"
)

// A slot that has moved changes the answer, and one that is on its way is an error.
func TestSlots(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	client := cluster.Client(t)
	slots := func() ([]string, error) {
		t.Helper()
		masters, err := nodes.Masters(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return nodes.Slots(t.Context(), masters)
	}
	before, err := slots()
	if err != nil || len(before) != 2 {
		t.Fatalf("%q, %v", before, err)
	}
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
	if got, err := slots(); !errors.Is(err, nodes.ErrSlotsMove) {
		t.Errorf("on its way: %q, %v", got, err)
	}
	set("STABLE")
	if got, err := slots(); err != nil || !slices.Equal(got, before) {
		t.Errorf("back: %q, %v; before %q", got, err, before)
	}
	if err := cluster.MoveSlot(t.Context(), 5, 0, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := slots(); err != nil || len(got) != 2 || slices.Equal(got, before) {
		t.Errorf("moved: %q, %v; before %q", got, err, before)
	}
}

func TestSlotsOfOneServer(t *testing.T) {
	t.Parallel()
	masters, err := nodes.Masters(t.Context(), redistest.DB(t).Client(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nodes.Slots(t.Context(), masters); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}
