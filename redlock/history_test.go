package redlock_test

import (
	"fmt"
	"slices"
	"testing"
)

// holding is one lock in a history: its holder, its start, and its latest end.
type holding struct {
	who, name  string
	token      uint64
	begin, end int64 // nanoseconds; the lock was held for at least this interval
	until      int64 // when it expires unless extended
	open       bool  // not released yet
}

// violations returns the violations in a history: two holders of a name at the same time, and
// tokens that do not grow.
func violations(history []holding) []string {
	byName := map[string][]holding{}
	for _, h := range history {
		byName[h.name] = append(byName[h.name], h)
	}
	var wrong []string
	for _, holdings := range byName {
		slices.SortFunc(holdings, func(a, b holding) int { return int(a.begin - b.begin) })
		longest := holdings[0] // of the earlier holdings, the one that ended last
		for i := 1; i < len(holdings); i++ {
			before, after := holdings[i-1], holdings[i]
			if before.end > longest.end {
				longest = before
			}
			if after.begin < longest.end {
				wrong = append(wrong, fmt.Sprintf("%s: %s got it %d ns before %s released it", after.name, after.who, longest.end-after.begin, longest.who))
			}
			if before.token != 0 && after.token <= before.token {
				wrong = append(wrong, fmt.Sprintf("%s: token %d after %d", after.name, after.token, before.token))
			}
		}
	}
	return wrong
}

func TestViolations(t *testing.T) {
	t.Parallel()
	held := func(who, name string, token uint64, begin, end int64) holding {
		return holding{who: who, name: name, token: token, begin: begin, end: end}
	}
	good := []holding{
		held("a", "x", 1, 10, 20), held("b", "x", 2, 20, 30), held("a", "y", 1, 15, 40), held("b", "x", 7, 50, 60),
	}
	if wrong := violations(good); len(wrong) != 0 {
		t.Errorf("a good history: %q", wrong)
	}
	for what, more := range map[string][]holding{
		"two holders":          {held("c", "x", 3, 29, 35)},
		"one within another":   {held("c", "y", 3, 20, 21)},
		"two after a long one": {held("c", "z", 1, 10, 90), held("d", "z", 2, 90, 91), held("e", "z", 3, 50, 50)},
		"a token that is old":  {held("c", "x", 7, 70, 80)},
	} {
		if wrong := violations(append(slices.Clone(good), more...)); len(wrong) == 0 {
			t.Errorf("%s: nothing was noticed", what)
		}
	}
}
