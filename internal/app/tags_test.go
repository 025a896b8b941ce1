package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"retwis/internal/social"
)

func TestTagPosts(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		first := b.Publish(ada, "on #Go and #日本語")
		b.Publish(ada, "no tag, https://example.com/#go")
		second := b.Publish(bob, "＃ＧＯ")
		third := b.Publish(eve, "#go #go")
		see := func(viewer social.User, tag string) []int64 {
			t.Helper()
			v, err := b.Viewers.Get(b.Ctx, viewer)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for before := int64(0); ; {
				list, err := b.Tags.TagPosts(b.Ctx, v, tag, before, 1)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, shown(list)...)
				if before = list.Next; before == 0 {
					return got
				}
			}
		}
		if got, want := see(social.User{}, "#GO"), []int64{third, second, first}; !slices.Equal(got, want) {
			t.Errorf("posts with #GO: %v, want %v", got, want)
		}
		if got := see(ada, "日本語"); !slices.Equal(got, []int64{first}) {
			t.Errorf("posts with #日本語: %v, want %d", got, first)
		}
		if got := see(ada, "nothing"); got != nil {
			t.Errorf("posts with #nothing: %v, want none", got)
		}
		if err := b.Relations.Block(b.Ctx, eve, bob, b.Clock.Now().Add(1<<40)); err != nil {
			t.Fatal(err)
		}
		if err := b.Posts.Delete(b.Ctx, ada, first); err != nil {
			t.Fatal(err)
		}
		if got := see(bob, "go"); !slices.Equal(got, []int64{second}) {
			t.Errorf("posts with #go for a blocked viewer: %v, want %d", got, second)
		}
		if _, err := b.Tags.TagPosts(b.Ctx, &social.Viewer{}, "1 2", 0, 1); !errors.Is(err, social.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestFollowTag(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		follow := func(tag string, change func() error, want ...string) {
			t.Helper()
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Tags.FollowedTags(b.Ctx, ada.ID); err != nil || !slices.Equal(got, want) {
				t.Fatalf("FollowedTags = %v, %v; want %v", got, err, want)
			}
			follows, err := b.Tags.IsFollowingTag(b.Ctx, ada.ID, tag)
			if err != nil || follows != slices.Contains(want, strings.ToLower(tag)) {
				t.Fatalf("IsFollowingTag(%s) = %v, %v", tag, follows, err)
			}
		}
		follow("Go", func() error { return b.Tags.FollowTag(b.Ctx, ada, "Go") }, "go")
		first := b.Redis("ZSCORE", "following_tags:1", "go")
		b.Clock.Advance(60e9)
		follow("rust", func() error { return b.Tags.FollowTag(b.Ctx, ada, "#rust") }, "rust", "go")
		follow("go", func() error { return b.Tags.FollowTag(b.Ctx, ada, "GO") }, "rust", "go")
		if repeated := b.Redis("ZSCORE", "tag_followers:go", "1"); repeated != first {
			t.Errorf("followed at %q in following_tags, at %q in tag_followers", first, repeated)
		}
		id := b.Publish(bob, "about #go")
		if page, err := b.Timelines.Home(b.Ctx, ada.ID, 0, 10); err != nil || !slices.Equal(page.IDs, []int64{id}) {
			t.Errorf("Home = %v, %v; want %d", page, err, id)
		}
		follow("go", func() error { return b.Tags.UnfollowTag(b.Ctx, ada, "＃Go") }, "rust")
		follow("go", func() error { return b.Tags.UnfollowTag(b.Ctx, ada, "go") }, "rust")
		if left := b.Redis("EXISTS", "tag_followers:go"); left != "0" {
			t.Error("tag_followers:go is left")
		}
		if err := b.Tags.FollowTag(b.Ctx, ada, "12"); !errors.Is(err, social.ErrNotFound) {
			t.Error(err)
		}
		var wg sync.WaitGroup
		for i := range 510 {
			wg.Go(func() {
				err := b.Tags.FollowTag(b.Ctx, ada, fmt.Sprint("tag", i))
				var invalid *social.InvalidError
				if err != nil && !errors.As(err, &invalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := b.Redis("ZCARD", "following_tags:1"); n != "500" {
			t.Errorf("ada follows %s tags, want 500", n)
		}
		b.WantHealthy()
	})
}
