package model_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// Records streams the existing records in the order of the given ids, which need not be sorted or
// exist.
func TestRecords(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[traveller](t, client, opt)
		ctx := t.Context()
		var ids []string
		for i := range 640 {
			ids = append(ids, mustCreate(t, members, traveller{Name: fmt.Sprint(i)}).ID)
		}
		a := members.List("seen", ids[0])
		require.OK(t)(a.PushBack(ctx, ids...))
		require.OK(t)(a.PushFront(ctx, "99999", ids[7], "nobody"))
		var got []string
		for m, err := range members.Records(ctx, a.All(ctx)) {
			require.OK(t)(err)
			got = append(got, m.ID)
		}
		if !slices.Equal(got, append([]string{ids[7]}, ids...)) {
			t.Errorf("%d records: %.100q", len(got), got)
		}
		friends := members.Set("friends", ids[1])
		require.OK(t)(friends.Put(ctx, ids[3], ids[5], "99999"))
		if got := sortedOf(t, idsOfAll(members.Records(ctx, friends.All(ctx)))); !slices.Equal(got, []string{ids[3], ids[5]}) {
			t.Errorf("records %q, want %q and %q", got, ids[3], ids[5])
		}
		// An unreadable record does not hide other records; an error in the sequence of ids ends
		// the iteration.
		redisDo(t, client, "HSET", recordKey(opt, ids[2]), "expires", "never")
		var errs []string
		got = nil
		for m, err := range members.Records(ctx, func(yield func(string, error) bool) {
			_ = yield(ids[1], nil) && yield(ids[2], nil) && yield(ids[3], nil) && yield("", errors.New("cut short")) && yield(ids[4], nil)
		}) {
			if err != nil {
				errs = append(errs, err.Error())
			} else {
				got = append(got, m.ID)
			}
		}
		if !slices.Equal(got, []string{ids[1], ids[3]}) || len(errs) != 2 || !strings.Contains(errs[0], "field expires") || errs[1] != "cut short" {
			t.Errorf("records %q, errors %q; want two of each", got, errs)
		}
		for range members.Records(ctx, a.All(ctx)) { // stop early
			break
		}
	})
}

// recordKey returns the key of a record.
func recordKey(opt model.Options, id string) string { return baseOf(opt, id) + ":" + id }

// idsOfAll streams the ids of travellers.
func idsOfAll(all iter.Seq2[traveller, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for m, err := range all {
			if !yield(m.ID, err) {
				return
			}
		}
	}
}

// A reader of a list sees either all old values or all new values.
func TestReplaceIsAtomic(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[traveller](t, client, model.Options{Name: "m"})
	id, ctx := mustCreate(t, members, traveller{}).ID, t.Context()
	list := members.List("seen", id)
	var work sync.WaitGroup
	work.Go(func() {
		for i := range 200 {
			checkErr(t, list.Replace(ctx, slices.Repeat([]string{fmt.Sprint(i)}, 20)...))
		}
	})
	for last := ""; last != "199" && !t.Failed(); {
		values, err := list.Range(ctx, 0, -1)
		if err != nil || len(values) > 0 && (len(values) != 20 || len(slices.Compact(slices.Clone(values))) != 1) {
			t.Fatalf("values %q, %v; want 20 equal values", values, err)
		}
		if len(values) > 0 {
			last = values[0]
		}
	}
	work.Wait()
}

func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[traveller](t, client, model.Options{Name: "m"})
	ctx := t.Context()
	a := mustCreate(t, members, traveller{})
	set, list := members.Set("friends", a.ID), members.List("seen", a.ID)
	for _, err := range []error{set.Replace(ctx, "kept"), list.Replace(ctx, "kept")} {
		require.OK(t)(err)
	}
	redisDo(t, client, "SET", "m.of.seen:7", "text")
	redisDo(t, client, "HSET", "m:7", "name", "seven")
	many := slices.Repeat([]string{"x"}, 5001)
	has := func(l *model.Values, value string) error { _, err := l.Has(ctx, value); return err }
	for what, test := range map[string]struct {
		err, want error
		text      string
	}{
		"many":           {set.Replace(ctx, many...), model.ErrValue, "5001 values"},
		"large":          {list.Replace(ctx, slices.Repeat([]string{strings.Repeat("x", 60_000)}, 18)...), model.ErrValue, "524288 bytes"},
		"too long":       {list.Replace(ctx, "ok", strings.Repeat("x", 1<<16+1)), model.ErrValue, "65536"},
		"more than Max":  {list.Max(1).Replace(ctx, "a", "b"), model.ErrValue, "its Max is 1"},
		"unknown":        {members.Set("foes", a.ID).Replace(ctx, "x"), model.ErrValue, "the model has friends"},
		"missing record": {members.Set("friends", "99").Replace(ctx, "x"), model.ErrNotFound, "99"},
		"other type":     {members.List("seen", "7").Replace(ctx, "x"), model.ErrCorrupt, "m.of.seen:7"},
		"has unknown":    {has(members.List("foes", a.ID), "x"), model.ErrValue, "no list is called"},
		"has other type": {has(members.List("seen", "7"), "x"), model.ErrCorrupt, "m.of.seen:7"},
	} {
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v; want %v and %q", what, test.err, test.want, test.text)
		}
	}
	if redisDo(t, client, "GET", "m.of.seen:7") != "text" {
		t.Error("a value of another type was replaced")
	}
	require.Gives(t, true)(set.Has(ctx, "kept"))
	// Has does not search a long list to its end.
	for range 51 {
		require.OK(t)(list.PushBack(ctx, make([]string, 1000)...))
	}
	require.Fails(t, model.ErrValue, "51001")(has(list, "absent"))
	require.Gives(t, true)(list.Has(ctx, ""))
	require.OK(t)(list.Replace(ctx))
	require.Gives(t, 0)(list.Len(ctx))
}
