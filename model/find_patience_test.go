package model_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// If all matches are at the end of the order, a query does not scan the ordered index to its end,
// although the counts of the indexes do not show where the matches are.
func TestFindAtTheEndOfTheOrder(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		n, few := redistest.Cases(3600, 40_000), 600
		client := redistest.Own(t).Client(t)
		s := pupils(t, client, model.Options{Name: "pupil", Partitions: partitions}, n, func(i int) pupil {
			p := pupil{Name: "few", Class: i}
			if i < n-few {
				p.Name = "many"
			}
			return p
		})
		var want []int
		for i := n - few; i < n; i++ {
			want = append(want, i)
		}
		q := s.Find(model.Eq("name", "few")).OrderBy("class")
		if x, err := q.Limit(37).Explain(t.Context()); err != nil || x.Sorted {
			t.Fatalf("plan %v, %v; want a scan in order", x, err)
		}
		require.OK(t)(client.Do(t.Context(), client.B().ConfigResetstat().Build()).Error())
		page, err := q.Limit(20).Page(t.Context())
		if err != nil || len(page.Items) != 20 || page.Items[0].Class != n-few {
			t.Fatalf("page %v, %v; want 20 records from class %d", page, err, n-few)
		}
		stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
		require.OK(t)(err)
		if calls := callsOf(t, stats, "evalsha"); calls > 5*partitions+2 {
			t.Errorf("%d scripts in %d partitions, want at most %d", calls, partitions, 5*partitions+2)
		}
		checkResults(t, q, want, func(i int) int { return i })
		checkResults(t, q.Reverse(), want, func(i int) int { return -i })
	}
}

// callsOf returns the number of calls of a command in the output of INFO commandstats.
func callsOf(t *testing.T, stats, command string) int {
	t.Helper()
	var calls int
	_, count, ok := strings.Cut(stats, "cmdstat_"+command+":calls=")
	if _, err := fmt.Sscanf(count, "%d", &calls); !ok || err != nil {
		t.Fatalf("no calls of %s in %s: %v", command, stats, err)
	}
	return calls
}
