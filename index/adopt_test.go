package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"retwis/index/decimal"
	"retwis/internal/require"
	"retwis/maintain"
)

// addMembers adds members to a sorted set, as a reader of the tutorial does.
func addMembers(o *objects, key string, members ...string) {
	o.t.Helper()
	for _, m := range members {
		o.do("ZADD", key, "0", m)
	}
}

func tutorialRooms(t *testing.T, o *objects, key string) *Composite {
	t.Helper()
	return readable(t, o.client, key, Options{Columns: columns(t, "room:int(4),price:decimal(6,2)")})
}

// Every write to a sorted set created by hand returns ErrForeign and changes no key. The error
// suggests Adopt.
func TestForeignSortedSetIsRefused(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "none", 1)
	ctx := t.Context()
	addMembers(o, "rooms", "0056:0028.44:90", "0056:0034.00:832", "notes of a user")
	o.do("ZADD", "ages", "25", "manuel")
	rooms := tutorialRooms(t, o, "rooms")
	ages, err := NewNumeric[int](o.client, "ages", NumericOptions{})
	require.OK(t)(err)
	source := objectsOf([]Object[[]any]{{ID: "90", Value: []any{1, "1"}}}, func(int) {})
	numbers := Source[int]{All: objectsOf([]Object[int]{{ID: "manuel", Value: 1}}, func(int) {}).All}
	for name, write := range map[string]func() error{
		"Put": func() error { return rooms.Put(ctx, "90", 57, "1.00") },
		"PutMany": func() error {
			_, err := rooms.PutMany(ctx, slices.Values([]Entry{{ID: "90", Values: []any{57, "1.00"}}}))
			return err
		},
		"Remove":         func() error { _, err := rooms.Remove(ctx, "90"); return err },
		"Repair":         func() error { _, err := rooms.Repair(ctx, nil, maintain.Options{}); return err },
		"Rebuild":        func() error { _, err := rooms.Rebuild(ctx, source, maintain.Options{}); return err },
		"Numeric.Put":    func() error { return ages.Put(ctx, "manuel", 26) },
		"Numeric.Remove": func() error { _, err := ages.Remove(ctx, "manuel"); return err },
		"Numeric.Rebuild": func() error {
			_, err := ages.Rebuild(ctx, numbers, maintain.Options{})
			return err
		},
	} {
		err := write()
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v, want ErrForeign", name, err)
		}
		if name == "Put" && !strings.Contains(err.Error(), `adopt it with Adopt or "retwis index adopt rooms"`) {
			t.Errorf("Put: %v, want an error that suggests Adopt", err)
		}
	}
	o.wantKeys("ages", "rooms")
	require.Gives(t, 3)(o.client.Do(ctx, o.client.B().Zcard().Key("rooms").Build()).AsInt64())
	// Put also refuses a foreign hash at the key of the reverse index.
	o.do("HSET", "halls.content", "a field", "of a user")
	require.Fails(t, ErrForeign)(tutorialRooms(t, o, "halls").Put(ctx, "1", 1, "1"))
}

// Adopt turns a sorted set created by hand into an index of its readable entries. Other members
// stay unchanged, and a second Adopt changes nothing.
func TestAdopt(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "none", 1)
	ctx := t.Context()
	addMembers(o, "rooms", "0056:0028.44:90", "0056:0034.00:832", "notes of a user", "0057:0001.00:7", "0058:0001.00:7")
	for i := range 1000 {
		addMembers(o, "rooms", fmt.Sprintf("0060:%07.2f:many%d", float64(i), i))
	}
	o.do("ZADD", "rooms", "3", "0059:0001.00:moved")
	rooms := tutorialRooms(t, o, "rooms")
	for range 2 {
		r, err := rooms.Adopt(ctx, maintain.Options{})
		if err != nil || r.Checked != 1002 || r.Dangling != 1 || r.Stale != 3 || r.Problems() != 4 {
			t.Fatalf("Adopt: %+v, %v, want 1002 checked, 1 dangling, 3 stale", r, err)
		}
	}
	for _, want := range []string{`"notes of a user", not an entry`, "room=57 price=1.00, one of several", "room=58 price=1.00, one of several", "the score 3"} {
		r, _ := rooms.Adopt(ctx, maintain.Options{})
		if !strings.Contains(fmt.Sprintf("%+v", r.Examples), want) {
			t.Errorf("%q is not reported: %+v", want, r.Examples)
		}
	}
	// Put moves adopted entries, and Repair loses none.
	require.OK(t)(rooms.Put(ctx, "90", 57, "30"))
	require.OK(t)(rooms.Repair(ctx, nil, maintain.Options{}))
	if n, err := rooms.Count(ctx); err != nil || n != 1005 { // all except the notes
		t.Fatalf("Count() = %d, %v, want 1005", n, err)
	}
	require.Gives(t, 1)(rooms.Count(ctx, Eq("room", 56)))
	if e, err := rooms.Get(ctx, "many999"); err != nil || e.Values[1] != decimal.New(99900, 2) {
		t.Fatalf("Get: %v, %v, want price 999.00", e, err)
	}
	// After Put of an ID with two entries, Repair removes both.
	require.OK(t)(rooms.Put(ctx, "7", 59, "1"))
	if r, err := rooms.Repair(ctx, nil, maintain.Options{}); err != nil || r.Stale != 2 || r.Repaired != r.Problems() {
		t.Fatalf("Repair: %+v, %v, want 2 stale and all problems repaired", r, err)
	}
	healthy(t, rooms.Verify)
}

// Adopt refuses missing keys and keys without a readable entry.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "none", 1)
	ctx := t.Context()
	addMembers(o, "other", "a", "b")
	o.do("ZADD", "prices", "2.5", "a", "inf", "b")
	require.Fails(t, ErrValue)(tutorialRooms(t, o, "other").Adopt(ctx, maintain.Options{}))
	require.Fails(t, ErrNotFound)(tutorialRooms(t, o, "nothing").Adopt(ctx, maintain.Options{}))
	prices, err := NewNumeric[int](o.client, "prices", NumericOptions{})
	require.OK(t)(err)
	require.Fails(t, ErrValue)(prices.Adopt(ctx, maintain.Options{}))
	o.wantKeys("other", "prices")
	o.do("ZADD", "prices", "3", "c")
	if r, err := prices.Adopt(ctx, maintain.Options{}); err != nil || r.Checked != 1 || r.Invalid != 2 {
		t.Errorf("Adopt: %+v, %v, want 1 checked, 2 invalid", r, err)
	}
	if err := prices.Put(ctx, "a", 2); err != nil {
		t.Errorf("Put after Adopt: %v", err)
	}
	require.Fails(t, ErrDeclared)(tutorialRooms(t, o, "prices").Adopt(ctx, maintain.Options{}))
}

// Adopt detects whether entries are text or binary, also when it runs again.
func TestAdoptFindsTheEncoding(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "none", 1)
	ctx := t.Context()
	declared := Options{Columns: columns(t, "room:int(4),price:decimal(6,2)")}
	addMembers(o, "text", "0056:0028.44:90", "0057:0012.00:92", "notes")
	for range 2 {
		text := composite(t, o.client, "text", declared)
		if r, err := text.Adopt(ctx, maintain.Options{}); err != nil || r.Checked != 2 || r.Dangling != 1 {
			t.Fatalf("Adopt of text entries: %+v, %v, want 2 checked, 1 dangling", r, err)
		}
		if got := list(t, text.Select(ctx, Page{}, Eq("room", 57))); ids(got) != "92" || got[0].Values[1] != decimal.New(1200, 2) {
			t.Fatalf("Select: %v, want entry 92 with price 12.00", got)
		}
	}
	binary := composite(t, o.client, "binary", declared)
	require.OK(t)(binary.Put(ctx, "90", 56, "28.44"))
	o.do("DEL", "binary.meta", "binary.content")
	binary = composite(t, o.client, "binary", declared)
	if r, err := binary.Adopt(ctx, maintain.Options{}); err != nil || r.Checked != 1 {
		t.Fatalf("Adopt of binary entries: %+v, %v, want 1 checked", r, err)
	}
	if e, err := binary.Get(ctx, "90"); err != nil || e.Values[1] != decimal.New(2844, 2) {
		t.Fatalf("Get: %v, %v, want price 28.44", e, err)
	}
	addMembers(o, "floats", "0.5:90")
	require.Fails(t, ErrValue, "are text")(composite(t, o.client, "floats", Options{Columns: columns(t, "f:float")}).Adopt(ctx, maintain.Options{}))
}

// Repair restores a missing or incomplete reverse index from the entries.
func TestRepairRestoresTheReverseIndex(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		o := newObjects(t, client(t), "lost", partitions)
		for i := range 700 {
			o.put(fmt.Sprint(i), i%90)
		}
		for i, lose := range []func(content string){
			func(content string) { o.do("DEL", content) },
			func(content string) { o.do("HDEL", content, "1", "2", "3") },
		} {
			for _, k := range o.index.entries.Set.Keys {
				lose(k.Content)
			}
			want := []int64{700, 3}[i]
			if r := o.verifyWithoutSource(); r.Missing != want || r.Problems() != want {
				t.Fatalf("Verify: %+v, want %d missing", r, want)
			}
			if r := o.repairWithoutSource(); r.Missing != want || r.Repaired != want || r.Problems() != want {
				t.Fatalf("Repair: %+v, want %d missing and repaired", r, want)
			}
			if r := o.verify(); r.Problems() != 0 || r.Checked != 1400 {
				t.Fatalf("Verify after Repair: %+v", r)
			}
		}
		// With a source, Repair restores the reverse index from the objects.
		o.do("HSET", o.key("5"), "age", "77")
		o.do("DEL", o.key("6"))
		for _, k := range o.index.entries.Set.Keys {
			o.do("DEL", k.Content)
		}
		if r, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); err != nil || r.Repaired != r.Problems() {
			t.Fatalf("Repair with a source: %+v, %v, want all problems repaired", r, err)
		}
		if r := o.verify(); r.Problems() != 0 || r.Checked != 1398 {
			t.Fatalf("Verify after Repair: %+v", r)
		}
	}
}

// Repair keeps all entries of an ID that has several entries and is missing from the reverse
// index, unless a source has the object.
func TestRepairKeepsAmbiguousEntries(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "several", 1)
	for i := range 5 {
		o.put(fmt.Sprint(i), i)
	}
	for _, id := range []string{"1", "2", "3"} {
		m, err := o.index.member(id, []any{50})
		require.OK(t)(err)
		o.do("ZADD", "several", "0", m)
	}
	o.do("DEL", "several.content")
	for range 2 {
		r := o.repairWithoutSource()
		if r.Stale != 6 || r.Problems() != r.Repaired+6 {
			t.Fatalf("Repair: %+v, want 6 stale and not repaired", r)
		}
		require.Gives(t, 8)(o.index.Count(t.Context()))
	}
	o.do("HSET", o.key("2"), "age", "50")
	o.do("DEL", o.key("3"))
	if r, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); err != nil || r.Repaired != r.Problems() {
		t.Fatalf("Repair with a source: %+v, %v, want all problems repaired", r, err)
	}
	if r := o.verify(); r.Problems() != 0 || r.Checked != 8 {
		t.Fatalf("Verify after Repair: %+v", r)
	}
	if e, err := o.index.Get(t.Context(), "2"); err != nil || e.Values[0] != int64(50) {
		t.Fatalf("Get(2): %v, %v, want 50", e, err)
	}
	if e, err := o.index.Get(t.Context(), "1"); err != nil || e.Values[0] != int64(1) {
		t.Fatalf("Get(1): %v, %v, want 1", e, err)
	}
}
