package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// Every plan of a query among the members of a set returns the same pages.
func TestAmongPlans(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		members := store[traveller](t, client, opt)
		var records []traveller
		for i := range 1200 {
			records = append(records, traveller{Name: []string{"rare", "common", "common", "common"}[min(i%100, 3)]})
		}
		made, err := members.CreateMany(ctx, records)
		require.OK(t)(err)
		var all []string
		for _, m := range made {
			all = append(all, m.ID)
		}
		owner := mustCreate(t, members, traveller{}).ID
		for what, test := range map[string]struct {
			set    []string
			conds  []model.Cond
			within string // contained in Within of the first step of the plan
		}{
			"small set":            {[]string{all[700], all[3], "x", all[1199], all[0]}, nil, "in " + collectionKey(opt, "friends", owner)},
			"small set, condition": {[]string{all[700], all[3], "x", all[100], all[0]}, []model.Cond{model.Eq("name", "rare")}, "in "},
			"large set, rare":      {all, []model.Cond{model.Eq("name", "rare")}, `name = "rare"`},
			"large set, all":       {all, nil, "all records"},
		} {
			set := members.Set("friends", owner)
			require.OK(t)(set.Replace(ctx, test.set...))
			for _, reverse := range []bool{false, true} {
				q := members.Find(test.conds...).Among(set).Limit(7)
				want := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
					i := slices.Index(all, id)
					return !slices.Contains(test.set, id) || len(test.conds) > 0 && records[i].Name != "rare"
				})
				if reverse {
					q = q.Reverse()
					slices.Reverse(want)
				}
				var got []string
				for _, m := range readPages(t, q) {
					got = append(got, m.ID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, reverse %v: %d records, want %d", what, reverse, len(got), len(want))
				}
				if n, err := q.Count(ctx); int(n) != len(want) || err != nil {
					t.Errorf("%s: counted %d, %v; want %d", what, n, err, len(want))
				}
			}
			plan, err := members.Find(test.conds...).Among(set).Limit(7).Explain(ctx)
			if err != nil || !strings.Contains(plan.Steps[0].Within, test.within) {
				t.Errorf("%s: plan %v, %v; want a scan of %q", what, plan, err, test.within)
			}
			if plan.Steps[0].Within != test.within && !strings.HasPrefix(plan.Steps[0].Within, "in ") &&
				!strings.Contains(plan.Steps[0].Filter, "in "+collectionKey(opt, "friends", owner)) {
				t.Errorf("%s: plan %v does not filter by the set", what, plan)
			}
		}
	})
}

// While members are added and removed, the pages of a query contain every permanent member
// exactly once.
func TestAmongDuringWrites(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	people := store[contact](t, client, model.Options{Name: "person"})
	owners := store[traveller](t, client, model.Options{Name: "owner"})
	set := owners.Set("friends", mustCreate(t, owners, traveller{}).ID)
	var permanent, temporary []string
	for i := range 400 {
		id := mustCreate(t, people, contact{Name: fmt.Sprintf("%03d", i*7%400)}).ID
		if i%4 == 0 {
			permanent = append(permanent, id)
		} else {
			temporary = append(temporary, id)
		}
	}
	require.OK(t)(set.Put(ctx, permanent...))
	var done atomic.Bool
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; !done.Load(); i++ {
			id := temporary[i%len(temporary)]
			_, err := set.Put(ctx, id)
			if i%3 == 0 && err == nil {
				_, err = set.Remove(ctx, temporary[i/2%len(temporary)])
			}
			if i%5 == 0 && err == nil {
				err = errOf(people.Patch(ctx, id, map[string]any{"name": fmt.Sprintf("%03d", i%400)}))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, q := range []*model.Query[contact]{
		people.Find().Among(set).OrderBy("name").Limit(9), people.Find().Among(set).Limit(30),
		people.Find(model.Between("name", "000", "999")).Among(set).OrderBy("name").Reverse().Limit(11),
	} {
		for range 5 {
			count := map[string]int{}
			for _, p := range readPages(t, q) {
				count[p.ID]++
			}
			for _, id := range permanent {
				if count[id] != 1 {
					t.Fatalf("record %s was returned %d times, want once", id, count[id])
				}
			}
		}
	}
	done.Store(true)
	work.Wait()
}

func TestAmongRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[traveller](t, client, model.Options{Name: "m"})
	ctx := t.Context()
	a := mustCreate(t, members, traveller{Name: "a"})
	seen := members.List("seen", a.ID)
	for range 51 {
		require.OK(t)(seen.PushBack(ctx, make([]string, 1000)...))
	}
	redisDo(t, client, "SET", "m.of.friends:7", "text")
	ids := func(c model.Collection, after string) error {
		_, err := members.Find().Among(c).After(after).IDs(ctx)
		return err
	}
	set := members.Set("friends", a.ID)
	require.OK(t)(set.Put(ctx, a.ID, "2", "3"))
	mustCreate(t, members, traveller{})
	page, err := members.Find().Among(set).Limit(1).Page(ctx)
	if err != nil || page.Next == "" {
		t.Fatalf("page %+v, %v; want a page with a next page", page, err)
	}
	get := func(c model.Collection) error { _, err := members.Find().Among(c).Get(ctx, a.ID); return err }
	for what, test := range map[string]struct {
		err, want error
		text      string
	}{
		"unknown":        {ids(members.Set("foes", a.ID), ""), model.ErrValue, "no set is called"},
		"unknown list":   {ids(members.List("foes", a.ID), ""), model.ErrValue, "no list is called"},
		"long list":      {ids(seen, ""), model.ErrValue, "51000"},
		"other type":     {ids(members.Set("friends", "7"), ""), model.ErrCorrupt, "m.of.friends:7"},
		"other's cursor": {ids(members.Set("friends", "2"), page.Next), model.ErrCursor, ""},
		"no member":      {get(members.Set("friends", "99")), model.ErrNotFound, "does not match"},
		"get unknown":    {get(members.Set("foes", "99")), model.ErrValue, "no set is called"},
	} {
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v; want %v and %q", what, test.err, test.want, test.text)
		}
	}
	require.Gives(t, 0)(members.Find().Among(members.Set("friends", "99")).Count(ctx))
}
