package model

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
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
	if _, err := now.Migrate(t.Context(), Upkeep{}); err != nil {
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
}
