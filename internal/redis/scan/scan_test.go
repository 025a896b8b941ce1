package scan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Keys scans every master of a Cluster, and Literal escapes the special characters of a pattern.
func TestKeys(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]rueidis.Client{
		"server":  redistest.DB(t).Client(t),
		"cluster": redistest.Cluster(t, 2).Client(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			want := map[string]bool{}
			for i := range 300 {
				key := fmt.Sprintf("a[?*]:%d", i)
				want[key] = true
				do(t, client, client.B().Set().Key(key).Value("x").Build())
				do(t, client, client.B().Set().Key(fmt.Sprintf("ab:%d", i)).Value("x").Build())
			}
			do(t, client, client.B().Sadd().Key("a[?*]:set").Member("x").Build())
			pattern := scan.Pattern{Match: scan.Literal("a[?*]:") + "*", Type: "string", Count: 20}
			got := map[string]bool{}
			for page, err := range scan.Keys(ctx, client, pattern) {
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range page.Keys {
					got[key] = true
				}
			}
			if len(got) != len(want) {
				t.Errorf("found %d keys, want %d", len(got), len(want))
			}
			for key := range got {
				if !want[key] {
					t.Errorf("found %q, which does not match", key)
				}
			}
		})
	}
}

// The pages of a small key are as limited as the pages of a large key, although the server returns
// a small key in one reply.
func TestPages(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	for _, n := range []int{0, 1, 7, 100, 1000} {
		hash, zset, set := fmt.Sprint("hash", n), fmt.Sprint("zset", n), fmt.Sprint("set", n)
		for i := range n {
			member := fmt.Sprint("m", i)
			do(t, client, client.B().Hset().Key(hash).FieldValue().FieldValue(member, "v").Build())
			do(t, client, client.B().Zadd().Key(zset).ScoreMember().ScoreMember(1, member).Build())
			do(t, client, client.B().Sadd().Key(set).Member(member).Build())
		}
		for name, pages := range map[string]func(yield func([]string, error) bool){
			hash: scan.Hash(ctx, client, hash, 5), zset: scan.SortedSet(ctx, client, zset, 5), set: scan.Set(ctx, client, set, 10),
		} {
			var all []string
			for page, err := range pages {
				// A step over a large key may return a few more than COUNT.
				if err != nil || len(page) > 10 {
					t.Fatalf("%s: page of %d (%v), want at most 10", name, len(page), err)
				}
				for _, text := range page {
					if strings.HasPrefix(text, "m") {
						all = append(all, text)
					}
				}
			}
			slices.Sort(all)
			if all = slices.Compact(all); len(all) != n {
				t.Errorf("%s: found %d of %d members", name, len(all), n)
			}
		}
	}
	for _, err := range scan.Hash(ctx, client, "zset1", 5) {
		if err == nil || !strings.Contains(err.Error(), "zset1") {
			t.Errorf("Hash of a sorted set: %v, want an error with the key", err)
		}
	}
}

func do(t *testing.T, client rueidis.Client, command rueidis.Completed) {
	t.Helper()
	if err := client.Do(t.Context(), command).Error(); err != nil {
		t.Fatal(err)
	}
}

// A scan is complete although the server restarts. A restart changes the order of keys and of
// elements within a key, so that a cursor from before the restart would skip some.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	client := server.Client(t)
	const total = 500
	var pairs []string
	for i := range total {
		pairs = append(pairs, fmt.Sprint("k", i), "x")
	}
	do(t, client, client.B().Arbitrary("MSET").Args(pairs...).Build())
	do(t, client, client.B().Arbitrary("HSET", "hash").Args(pairs...).Build())
	seen := map[string]bool{}
	restarts := 0
	record := func(page []string) {
		for _, text := range page {
			seen[text] = true
		}
		if restarts < 2 && len(seen) > total/3*(restarts+1) {
			restarts++
			server.Restart(t, true)
		}
	}
	for page, err := range scan.Keys(t.Context(), client, scan.Pattern{Count: 10}) {
		if err != nil {
			t.Fatal(err)
		}
		record(page.Keys)
	}
	if len(seen) != total+1 || restarts != 2 {
		t.Errorf("%d of %d keys after %d restarts", len(seen), total+1, restarts)
	}
	clear(seen)
	restarts = 0
	for page, err := range scan.Hash(t.Context(), client, "hash", 10) {
		if err != nil {
			t.Fatal(err)
		}
		record(page)
	}
	if len(seen) != total+1 || restarts != 2 { // the fields, and "x" as their value
		t.Errorf("%d of %d fields after %d restarts", len(seen)-1, total, restarts)
	}
}
