package timeline

import (
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social/storage"
)

// What the cache has dropped has missed changes, and does not come back.
func TestDroppedView(t *testing.T) {
	t.Parallel()
	s, err := NewViews(storage.NewDatabase(redistest.DB(t).Client(t), true), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	dropped, now := new(viewCell), new(viewCell)
	s.weigh(1, dropped)
	if _, ok := s.cells.GetIfPresent(1); ok {
		t.Error("a cell is back that the cache has dropped")
	}
	s.cells.Set(1, now)
	s.weigh(1, dropped)
	if cell, _ := s.cells.GetIfPresent(1); cell != now {
		t.Error("a cell has replaced a later one")
	}
	now.size.Store(5000)
	s.weigh(1, now)
	if entry, ok := s.cells.GetEntryQuietly(1); !ok || entry.Value != now || entry.Weight != 5000 {
		t.Errorf("the cell weighs %d, want 5000", entry.Weight)
	}
}
