package app_test

import (
	"fmt"
	"slices"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// The public timeline keeps only the latest posts of an author who posts a lot; followers and the
// profile get all of them. A reader who reads page after page meanwhile sees every post of the
// other authors once.
func TestTimelineShare(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *bundle{
		"server":  func(t *testing.T) *bundle { return setup(t) },
		"cluster": func(t *testing.T) *bundle { return on(t, redistest.Cluster(t, 3).Client(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			loud, other, reader := b.NewUser("loud"), b.NewUser("other"), b.NewUser("reader")
			b.Connect(reader, loud)
			var floodIDs, others []int64
			for range 8 {
				others = append(others, b.Publish(other, "one of few"))
			}
			page, err := b.Timelines.Everybody(b.Ctx, 0, 3)
			if err != nil {
				t.Fatal(err)
			}
			seen := page.IDs
			for i := range storage.TimelineShare + 9 {
				floodIDs = append(floodIDs, b.Publish(loud, fmt.Sprint("flood ", i)))
			}
			for page.Next != 0 {
				if page, err = b.Timelines.Everybody(b.Ctx, page.Next, 3); err != nil {
					t.Fatal(err)
				}
				seen = append(seen, page.IDs...)
			}
			slices.Reverse(seen)
			if !slices.Equal(seen, others) {
				t.Errorf("the reader saw %v, want %v", seen, others)
			}
			all := func(read func(before int64) (timeline.Page, error)) []int64 {
				t.Helper()
				page, err := read(0)
				if err != nil {
					t.Fatal(err)
				}
				slices.Reverse(page.IDs)
				return page.IDs
			}
			public := func(before int64) (timeline.Page, error) { return b.Timelines.Everybody(b.Ctx, before, social.MaxPage) }
			want := slices.Concat(others, floodIDs[len(floodIDs)-storage.TimelineShare:])
			if got := all(public); !slices.Equal(got, want) {
				t.Errorf("the public timeline has %v, want %v", got, want)
			}
			for name, read := range map[string]func(before int64) (timeline.Page, error){
				"profile": func(before int64) (timeline.Page, error) {
					return b.Timelines.Profile(b.Ctx, loud.ID, before, social.MaxPage)
				},
				"home": func(before int64) (timeline.Page, error) {
					return b.Timelines.Home(b.Ctx, reader.ID, before, social.MaxPage)
				},
			} {
				if got := all(read); !slices.Equal(got, floodIDs) {
					t.Errorf("the %s has %v, want %v", name, got, floodIDs)
				}
			}
			// Repeating a fan-out later, because a process died, changes nothing.
			for _, id := range floodIDs[len(floodIDs)-storage.TimelineShare-3:] {
				if err := b.FanOut().Retry(b.Ctx, id); err != nil {
					t.Fatal(err)
				}
			}
			if got := all(public); !slices.Equal(got, want) {
				t.Errorf("after repeated fan-outs the public timeline has %v, want %v", got, want)
			}
			b.WantHealthy()
			// Removed posts do not come back, and the check does not report them as missing.
			for _, id := range floodIDs[9:] {
				if err := b.Posts.Delete(b.Ctx, loud, id); err != nil {
					t.Fatal(err)
				}
			}
			b.Eventually("the deletions to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
			if got := all(public); !slices.Equal(got, others) {
				t.Errorf("after the deletions the public timeline has %v, want %v", got, others)
			}
			b.WantHealthy()
		})
	}
}

// Reposts count, too; otherwise each repost would make room for one more post.
func TestTimelineShareOfReposts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	loud, other := b.NewUser("loud"), b.NewUser("other")
	for range storage.TimelineShare {
		b.Publish(loud, "flood")
		if _, err := b.Posts.Repost(b.Ctx, loud, b.Publish(other, "one of many")); err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.Timelines.Everybody(b.Ctx, 0, social.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := b.Views.Get(b.Ctx, page.IDs...)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, post := range posts {
		if post.Author.ID == loud.ID {
			n++
		}
	}
	if want := storage.TimelineShare/2 + storage.TimelineShare%2; n > want {
		t.Errorf("%d posts of one author, want at most %d", n, want)
	}
}
