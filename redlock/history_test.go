package redlock_test

import (
	"fmt"
	"slices"
	"testing"
)

// holding is one lock in a history: who had it, from when, and until when at most.
type holding struct {
	who, name  string
	token      uint64
	begin, end int64 // nanoseconds; what was held is between them
}

// violations returns what a history must not show: two holders of a name at one
// time, and tokens that do not grow.
func violations(history []holding) []string {
	byName := map[string][]holding{}
	for _, h := range history {
		byName[h.name] = append(byName[h.name], h)
	}
	var wrong []string
	for _, holdings := range byName {
		slices.SortFunc(holdings, func(a, b holding) int { return int(a.begin - b.begin) })
		for i := 1; i < len(holdings); i++ {
			before, after := holdings[i-1], holdings[i]
			if after.begin < before.end {
				wrong = append(wrong, fmt.Sprintf("%s: %s got it %d ns before %s let go", after.name, after.who, before.end-after.begin, before.who))
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
	good := []holding{{"a", "x", 1, 10, 20}, {"b", "x", 2, 20, 30}, {"a", "y", 1, 15, 40}, {"b", "x", 7, 50, 60}}
	if wrong := violations(good); len(wrong) != 0 {
		t.Errorf("a good history: %q", wrong)
	}
	for what, more := range map[string]holding{
		"two holders":         {"c", "x", 3, 29, 35},
		"one within another":  {"c", "y", 3, 20, 21},
		"a token that is old": {"c", "x", 7, 70, 80},
	} {
		if wrong := violations(append(slices.Clone(good), more)); len(wrong) != 1 {
			t.Errorf("%s: %q", what, wrong)
		}
	}
}
