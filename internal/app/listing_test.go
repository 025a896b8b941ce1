package app_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// shown returns the IDs of the posts on a list; for reposts, the ID of the repost.
func shown(list timeline.Listing) []int64 {
	var ids []int64
	for _, item := range list.Items {
		ids = append(ids, item.Entry.ID)
	}
	return ids
}

// A process sees another process's change of a post within about a second. It does not read an
// unchanged post again.
func TestViewsFollowChanges(t *testing.T) {
	t.Parallel()
	url := redistest.DB(t).URL()
	a, b := socialtest.Watched(t, url), socialtest.Watched(t, url)
	id := a.Publish(a.NewUser("ada"), "one")
	likes := func() int64 {
		views, err := b.Views.Get(b.Ctx, id)
		if err != nil || views[0] == nil {
			t.Fatal(views, err)
		}
		return views[0].Counts.Likes
	}
	a.Eventually("the publication to end", func() bool { return a.Redis("EXISTS", storage.Tasks) == "0" })
	if err := b.Ping(b.Ctx); err != nil { // now b has received all changes made by the publication
		t.Fatal(err)
	}
	likes()
	read, _ := b.Views.Stats()
	likes()
	if reread, _ := b.Views.Stats(); reread != read {
		t.Fatal("a post that has not changed was read again")
	}
	if err := a.DB.Do(a.Ctx, a.DB.B().Hset().Key(storage.PostKey(id)).FieldValue().FieldValue("likes", "7").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	b.Eventually("the change to be seen", func() bool { return likes() == 7 })
	if reread, _ := b.Views.Stats(); reread != read+1 {
		t.Fatalf("read %d times for one change", reread-read)
	}
}

func TestListingHidesAndMarks(t *testing.T) {
	t.Parallel()
	b := socialtest.Watched(t, redistest.DB(t).URL())
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	var ids []int64
	for _, author := range []social.User{ada, bob, eve, bob, ada, eve} {
		ids = append(ids, b.Publish(author, "hello"))
	}
	see := func(user social.User) []int64 {
		t.Helper()
		v, err := b.Viewers.Get(b.Ctx, user)
		if err != nil {
			t.Fatal(err)
		}
		list, err := b.Lists.PublicPosts(b.Ctx, v, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		got := shown(list)
		for list.Next != 0 {
			if list, err = b.Lists.PublicPosts(b.Ctx, v, list.Next, 2); err != nil {
				t.Fatal(err)
			}
			got = append(got, shown(list)...)
		}
		return got
	}
	zadd := func(key string, score float64, member int64) {
		t.Helper()
		b.Redis("ZADD", key, strconv.FormatFloat(score, 'f', 0, 64), storage.Itoa(member))
	}
	if got, want := see(ada), []int64{ids[5], ids[4], ids[3], ids[2], ids[1], ids[0]}; !slices.Equal(got, want) {
		t.Fatalf("before: %v, want %v", got, want)
	}
	forever := float64(time.Now().Add(time.Hour).Unix())
	zadd(storage.BlockedKey(ada.ID), forever, bob.ID)
	if got, want := see(ada), []int64{ids[5], ids[4], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("blocked: %v, want %v", got, want)
	}
	zadd(storage.BlockersKey(bob.ID), forever, ada.ID)
	if got, want := see(bob), []int64{ids[5], ids[3], ids[2], ids[1]}; !slices.Equal(got, want) {
		t.Errorf("blocked by another: %v, want %v", got, want)
	}
	zadd(storage.MutedKey(ada.ID), forever, eve.ID)
	if got, want := see(ada), []int64{ids[4], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("muted: %v, want %v", got, want)
	}
	zadd(storage.MutedKey(ada.ID), 1, eve.ID)
	if got, want := see(ada), []int64{ids[5], ids[4], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("muted until the past: %v, want %v", got, want)
	}
	zadd(storage.LikedKey(ada.ID), 1, ids[2])
	v, err := b.Viewers.Get(b.Ctx, ada)
	if err != nil {
		t.Fatal(err)
	}
	items, err := b.Lists.Items(b.Ctx, v, ids...)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		if liked := item.Marks&social.MarkLiked != 0; liked != (item.Post.ID == ids[2]) {
			t.Errorf("post %d: liked %v", item.Post.ID, liked)
		}
	}
}
