package keys_test

import (
	"fmt"
	"slices"
	"testing"

	"retwis/internal/redis/keys"
)

func TestTagAndSlot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key, tag string
		slot     int
	}{
		{"123456789", "", 0x31C3}, // the check value of the specification
		{"foo", "", 12182},
		{"{foo}bar", "foo", 12182},
		{"a{foo}b{bar}", "foo", 12182},
		{"foo{}{bar}", "", 8363},
		{"foo{{bar}}zap", "{bar", 4015},
		{"{foo", "", 13308},
		{"", "", 0},
	} {
		if got := keys.Tag(test.key); got != test.tag {
			t.Errorf("Tag(%q) = %q, want %q", test.key, got, test.tag)
		}
		if got := keys.Slot([]byte(test.key)); got != test.slot {
			t.Errorf("Slot(%q) = %d, want %d", test.key, got, test.slot)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		n    int
		want string
	}{
		{"ages", 1, "[ages]"},
		{"ages", 2, "[{ages.0} {ages.1}]"},
		{"app:{ages}:by", 2, "[app:{ages.0}:by app:{ages.1}:by]"},
	} {
		if got := fmt.Sprint(keys.Spread(test.name, test.n)); got != test.want {
			t.Errorf("Spread(%q, %d) = %s, want %s", test.name, test.n, got, test.want)
		}
	}
	for name, want := range map[string]bool{"ages": true, "{ages}": true, "a{b": false, "{}a": false, "a}b": false} {
		if keys.Spreadable(name) != want {
			t.Errorf("Spreadable(%q) = %v, want %v", name, !want, want)
		}
	}
}

// Partition distributes IDs about evenly and always maps an ID to the same partition.
func TestPartition(t *testing.T) {
	t.Parallel()
	counts := make([]int, 8)
	for i := range 8000 {
		counts[keys.Partition(fmt.Sprint(i), 8)]++
	}
	if slices.Min(counts) < 700 || slices.Max(counts) > 1300 {
		t.Errorf("partitions have %v IDs, want 700 to 1300 each", counts)
	}
	// The location of stored data must not change between versions.
	if got := [3]int{keys.Partition("90", 8), keys.Partition("Manuel", 8), keys.Partition("", 8)}; got != [3]int{4, 7, 5} {
		t.Errorf("partitions = %v, want [4 7 5]", got)
	}
}
