//go:build long

package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/adopt"
)

// The old keys of a converted database are removed on demand; those that were not
// converted stay, and so do the keys of other programs.
func TestRemoveLegacy(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bundle{
		"single":  setup(t),
		"cluster": on(t, redistest.Cluster(t, 3).Client(t)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			article(b)
			if _, err := b.Adoption().RemoveLegacy(b.Ctx, true); !errors.Is(err, adopt.ErrNotConverted) {
				t.Errorf("before the conversion: %v, want ErrNotConverted", err)
			}
			if beside, err := b.Adoption().NotConverted(b.Ctx); !errors.Is(err, adopt.ErrNotConverted) || beside {
				t.Errorf("NotConverted = %t, %v", beside, err)
			}
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{
				{"SET", "uid:5:username", "antirez"}, // never converted
				{"SET", "auth:token", "of another program"},
				{"HSET", "uid:1000:posts:x", "a", "b"},
				{"SET", "username:", "x"},
				{"SET", "legacy:post:77", "1000|1|gone"},
			} {
				b.Redis(command...)
			}
			want := []adopt.LegacyKeys{
				{Kind: "counters", Removed: 2},
				{Kind: "follows", Removed: 2},
				{Kind: "names", Removed: 2},
				{Kind: "posts", Removed: 2, Kept: 1, Example: "legacy:post:77"},
				{Kind: "sessions", Removed: 1, Kept: 1, Example: "auth:token"},
				{Kind: "timelines", Removed: 3},
				{Kind: "users", Removed: 5, Kept: 1, Example: "uid:5:username"},
			}
			for _, remove := range []bool{false, true} {
				if got, err := b.Adoption().RemoveLegacy(b.Ctx, remove); err != nil || !slices.Equal(got, want) {
					t.Fatalf("RemoveLegacy(%t) = %+v, %v", remove, got, err)
				}
				exists := "1"
				if remove {
					exists = "0"
				}
				for _, key := range []string{"global:nextUserId", "uid:1000:password", "legacy:post:10343", "uid:1001:followers", "username:pippo:id"} {
					if got := b.Redis("EXISTS", key); got != exists {
						t.Errorf("EXISTS %s = %s after RemoveLegacy(%t)", key, got, remove)
					}
				}
			}
			for _, key := range []string{"uid:5:username", "auth:token", "uid:1000:posts:x", "username:", "legacy:post:77", "legacy:state"} {
				if b.Redis("EXISTS", key) != "1" {
					t.Errorf("%s is gone", key)
				}
			}
			if _, err := b.Auth.Login(b.Ctx, "antirez", "p1pp0"); err != nil {
				t.Error(err)
			}
			b.WantHealthy()
			for _, key := range []string{"uid:5:username", "auth:token", "legacy:post:77"} {
				b.Redis("DEL", key)
			}
			for range 2 {
				if got, err := b.Adoption().RemoveLegacy(b.Ctx, true); err != nil || len(got) != 0 {
					t.Errorf("a second time: %+v, %v", got, err)
				}
			}
			if b.Redis("EXISTS", "legacy:state") != "0" {
				t.Error("legacy:state is still there")
			}
			if _, err := b.Adoption().NotConverted(b.Ctx); err != nil {
				t.Error(err)
			}
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// An interrupted removal can be repeated.
func TestRemoveLegacyInterrupted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	article(b)
	for i := range 600 {
		b.Redis("SET", fmt.Sprintf("post:%d", i+1), "1000|1258000000|filler")
	}
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	for wait := 200 * time.Microsecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(b.Ctx, wait)
		_, err := b.Adoption().RemoveLegacy(ctx, true)
		cancel()
		if err == nil {
			break
		}
	}
	for _, pattern := range []string{"uid:*", "legacy:*", "global:*", "auth:*", "username:*"} {
		if keys := b.Redis("KEYS", pattern); keys != "" {
			t.Errorf("%s: %.100s", pattern, keys)
		}
	}
	if result := b.WantHealthy(); result.Posts != 602 {
		t.Errorf("check = %+v", result)
	}
	if got := b.Redis("HGET", "post:10343", "body"); !strings.Contains(got, "having fun") {
		t.Errorf("post:10343 = %q", got)
	}
}
