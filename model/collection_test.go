package model_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

type traveller struct {
	ID      string `redis:",id"`
	Name    string `redis:"name,index"`
	Friends model.Set
	History model.List `redis:"seen"`
	Expires time.Time  `redis:",expires"`
}

// sortedOf is what an iteration yields, sorted.
func sortedOf(t testing.TB, seq iter.Seq2[string, error]) []string {
	t.Helper()
	var all []string
	for s, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

func createdOf[T any](t testing.TB, s *model.Store[T], record T) T {
	t.Helper()
	r, err := s.Create(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSets(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := store[traveller](t, redistest.DB(t).Client(t), opt)
			a, b := createdOf(t, members, traveller{Name: "a"}), createdOf(t, members, traveller{Name: "b"})
			var many []string
			for i := range 1234 {
				many = append(many, fmt.Sprintf("%04d", i))
			}
			ctx := t.Context()
			friends, others := members.Set("friends", a.ID), members.Set("friends", b.ID)
			if n, err := friends.Put(ctx, many...); n != 1234 || err != nil {
				t.Fatal(n, err)
			}
			if n, err := friends.Put(ctx, "0001", "x"); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if n, err := others.Put(ctx, "0007", "y", "x"); n != 3 || err != nil {
				t.Fatal(n, err)
			}
			if n, err := friends.Len(ctx); n != 1235 || err != nil {
				t.Fatal(n, err)
			}
			for member, want := range map[string]bool{"x": true, "z": false} {
				if is, err := friends.Has(ctx, member); is != want || err != nil {
					t.Fatal(member, is, err)
				}
			}
			if got := sortedOf(t, friends.All(ctx)); !slices.Equal(got, append(many, "x")) {
				t.Fatal(len(got))
			}
			if n, err := friends.Remove(ctx, append(many, "nobody")...); n != 1234 || err != nil {
				t.Fatal(n, err)
			}
			if err := others.Clear(ctx); err != nil {
				t.Fatal(err)
			}
			if n, err := others.Len(ctx); n != 0 || err != nil {
				t.Fatal(n, err)
			}
			for range friends.All(ctx) { // leaving early
				break
			}
		})
	}
}

func TestCollectionsRefuse(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[traveller](t, client, model.Options{Name: "m"})
	notes := store[author](t, client, model.Options{Name: "note"})
	a, ctx := createdOf(t, members, traveller{}), t.Context()
	add := func(s *model.Members, values ...string) error { _, err := s.Put(ctx, values...); return err }
	push := func(l *model.Values, values ...string) error { _, err := l.PushBack(ctx, values...); return err }
	pop := func(l *model.Values) error { _, _, err := l.PopBack(ctx); return err }
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
		says      string
	}{
		"unknown":         {add(members.Set("foes", a.ID), "x"), model.ErrValue, "the model has friends"},
		"unknown, read":   {count(members.Set("foes", a.ID)), model.ErrValue, "no set is called"},
		"unknown, all":    {all(members.Set("foes", a.ID).All(ctx)), model.ErrValue, "no set is called"},
		"unknown list":    {push(members.List("foes", a.ID), "x"), model.ErrValue, "the model has seen"},
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
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v", what, test.err)
		}
	}
	if keys := redisDo(t, client, "EXISTS", "m.of.friends:99", "m.of.seen:99"); keys != "0" {
		t.Error("a record that is not there has a set or list")
	}
	if n, err := members.Set("friends", a.ID).Len(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	// A list that another program made too long becomes shorter in steps, and is not
	// searched.
	seen := members.List("seen", a.ID)
	for range 60 {
		values := make([]string, 1000)
		if _, err := seen.PushBack(ctx, values...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := seen.Remove(ctx, "x"); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), "60000") {
		t.Error(err)
	}
	for _, want := range []int64{50_001, 40_002, 30_003} {
		if n, err := seen.Max(10).PushFront(ctx, "x"); n != want || err != nil {
			t.Error(n, err)
		}
	}
}

// What belongs to a record ends with it, however it ends.
func TestCollectionsEndWithTheirRecord(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			members := store[traveller](t, client, opt)
			end := time.Now().Add(time.Hour).Truncate(time.Millisecond)
			a := createdOf(t, members, traveller{Name: "a", Expires: end})
			ctx := t.Context()
			friends, seen := members.Set("friends", a.ID), members.List("seen", a.ID)
			fill := func() {
				t.Helper()
				if _, err := friends.Put(ctx, "x"); err != nil {
					t.Fatal(err)
				}
				if _, err := seen.Max(5).PushBack(ctx, "x"); err != nil {
					t.Fatal(err)
				}
			}
			setEnd := func(end time.Time) {
				t.Helper()
				if _, err := members.Update(ctx, a.ID, func(m *traveller) error { m.Expires = end; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			fill() // made after the record was given its expiry
			endsAt(t, opt, client, a.ID, end)
			setEnd(end.Add(time.Hour)) // there before
			endsAt(t, opt, client, a.ID, end.Add(time.Hour))
			setEnd(time.Time{})
			endsAt(t, opt, client, a.ID, time.Time{})
			setEnd(end)
			endsAt(t, opt, client, a.ID, end)
			setEnd(time.Now().Add(50 * time.Millisecond))
			for {
				if _, err := friends.Put(ctx, "y"); errors.Is(err, model.ErrNotFound) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			for _, kind := range []string{"friends", "seen"} {
				if redisDo(t, client, "EXISTS", collectionKey(opt, kind, a.ID)) != "0" {
					t.Errorf("%s outlives its record", kind)
				}
			}
			a = createdOf(t, members, traveller{Name: "b"})
			friends, seen = members.Set("friends", a.ID), members.List("seen", a.ID)
			fill()
			if err := members.Delete(ctx, a.ID); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"friends", "seen"} {
				if redisDo(t, client, "EXISTS", collectionKey(opt, kind, a.ID)) != "0" {
					t.Errorf("%s outlives its record", kind)
				}
			}
		})
	}
}

// collectionKey is the key of a set or list.
func collectionKey(opt model.Options, name, id string) string {
	return baseOf(opt, id) + ".of." + name + ":" + id
}

// baseOf is what the keys of a record begin with.
func baseOf(opt model.Options, id string) string {
	if opt.Partitions < 2 {
		return opt.Name
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("{%s.%d}", opt.Name, h.Sum32()%uint32(opt.Partitions))
}

// endsAt checks when the record and all that belongs to it end: never, where end is
// zero.
func endsAt(t *testing.T, opt model.Options, client rueidis.Client, id string, end time.Time) {
	t.Helper()
	for _, key := range []string{baseOf(opt, id) + ":" + id, collectionKey(opt, "friends", id), collectionKey(opt, "seen", id)} {
		before := time.Now()
		ms, err := strconv.ParseInt(redisDo(t, client, "PTTL", key), 10, 64)
		left := time.Duration(ms) * time.Millisecond
		if err != nil || end.IsZero() != (ms == -1) ||
			ms != -1 && (end.Before(before.Add(left-time.Second)) || end.After(time.Now().Add(left+time.Second))) {
			t.Errorf("%s ends in %v (%d), not at %v", key, left, ms, end)
		}
	}
}
