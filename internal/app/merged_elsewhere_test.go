package app_test

import (
	"slices"
	"testing"

	"retwis/internal/redistest"
)

// A process that caches the latest posts of a merged author shows later posts of another process,
// and hides posts that the other process deletes.
func TestMergedPostsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b, peer := merging(t, url), merging(t, url)
	star := b.NewUser("star")
	reader := addFollowers(b, star, 3)[0]
	want := []int64{b.Publish(star, "first")}
	wantEventually := func(what string) {
		t.Helper()
		peer.Eventually(what, func() bool {
			page, err := peer.Timelines.Home(peer.Ctx, reader.ID, 0, 5)
			return err == nil && slices.Equal(page.IDs, want)
		})
	}
	wantEventually("the other process to show the first post")
	for range 2 {
		want = slices.Insert(want, 0, b.Publish(star, "later"))
		wantEventually("the other process to show a later post")
	}
	if err := b.Posts.Delete(b.Ctx, star, want[0]); err != nil {
		t.Fatal(err)
	}
	want = want[1:]
	wantEventually("the other process to show the deletion")
}
