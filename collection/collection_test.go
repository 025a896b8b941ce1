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

// A Ring and a Recent leave a key alone that holds something else.
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
			t.Errorf("%s: Put: %v", key, err)
		}
		if _, err := r.Next(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Next: %v", key, err)
		}
		if _, err := r.Take(ctx, time.Minute); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Take: %v", key, err)
		}
		if _, err := r.Remove(ctx, "1"); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Remove: %v", key, err)
		}
		if _, err := r.Len(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Len: %v", key, err)
		}
	}
	if members, err := c.Do(ctx, c.B().Zrange().Key("rooms").Min("0").Max("-1").Build()).AsStrSlice(); err != nil || strings.Join(members, "") != "entry" {
		t.Fatal(members, err)
	}
	if items, err := recent.Newest(ctx, 3); err != nil || strings.Join(items, "") != "cba" {
		t.Fatal(items, err)
	}
	other, err := NewRecent(c, "rooms", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Newest(ctx, 1); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
	if _, err := other.Len(ctx); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
}

// A list that another program made is rejected; Adopt turns it into a Recent.
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
			t.Errorf("%s: %v", name, err)
		}
	}
	if items, err := c.Do(ctx, c.B().Lrange().Key("list").Start(0).Stop(-1).Build()).AsStrSlice(); err != nil || strings.Join(items, "") != "cba" {
		t.Fatal(items, err)
	}
	// The next Put cuts it to its cap.
	if err := recent.Adopt(ctx); err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	if items, err := recent.Newest(ctx, 5); err != nil || strings.Join(items, "") != "dc" {
		t.Fatal(items, err)
	}
}

// All structures work on a Cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	c, ctx := redistest.Cluster(t, 3).Client(t), t.Context()
	if _, err := NewRing(c, "ring"); err == nil || !strings.Contains(err.Error(), `call it "{ring}"`) {
		t.Fatalf("a ring without a hash tag: %v", err)
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
		t.Fatal(n, err)
	}
	l, err := ring.Take(ctx, time.Minute)
	if err != nil || l.Item != "a" {
		t.Fatal(l, err)
	}
	if item, err := ring.Next(ctx); err != nil || item != "b" {
		t.Fatal(item, err)
	}
	if err := l.Return(ctx); err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "1", "2", "3"); err != nil {
		t.Fatal(err)
	}
	if items, err := recent.Newest(ctx, 5); err != nil || strings.Join(items, "") != "32" {
		t.Fatal(items, err)
	}
	if n, err := random.PutMany(ctx, slices.Values([]string{"x", "y"})); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if some, err := random.DrawEach(ctx, 5); err != nil || len(some) != 5 {
		t.Fatal(some, err)
	}
}
