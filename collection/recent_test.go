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
		t.Fatalf("Newest = %v, %v; want dcb", items, err)
	}
	if items, err := r.Newest(ctx, 2); err != nil || strings.Join(items, "") != "dc" {
		t.Fatalf("Newest = %v, %v; want dc", items, err)
	}
	var many []string
	for i := range 450 {
		many = append(many, fmt.Sprint(i))
	}
	if err := r.Put(ctx, many...); err != nil {
		t.Fatal(err)
	}
	if items, err := r.Newest(ctx, 10); err != nil || strings.Join(items, " ") != "449 448 447" {
		t.Fatalf("Newest = %v, %v; want 449 448 447", items, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 3 {
		t.Fatalf("Len = %v, %v; want 3", n, err)
	}
	other, err := NewRecent(c, "recent", 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Put(ctx, "x"); !errors.Is(err, ErrDeclared) {
		t.Fatalf("Put: %v, want ErrDeclared", err)
	}
}
