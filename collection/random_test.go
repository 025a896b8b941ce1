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
		t.Fatal(n, err)
	}
	some, err := r.Draw(ctx, 100)
	slices.Sort(some)
	if err != nil || len(slices.Compact(some)) != 100 {
		t.Fatal(some, err)
	}
	if n, err := r.Remove(ctx, ids[3:]...); err != nil || n != 1197 {
		t.Fatal(n, err)
	}
	each, err := r.DrawEach(ctx, 50)
	if err != nil || len(each) != 50 {
		t.Fatal(each, err)
	}
	if has, err := r.Has(ctx, "0", "5", "2"); err != nil || !slices.Equal(has, []bool{true, false, true}) {
		t.Fatal(has, err)
	}
	if taken, err := r.Take(ctx, 5); err != nil || len(taken) != 3 {
		t.Fatal(taken, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	if _, err := r.Draw(ctx, -1); !errors.Is(err, ErrValue) {
		t.Fatal(err)
	}
	if _, err := r.PutMany(ctx, slices.Values([]string{"a", ""})); !errors.Is(err, ErrValue) {
		t.Fatal(err)
	}
}
