package model_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// If all matches are at the end of the order, which counts cannot show, the ordered index is
// not scanned to its end.
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
			t.Fatal(x, err)
		}
		require.OK(t)(client.Do(t.Context(), client.B().ConfigResetstat().Build()).Error())
		page, err := q.Limit(20).Page(t.Context())
		if err != nil || len(page.Items) != 20 || page.Items[0].Class != n-few {
			t.Fatal(page, err)
		}
		stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
		require.OK(t)(err)
		if calls := callsOf(t, stats, "evalsha"); calls > 5*partitions+2 {
			t.Errorf("%d scripts in %d partitions", calls, partitions)
		}
		compare(t, q, want, func(i int) int { return i })
		compare(t, q.Reverse(), want, func(i int) int { return -i })
	}
}

// callsOf returns the number of calls of a command.
func callsOf(t *testing.T, stats, command string) int {
	t.Helper()
	var calls int
	_, rest, ok := strings.Cut(stats, "cmdstat_"+command+":calls=")
	if _, err := fmt.Sscanf(rest, "%d", &calls); !ok || err != nil {
		t.Fatal(stats, err)
	}
	return calls
}
