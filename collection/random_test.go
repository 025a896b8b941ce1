package collection

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestRandom(t *testing.T) {
	t.Parallel()
	r, err := NewRandom(client(t), "random")
	ctx := t.Context()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprint(i))
	}
	if n, err := r.PutMany(ctx, slices.Values(append(ids, "1"))); err != nil || n != 1200 {
		t.Fatalf("PutMany = %v, %v; want 1200", n, err)
	}
	drawn, err := r.Draw(ctx, 100)
	slices.Sort(drawn)
	if err != nil || len(slices.Compact(drawn)) != 100 {
		t.Fatalf("Draw = %v, %v; want 100 different IDs", drawn, err)
	}
	if n, err := r.Remove(ctx, ids[3:]...); err != nil || n != 1197 {
		t.Fatalf("Remove = %v, %v; want 1197", n, err)
	}
	repeated, err := r.DrawEach(ctx, 50)
	if err != nil || len(repeated) != 50 {
		t.Fatalf("DrawEach = %v, %v; want 50 items", repeated, err)
	}
	if has, err := r.Has(ctx, "0", "5", "2"); err != nil || !slices.Equal(has, []bool{true, false, true}) {
		t.Fatalf("Has = %v, %v; want true false true", has, err)
	}
	if taken, err := r.Take(ctx, 5); err != nil || len(taken) != 3 {
		t.Fatalf("Take = %v, %v; want 3 items", taken, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 0 {
		t.Fatalf("Len = %v, %v; want 0", n, err)
	}
	if _, err := r.Draw(ctx, -1); !errors.Is(err, ErrValue) {
		t.Fatalf("Draw: %v, want ErrValue", err)
	}
	if _, err := r.PutMany(ctx, slices.Values([]string{"a", ""})); !errors.Is(err, ErrValue) {
		t.Fatalf("PutMany: %v, want ErrValue", err)
	}
}
