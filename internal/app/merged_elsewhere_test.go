package app_test

import (
	"slices"
	"testing"

	"retwis/internal/redistest"
)

// A process that caches the latest posts of a merged author shows posts that another process
// publishes later, and not those that it deletes.
func TestMergedPostsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b, elsewhere := merging(t, url), merging(t, url)
	star := b.NewUser("star")
	reader := crowdOf(b, star, 3)[0]
	want := []int64{b.Publish(star, "first")}
	shows := func(what string) {
		t.Helper()
		elsewhere.Eventually(what, func() bool {
			page, err := elsewhere.Timelines.Home(elsewhere.Ctx, reader.ID, 0, 5)
			return err == nil && slices.Equal(page.IDs, want)
		})
	}
	shows("the other process to show the first post")
	for range 2 {
		want = slices.Insert(want, 0, b.Publish(star, "later"))
		shows("the other process to show a later post")
	}
	if err := b.Posts.Delete(b.Ctx, star, want[0]); err != nil {
		t.Fatal(err)
	}
	want = want[1:]
	shows("the other process to show the deletion")
}
