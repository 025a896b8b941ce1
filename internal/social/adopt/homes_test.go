package adopt_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social/adopt"
	"retwis/internal/social/socialtest"
)

// After the keys of a Cluster are loaded into a single server, Adopt converts all home timelines to
// the form of a single server: expired timelines, partly built timelines, and timelines to which
// celebrities' posts are added on reading. No converted timeline has a TTL, even if the conversion
// was interrupted.
func TestHomesOfACluster(t *testing.T) {
	t.Parallel()
	stride := int64(397) // reading the buckets of names takes 4,096 commands
	if redistest.Long {
		stride = 13
	}
	b := setup(t)
	star, friend := b.NewUser("star"), b.NewUser("friend")
	readers := map[string]string{} // keys of home timelines, by user name
	for _, name := range []string{"expired", "begun", "merged", "complete", "follows_nobody"} {
		reader := b.NewUser(name)
		if name != "follows_nobody" {
			b.Connect(reader, friend)
		}
		if name == "expired" || name == "merged" {
			b.Connect(reader, star)
		}
		readers[name] = fmt.Sprintf("posts:%d", reader.ID)
	}
	var starPosts []string
	for i := range 6 {
		b.Publish(friend, fmt.Sprint("from a friend ", i))
		starPosts = append(starPosts, fmt.Sprint(b.Publish(star, fmt.Sprint("from a star ", i))))
	}
	b.Eventually("the fan-outs to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	want := map[string]string{}
	for name, key := range readers {
		want[name] = b.Redis("LRANGE", key, "0", "-1")
	}
	if len(strings.Fields(want["merged"])) != 12 || len(strings.Fields(want["complete"])) != 6 || want["follows_nobody"] != "" {
		t.Fatalf("home timelines before the conversion: %q", want)
	}
	for cut := int64(0); ; cut += stride {
		b.Redis("SET", "layout_version", "1 cluster")
		b.Redis("ZADD", "celebrities", starPosts[2], fmt.Sprint(star.ID))
		b.Redis("DEL", readers["expired"])
		b.Redis("DEL", readers["begun"])
		b.Redis("RPUSH", readers["begun"], "-77")
		for _, post := range starPosts[2:] {
			b.Redis("LREM", readers["merged"], "0", post)
		}
		for _, name := range []string{"merged", "complete", "follows_nobody"} {
			b.Redis("RPUSH", readers[name], "0")
			b.Redis("EXPIRE", readers[name], "1000")
		}
		process := socialtest.Dying(b.DB, cut)
		err := adopt.New(process, socialtest.Quiet()).Adopt(b.Ctx, nil)
		completed := err == nil && process.Left() > 0
		if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
			t.Fatalf("killed after %d: %v", cut, err)
		}
		for name, key := range readers {
			if got := b.Redis("LRANGE", key, "0", "-1"); got != want[name] {
				t.Errorf("killed after %d: %s has %s, want %s", cut, name, got, want[name])
			}
			if ttl := b.Redis("TTL", key); ttl != "-1" && want[name] != "" {
				t.Errorf("killed after %d: %s has a TTL of %s s, want none", cut, name, ttl)
			}
		}
		if left := b.Redis("EXISTS", "celebrities") + b.Redis("GET", "layout_version"); left != "01" {
			t.Errorf("killed after %d: celebrities exists and layout_version: %q, want 0 and 1", cut, left)
		}
		b.WantHealthy()
		if t.Failed() || completed {
			break
		}
	}
}
