package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/maintain"
)

// A process learns within a second that another one has built an index, or has
// dropped it.
func TestReady(t *testing.T) {
	t.Parallel()
	type before struct {
		ID   string `redis:",id"`
		Name string `redis:"name,index"`
	}
	type after struct {
		ID   string `redis:",id"`
		Name string `redis:"name,range"`
	}
	client := redistest.DB(t).Client(t)
	opt := Options{Name: "person", Partitions: 2}
	old, err := New[before](client, opt)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := old.Create(t.Context(), before{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	now, err := New[after](client, opt)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New[after](client, opt)
	if err != nil {
		t.Fatal(err)
	}
	ready := func(t2 *table) error { return t2.ready(t.Context(), t2.indexes[0]) }
	if err := errors.Join(ready(old.t)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*table{now.t, other.t} {
		if err := ready(s); !errors.Is(err, ErrSchema) {
			t.Fatal(err)
		}
	}
	if _, err := now.Migrate(t.Context(), maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := ready(now.t); err != nil {
		t.Fatal("who migrated knows at once:", err)
	}
	// The answers that are remembered are those of before.
	if ready(old.t) != nil || ready(other.t) == nil {
		t.Fatal("the database was asked again at once")
	}
	for _, s := range []*table{old.t, other.t} {
		s.indexes[0].state.asked.Add(-int64(askAgain) - int64(time.Millisecond))
	}
	if err := ready(old.t); !errors.Is(err, ErrSchema) {
		t.Fatal(err)
	}
	if err := ready(other.t); err != nil {
		t.Fatal(err)
	}
	// Nothing is left of the index that was dropped.
	for i := range now.t.parts {
		contents, err := client.Do(t.Context(), client.B().Hvals().Key(now.t.parts[i].content).Build()).AsStrSlice()
		if err != nil || len(contents) == 0 {
			t.Fatal(err)
		}
		for _, c := range contents {
			_, entries, err := unpack(content(c))
			if err != nil || len(entries) != 1 || entries[0].number != now.t.indexes[0].number {
				t.Fatalf("%v, %v", entries, err)
			}
		}
	}
}

// What pack writes unpack reads, and nothing of any other bytes makes it panic.
func TestUnpack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		x := &indexSpec{number: rapid.IntRange(1, 1<<40).Draw(r, "number")}
		due := rapid.Int64Range(0, maxDue).Draw(r, "due")
		var entries []entry
		var want []packed
		for range rapid.IntRange(0, 40).Draw(r, "entries") {
			value := strings.Repeat("v", rapid.IntRange(0, maxIndexed).Draw(r, "length"))
			entries, want = append(entries, entry{x, value}), append(want, packed{x.number, value})
		}
		c := pack(due, entries)
		gotDue, got, err := unpack(c)
		if err != nil || gotDue != due || !slices.Equal(got, want) {
			r.Fatalf("%d, %v, %v", gotDue, got, err)
		}
		cut := rapid.IntRange(0, len(c)-1).Draw(r, "cut")
		if _, _, err := unpack(c[:cut]); err == nil {
			r.Fatalf("%q is half of a content", c[:cut])
		}
		_, _, _ = unpack(content(rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")))
		_, _, _ = unpack(c[:cut] + content(rapid.SliceOf(rapid.Byte()).Draw(r, "more bytes")))
	})
}
