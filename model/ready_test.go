package model

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// A process notices within a second that another process has built or dropped an index.
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
	old, err := New[before](t.Context(), client, opt)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := old.Create(t.Context(), before{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	now, err := New[after](t.Context(), client, opt)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New[after](t.Context(), client, opt)
	if err != nil {
		t.Fatal(err)
	}
	ready := func(table *record.Table) error {
		return table.Registry.CheckBuilt(t.Context(), table.Schema.Indexes[0])
	}
	if err := errors.Join(ready(old.t)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*record.Table{now.t, other.t} {
		if err := ready(s); !errors.Is(err, ErrSchema) {
			t.Fatalf("before Migrate: %v; want ErrSchema", err)
		}
	}
	if _, err := now.Migrate(t.Context(), maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := ready(now.t); err != nil {
		t.Fatal("the store that migrated does not use the index immediately:", err)
	}
	// The other stores still have the old states in their caches.
	if ready(old.t) != nil || ready(other.t) == nil {
		t.Fatal("a cached state was not used")
	}
	for _, s := range []*record.Table{old.t, other.t} {
		s.Schema.Indexes[0].State.Asked.Add(-int64(time.Second) - int64(time.Millisecond))
	}
	if err := ready(old.t); !errors.Is(err, ErrSchema) {
		t.Fatalf("dropped index: %v; want ErrSchema", err)
	}
	if err := ready(other.t); err != nil {
		t.Fatal(err)
	}
	// Nothing is left of the dropped index.
	for i := range now.t.Layout.Parts {
		contents, err := client.Do(t.Context(), client.B().Hvals().Key(now.t.Layout.Parts[i].Content).Build()).AsStrSlice()
		if err != nil || len(contents) == 0 {
			t.Fatalf("%d contents, %v", len(contents), err)
		}
		for _, c := range contents {
			_, entries, err := schema.Unpack(schema.Content(c))
			if err != nil || len(entries) != 1 || entries[0].Number != now.t.Schema.Indexes[0].Number {
				t.Fatalf("entries %v, %v; want one, of the new index", entries, err)
			}
		}
	}
}
