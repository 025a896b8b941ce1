package model_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type traveller struct {
	ID      string `redis:",id"`
	Name    string `redis:"name,index"`
	Friends model.Set
	History model.List `redis:"seen"`
	Expires time.Time  `redis:",expires"`
}

// sortedOf returns the values of a sequence, sorted.
func sortedOf(t testing.TB, seq iter.Seq2[string, error]) []string {
	t.Helper()
	var all []string
	for s, err := range seq {
		require.OK(t)(err)
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// mustCreate creates a record, and ends the test on an error.
func mustCreate[T any](t testing.TB, s *model.Store[T], record T) T {
	t.Helper()
	r, err := s.Create(t.Context(), record)
	require.OK(t)(err)
	return r
}

func TestCollectionsRefuse(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[traveller](t, client, model.Options{Name: "m"})
	notes := store[author](t, client, model.Options{Name: "note"})
	a, ctx := mustCreate(t, members, traveller{}), t.Context()
	add := func(s *model.Members, values ...string) error { _, err := s.Put(ctx, values...); return err }
	push := func(l *model.Values, values ...string) error { _, err := l.PushBack(ctx, values...); return err }
	pop := func(l *model.Values) error { _, _, err := l.PopBack(ctx); return err }
	remove := func(l *model.Values) error { _, err := l.Remove(ctx, "x"); return err }
	count := func(s *model.Members) error { _, err := s.Len(ctx); return err }
	all := func(s iter.Seq2[string, error]) error {
		for _, err := range s {
			return err
		}
		return nil
	}
	redisDo(t, client, "SET", "m.of.friends:7", "text")
	redisDo(t, client, "HSET", "m:7", "name", "seven")
	for what, test := range map[string]struct {
		err, want error
		text      string
	}{
		"unknown":         {add(members.Set("foes", a.ID), "x"), model.ErrValue, "the model has friends"},
		"unknown, read":   {count(members.Set("foes", a.ID)), model.ErrValue, "no set is called"},
		"unknown, all":    {all(members.Set("foes", a.ID).All(ctx)), model.ErrValue, "no set is called"},
		"unknown list":    {push(members.List("foes", a.ID), "x"), model.ErrValue, "the model has seen"},
		"unknown, remove": {remove(members.List("foes", a.ID)), model.ErrValue, "no list is called"},
		"none at all":     {push(notes.List("foes", a.ID), "x"), model.ErrValue, "declare a field of type model.List"},
		"not a list":      {push(members.List("friends", a.ID), "x"), model.ErrValue, "friends is a set"},
		"not a set":       {add(members.Set("seen", a.ID), "x"), model.ErrValue, "seen is a list"},
		"no record":       {add(members.Set("friends", "99"), "x"), model.ErrNotFound, "99"},
		"no record, list": {push(members.List("seen", "99").Max(3), "x"), model.ErrNotFound, "99"},
		"no record, pop":  {pop(members.List("seen", "99")), model.ErrNotFound, "99"},
		"no id":           {add(members.Set("friends", ""), "x"), model.ErrValue, "empty"},
		"too long":        {add(members.Set("friends", a.ID), "ok", strings.Repeat("x", 1<<16+1)), model.ErrValue, "65536"},
		"other type":      {add(members.Set("friends", "7"), "x"), model.ErrCorrupt, "m.of.friends:7"},
		"other type read": {count(members.Set("friends", "7")), model.ErrCorrupt, "m.of.friends:7"},
	} {
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v; want %v and %q", what, test.err, test.want, test.text)
		}
	}
	if keys := redisDo(t, client, "EXISTS", "m.of.friends:99", "m.of.seen:99"); keys != "0" {
		t.Error("a set or list of a missing record was written")
	}
	require.Gives(t, 0)(members.Set("friends", a.ID).Len(ctx))
	// A list that is too long is trimmed in steps, and Remove does not search it.
	seen := members.List("seen", a.ID)
	for range 60 {
		values := make([]string, 1000)
		require.OK(t)(seen.PushBack(ctx, values...))
	}
	require.Fails(t, model.ErrValue, "60000")(seen.Remove(ctx, "x"))
	for _, want := range []int64{50_001, 40_002, 30_003} {
		require.Gives(t, want)(seen.Max(10).PushFront(ctx, "x"))
	}
}

// collectionKey returns the key of a set or list.
func collectionKey(opt model.Options, name, id string) string {
	return baseOf(opt, id) + ".of." + name + ":" + id
}

// baseOf returns the prefix of the keys in the partition of a record.
func baseOf(opt model.Options, id string) string {
	if opt.Partitions < 2 {
		return opt.Name
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("{%s.%d}", opt.Name, h.Sum32()%uint32(opt.Partitions))
}
