package storage_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social/storage"
)

// entry is a member of a set of follows.
type entry struct {
	since int
	id    string
}

func (e entry) cursor() storage.Cursor { return storage.Cursor{Since: strconv.Itoa(e.since), ID: e.id} }

// The pages of a part of a set have the same entries as a loop over the whole set, with any page
// size, even if many follows have the same time and the entries at the ends of the part were
// removed.
func TestIDs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redistest.Own(t).Client(t)
	store := storage.NewFollows(client)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		set := fmt.Sprint("followers:", round)
		all := make([]entry, random.IntN(40))
		for i := range all {
			all[i] = entry{100 + random.IntN(6), strconv.Itoa(1 + i*7)}
			if err := client.Do(ctx, client.B().Zadd().Key(set).ScoreMember().ScoreMember(float64(all[i].since), all[i].id).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		newestFirst := func(a, b entry) int { return cmp.Or(cmp.Compare(b.since, a.since), cmp.Compare(b.id, a.id)) }
		slices.SortFunc(all, newestFirst)
		part := storage.Part{After: storage.FirstPage, Last: storage.FirstPage}
		after, last := entry{1 << 30, "a"}, entry{}
		if len(all) > 1 && round%3 > 0 {
			i := random.IntN(len(all))
			after, last = all[i], all[i+random.IntN(len(all)-i)]
			part.After, part.Last = after.cursor(), last.cursor()
			if round%3 > 1 {
				for _, removed := range []entry{after, last} {
					if err := client.Do(ctx, client.B().Zrem().Key(set).Member(removed.id).Build()).Error(); err != nil {
						t.Fatal(err)
					}
					all = slices.DeleteFunc(all, func(e entry) bool { return e == removed })
				}
			}
		}
		if random.IntN(2) == 0 {
			part.Until = float64(99 + random.IntN(8))
		}
		var want []string
		for _, e := range all {
			if newestFirst(e, after) > 0 && (last == entry{} || newestFirst(e, last) <= 0) && (part.Until == 0 || float64(e.since) <= part.Until) {
				want = append(want, e.id)
			}
		}
		var got []string
		n := 1 + random.IntN(10)
		for p := part; ; {
			ids, next, err := store.IDs(ctx, set, p, n)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids...)
			if len(ids) < n {
				break
			}
			p.After = next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("set %v, part %+v, pages of %d: %v, want %v", all, part, n, got, want)
		}
	}
}
