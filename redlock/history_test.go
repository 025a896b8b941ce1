package redlock_test

import (
	"fmt"
	"slices"
	"testing"
)

// holding is one lock in a history: its holder, its start, and its latest end.
type holding struct {
	holder, name string
	token        uint64
	begin, end   int64 // nanoseconds; the lock was held for at least this interval
	until        int64 // when it expires unless extended
	open         bool  // not released yet
}

// violations returns the violations in a history: two holders of a name at the same time, and
// tokens that do not grow.
func violations(history []holding) []string {
	byName := map[string][]holding{}
	for _, h := range history {
		byName[h.name] = append(byName[h.name], h)
	}
	var found []string
	for _, holdings := range byName {
		slices.SortFunc(holdings, func(a, b holding) int { return int(a.begin - b.begin) })
		longest := holdings[0] // the earlier holding that ended last
		for i := 1; i < len(holdings); i++ {
			before, after := holdings[i-1], holdings[i]
			if before.end > longest.end {
				longest = before
			}
			if after.begin < longest.end {
				found = append(found, fmt.Sprintf("%s: %s got the lock %d ns before %s released the lock", after.name, after.holder, longest.end-after.begin, longest.holder))
			}
			if before.token != 0 && after.token <= before.token {
				found = append(found, fmt.Sprintf("%s: token %d after %d", after.name, after.token, before.token))
			}
		}
	}
	return found
}

func TestViolations(t *testing.T) {
	t.Parallel()
	held := func(holder, name string, token uint64, begin, end int64) holding {
		return holding{holder: holder, name: name, token: token, begin: begin, end: end}
	}
	valid := []holding{
		held("a", "x", 1, 10, 20), held("b", "x", 2, 20, 30), held("a", "y", 1, 15, 40), held("b", "x", 7, 50, 60),
	}
	if found := violations(valid); len(found) != 0 {
		t.Errorf("violations of a valid history: %q", found)
	}
	for what, more := range map[string][]holding{
		"two holders":          {held("c", "x", 3, 29, 35)},
		"one within another":   {held("c", "y", 3, 20, 21)},
		"two after a long one": {held("c", "z", 1, 10, 90), held("d", "z", 2, 90, 91), held("e", "z", 3, 50, 50)},
		"an old token":         {held("c", "x", 7, 70, 80)},
	} {
		if found := violations(append(slices.Clone(valid), more...)); len(found) == 0 {
			t.Errorf("%s: no violation was found", what)
		}
	}
}
