package collection

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redis/partition"
	"retwis/internal/redistest"
)

// TestKeyOfAnotherKind checks that a Ring and a Recent reject keys of another kind and do not
// change the keys.
func TestKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	rooms, err := partition.New(c, "rooms", partition.Declaration{Kind: "composite", Text: "a:int"})
	if err != nil {
		t.Fatal(err)
	}
	if err := rooms.Declare(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(ctx, c.B().Zadd().Key("rooms").ScoreMember().ScoreMember(0, "entry").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	recent, err := NewRecent(c, "newest", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"rooms", "newest"} {
		r, err := NewRing(c, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Put(ctx, "1"); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Put: %v, want ErrDeclared", key, err)
		}
		if _, err := r.Next(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Next: %v, want ErrDeclared", key, err)
		}
		if _, err := r.Take(ctx, time.Minute); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Take: %v, want ErrDeclared", key, err)
		}
		if _, err := r.Remove(ctx, "1"); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Remove: %v, want ErrDeclared", key, err)
		}
		if _, err := r.Len(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Len: %v, want ErrDeclared", key, err)
		}
	}
	if members, err := c.Do(ctx, c.B().Zrange().Key("rooms").Min("0").Max("-1").Build()).AsStrSlice(); err != nil || strings.Join(members, "") != "entry" {
		t.Fatalf("ZRANGE = %v, %v; want entry", members, err)
	}
	if items, err := recent.Newest(ctx, 3); err != nil || strings.Join(items, "") != "cba" {
		t.Fatalf("Newest = %v, %v; want cba", items, err)
	}
	other, err := NewRecent(c, "rooms", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Newest(ctx, 1); !errors.Is(err, ErrDeclared) {
		t.Errorf("Newest: %v, want ErrDeclared", err)
	}
	if _, err := other.Len(ctx); !errors.Is(err, ErrDeclared) {
		t.Errorf("Len: %v, want ErrDeclared", err)
	}
}

// TestForeignList checks that keys of other programs are rejected, and that Adopt turns a list into
// a Recent.
func TestForeignList(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	if err := c.Do(ctx, c.B().Lpush().Key("list").Element("a", "b", "c").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	recent, err := NewRecent(c, "list", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(ctx, c.B().Zadd().Key("zset").ScoreMember().ScoreMember(1, "a").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	ring, err := NewRing(c, "zset")
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"Recent.Put": func() error { return recent.Put(ctx, "e") },
		"Ring.Put":   func() error { return ring.Put(ctx, "e") },
	} {
		if err := write(); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v, want ErrForeign", name, err)
		}
	}
	if items, err := c.Do(ctx, c.B().Lrange().Key("list").Start(0).Stop(-1).Build()).AsStrSlice(); err != nil || strings.Join(items, "") != "cba" {
		t.Fatalf("LRANGE = %v, %v; want cba", items, err)
	}
	// The first Put after Adopt shortens the list to its maximum length.
	if err := recent.Adopt(ctx); err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	if items, err := recent.Newest(ctx, 5); err != nil || strings.Join(items, "") != "dc" {
		t.Fatalf("Newest = %v, %v; want dc", items, err)
	}
}

// TestCluster checks that all collections work on a Cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	c, ctx := redistest.Cluster(t, 3).Client(t), t.Context()
	if _, err := NewRing(c, "ring"); err == nil || !strings.Contains(err.Error(), `call it "{ring}"`) {
		t.Fatalf("NewRing without a hash tag: %v, want an error with a hint", err)
	}
	ring, err := NewRing(c, "{ring}")
	if err != nil {
		t.Fatal(err)
	}
	recent, err := NewRecent(c, "{recent}", 2)
	if err != nil {
		t.Fatal(err)
	}
	random, err := NewRandom(c, "random")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ring.PutMany(ctx, slices.Values([]string{"a", "b"})); err != nil || n != 2 {
		t.Fatalf("PutMany = %v, %v; want 2", n, err)
	}
	l, err := ring.Take(ctx, time.Minute)
	if err != nil || l.Item != "a" {
		t.Fatalf("Take = %v, %v; want a", l, err)
	}
	if item, err := ring.Next(ctx); err != nil || item != "b" {
		t.Fatalf("Next = %v, %v; want b", item, err)
	}
	if err := l.Return(ctx); err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "1", "2", "3"); err != nil {
		t.Fatal(err)
	}
	if items, err := recent.Newest(ctx, 5); err != nil || strings.Join(items, "") != "32" {
		t.Fatalf("Newest = %v, %v; want 32", items, err)
	}
	if n, err := random.PutMany(ctx, slices.Values([]string{"x", "y"})); err != nil || n != 2 {
		t.Fatalf("PutMany = %v, %v; want 2", n, err)
	}
	if ids, err := random.DrawEach(ctx, 5); err != nil || len(ids) != 5 {
		t.Fatalf("DrawEach = %v, %v; want 5 items", ids, err)
	}
}
