package collection

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	r, err := NewRecent(c, "recent", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(ctx, "a", "b", "c", "d"); err != nil {
		t.Fatal(err)
	}
	if items, err := r.Newest(ctx, 10); err != nil || strings.Join(items, "") != "dcb" {
		t.Fatal(items, err)
	}
	if items, err := r.Newest(ctx, 2); err != nil || strings.Join(items, "") != "dc" {
		t.Fatal(items, err)
	}
	var many []string
	for i := range 450 {
		many = append(many, fmt.Sprint(i))
	}
	if err := r.Put(ctx, many...); err != nil {
		t.Fatal(err)
	}
	if items, err := r.Newest(ctx, 10); err != nil || strings.Join(items, " ") != "449 448 447" {
		t.Fatal(items, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	other, err := NewRecent(c, "recent", 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Put(ctx, "x"); !errors.Is(err, ErrDeclared) {
		t.Fatal(err)
	}
}
