package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// Queries scan more entries than fit into one step.
func TestFindAmongMany(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 7} {
		t.Run(strconv.Itoa(partitions), func(t *testing.T) {
			t.Parallel()
			const n = 2200
			nick := func(i int) *string { return ptr("n" + strconv.Itoa(i)) }
			s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil", Partitions: partitions}, n, func(i int) pupil {
				return pupil{
					Name: "name" + strconv.Itoa(i%3), Class: i / 10, Grade: float32(i * 7919 % n), Small: uint8(i % 50), Nick: nick(i),
					Marks: []int{i % 7, i % 11, 1000 + i}, Floor: i % 20, Door: i % 30,
				}
			})
			var nicks []string
			for i := range 900 {
				nicks = append(nicks, *nick(i * 3))
			}
			for name, test := range map[string]struct {
				query *model.Query[pupil]
				fits  func(i int) bool
				by    func(i int) int
			}{
				"one of all":       {s.Find(model.Eq("name", "name1"), model.Eq("grade", 7919*1000%n)), func(i int) bool { return i == 1000 }, nil},
				"few of many":      {s.Find(model.Eq("name", "name1"), model.Not(model.AtLeast("grade", 4))), func(i int) bool { return i%3 == 1 && i*7919%n < 4 }, nil},
				"a scan":           {s.Find(model.Not(model.Eq("name", "name2"))), func(i int) bool { return i%3 != 2 }, nil},
				"many values":      {s.Find(model.In("class", manyInts(1000)...)), func(i int) bool { return true }, nil},
				"many unique ones": {s.Find(model.In("nick", nicks...), model.Eq("name", "name0")), func(i int) bool { return i < 2700 && i%3 == 0 }, nil},
				"a list, once":     {s.Find(model.AtLeast("marks", 0)), func(i int) bool { return true }, nil},
				"some of a list": {s.Find(model.In("marks", 3, 5, 6), model.Eq("small", 5)), func(i int) bool {
					return i%50 == 5 && slices.ContainsFunc([]int{i % 7, i % 11}, func(m int) bool { return m == 3 || m == 5 || m == 6 })
				}, nil},
				"branches":         {s.Find(model.Or(model.Eq("small", 1), model.Eq("name", "name1"), model.Eq("small", 2))), func(i int) bool { return i%50 == 1 || i%50 == 2 || i%3 == 1 }, nil},
				"sorted":           {s.Find(model.Eq("small", 7)).OrderBy("grade"), func(i int) bool { return i%50 == 7 }, func(i int) int { return i * 7919 % n }},
				"sorted, reversed": {s.Find(model.Eq("small", 7)).OrderBy("grade").Reverse(), func(i int) bool { return i%50 == 7 }, func(i int) int { return -(i * 7919 % n) }},
				"walked":           {s.Find(model.Eq("name", "name1")).OrderBy("grade"), func(i int) bool { return i%3 == 1 }, func(i int) int { return i * 7919 % n }},
				"walked, reversed": {s.Find(model.Eq("name", "name1"), model.Below("grade", 1500)).OrderBy("grade").Reverse(), func(i int) bool { return i%3 == 1 && i*7919%n < 1500 }, func(i int) int { return -(i * 7919 % n) }},
				"by a composite":   {s.Find(model.Eq("floor", 3), model.In("small", 3, 13, 23)).OrderBy("door desc"), func(i int) bool { return i%20 == 3 && slices.Contains([]int{3, 13, 23}, i%50) }, func(i int) int { return -(i % 30) }},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					var want []int
					for i := range n {
						if test.fits(i) {
							want = append(want, i)
						}
					}
					checkResults(t, test.query, want, test.by)
				})
			}
		})
	}
}

// checkResults checks the results of IDs, of Count and of all pages. by returns the sort key of a
// record; nil: no order.
func checkResults(t *testing.T, q *model.Query[pupil], want []int, by func(i int) int) {
	t.Helper()
	check := func(what string, ids []string) {
		t.Helper()
		var got []int
		for _, id := range ids {
			i, _ := strconv.Atoi(id)
			if got = append(got, i); by != nil && len(got) > 1 && by(got[len(got)-2]) > by(i) {
				t.Errorf("%s: record %d comes before record %d", what, got[len(got)-2], i)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %d found, want %d", what, len(got), len(want))
		}
	}
	ids, err := q.IDs(t.Context())
	require.OK(t)(err)
	check("IDs", ids)
	if n, err := q.Count(t.Context()); err != nil || int(n) != len(want) {
		t.Errorf("counted %d, %v, want %d", n, err, len(want))
	}
	check("pages", pupilIDs(readPages(t, q.Limit(97))))
	if x, err := q.Limit(5).Explain(t.Context()); err != nil || x.String() == "" {
		t.Error(x, err)
	}
}

// During writes, the pages of a query contain every unchanged record that matches exactly once,
// and no record that does not match.
func TestPagesDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "pupil", func(t *testing.T, client rueidis.Client, opt model.Options) {
		const n = 300
		s := pupils(t, client, opt, n, func(i int) pupil {
			return pupil{Name: "n", Class: i % 40, Grade: float32(i), Marks: []int{i % 5, i % 7}}
		})
		var stop atomic.Bool
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop.Store(true)
		for g := range 2 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				for !stop.Load() { // records with odd ids are changed, deleted and created
					id := strconv.Itoa(random.IntN(n/2)*2 + 1)
					_, err := s.Update(t.Context(), id, func(p *pupil) error { p.Class, p.Grade = random.IntN(40), float32(random.IntN(n)); return nil })
					if random.IntN(3) == 0 && err == nil {
						err = s.Delete(t.Context(), id)
					}
					if errors.Is(err, model.ErrNotFound) {
						_, err = s.Create(t.Context(), pupil{ID: id, Name: "n", Class: 1})
					}
					if err != nil && !errors.Is(err, model.ErrTaken) && !errors.Is(err, model.ErrNotFound) && !stop.Load() {
						t.Error(err)
						return
					}
				}
			})
		}
		for name, test := range map[string]struct {
			query *model.Query[pupil]
			fits  func(p *pupil) bool
		}{
			"walked":   {s.Find(model.AtLeast("class", 5)).OrderBy("grade"), func(p *pupil) bool { return p.Class >= 5 }},
			"sorted":   {s.Find(model.Eq("class", 6)).OrderBy("grade").Reverse(), func(p *pupil) bool { return p.Class == 6 }},
			"in turn":  {s.Find(model.Eq("name", "n"), model.Between("class", 3, 30)), func(p *pupil) bool { return p.Class >= 3 && p.Class <= 30 }},
			"branches": {s.Find(model.Or(model.Eq("class", 8), model.Above("grade", 200))), func(p *pupil) bool { return p.Class == 8 || p.Grade > 200 }},
			"a list":   {s.Find(model.Between("marks", 1, 4)), func(p *pupil) bool { return slices.ContainsFunc(p.Marks, func(m int) bool { return m >= 1 && m <= 4 }) }},
			"all":      {s.Find(), func(p *pupil) bool { return true }},
		} {
			seen := map[string]int{}
			for _, p := range readPages(t, test.query.Limit(7)) {
				if seen[p.ID]++; !test.fits(&p) {
					t.Errorf("%s: %+v does not match", name, p)
				}
			}
			for i := 0; i < n; i += 2 {
				p := pupil{Class: i % 40, Grade: float32(i), Marks: []int{i % 5, i % 7}}
				want := 0
				if test.fits(&p) {
					want = 1
				}
				if got := seen[strconv.Itoa(i)]; got != want {
					t.Errorf("%s: record %d was returned %d times, want %d", name, i, got, want)
				}
			}
		}
	})
}

// Records with large contents are checked a few at a time.
func TestFindLargeContents(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	const n, elements = 8, 1000
	long := strings.Repeat("x", 600)
	s := pupils(t, client, model.Options{Name: "pupil"}, n, func(i int) pupil {
		p := pupil{Class: i, Raw: []byte(long)}
		for m := range elements {
			p.Pals = append(p.Pals, model.To[pupil](fmt.Sprintf("%s%d", long[:60], m)))
		}
		for m := range 50 {
			p.Marks = append(p.Marks, m*n+i)
		}
		return p
	})
	for i, q := range []*model.Query[pupil]{
		s.Find(model.AtLeast("marks", 100)), s.Find(model.AtMost("marks", 500)).OrderBy("class"), s.Find(model.Prefix("raw", long[:599]), model.AtLeast("class", 0)),
		s.Find(model.Not(model.In("marks", -1, -2, -3))), s.Find(model.Eq("pals", long[:60]+"7"), model.Eq("pals", long[:60]+"8")),
	} {
		ids, err := q.IDs(t.Context())
		if err != nil || len(ids) != n {
			t.Fatalf("query %d: %d ids, %v; want %d", i, len(ids), err, n)
		}
		if count, err := q.Count(t.Context()); err != nil || count != n {
			t.Fatalf("query %d: counted %d, %v; want %d", i, count, err, n)
		}
	}
}
