package adopt_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social/adopt"
	"retwis/internal/social/socialtest"
)

// On a single server into which the keys of a Cluster were loaded, home timelines end up as that
// server would have written them: expired ones, those that were being built, and those that were
// merged with the posts of others. None expires afterwards, whatever interrupts the conversion.
func TestHomesOfACluster(t *testing.T) {
	t.Parallel()
	stride := int64(397) // the buckets of names alone are 4,096 commands
	if redistest.Long {
		stride = 13
	}
	b := setup(t)
	star, friend := b.NewUser("star"), b.NewUser("friend")
	readers := map[string]string{} // the home timelines before, by key
	for _, name := range []string{"expired", "begun", "merged", "whole", "follows_nobody"} {
		reader := b.NewUser(name)
		if name != "follows_nobody" {
			b.Connect(reader, friend)
		}
		if name == "expired" || name == "merged" {
			b.Connect(reader, star)
		}
		readers[name] = fmt.Sprintf("posts:%d", reader.ID)
	}
	var theirs []string
	for i := range 6 {
		b.Publish(friend, fmt.Sprint("from a friend ", i))
		theirs = append(theirs, fmt.Sprint(b.Publish(star, fmt.Sprint("from a star ", i))))
	}
	b.Eventually("the fan-outs to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	want := map[string]string{}
	for name, key := range readers {
		want[name] = b.Redis("LRANGE", key, "0", "-1")
	}
	if len(strings.Fields(want["merged"])) != 12 || len(strings.Fields(want["whole"])) != 6 || want["follows_nobody"] != "" {
		t.Fatalf("before: %q", want)
	}
	for cut := int64(0); ; cut += stride {
		b.Redis("SET", "layout_version", "1 cluster")
		b.Redis("ZADD", "celebrities", theirs[2], fmt.Sprint(star.ID))
		b.Redis("DEL", readers["expired"])
		b.Redis("DEL", readers["begun"])
		b.Redis("RPUSH", readers["begun"], "-77")
		for _, post := range theirs[2:] {
			b.Redis("LREM", readers["merged"], "0", post)
		}
		for _, name := range []string{"merged", "whole", "follows_nobody"} {
			b.Redis("RPUSH", readers[name], "0")
			b.Redis("EXPIRE", readers[name], "1000")
		}
		process := socialtest.Dying(b.DB, cut)
		err := adopt.New(process, socialtest.Quiet()).Adopt(b.Ctx, nil)
		ended := err == nil && process.Left() > 0
		if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
			t.Fatalf("killed after %d: %v", cut, err)
		}
		for name, key := range readers {
			if got := b.Redis("LRANGE", key, "0", "-1"); got != want[name] {
				t.Errorf("killed after %d: %s has %s, want %s", cut, name, got, want[name])
			}
			if ttl := b.Redis("TTL", key); ttl != "-1" && want[name] != "" {
				t.Errorf("killed after %d: %s expires in %s s", cut, name, ttl)
			}
		}
		if left := b.Redis("EXISTS", "celebrities") + b.Redis("GET", "layout_version"); left != "01" {
			t.Errorf("killed after %d: %s", cut, left)
		}
		b.WantHealthy()
		if t.Failed() || ended {
			break
		}
	}
}
