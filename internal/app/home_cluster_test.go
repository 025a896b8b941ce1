package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// merging returns a process that merges the posts of authors with three or more followers.
func merging(t *testing.T, url string) *socialtest.Bundle {
	t.Helper()
	return socialtest.Watched(t, url, func(opt *app.Options) { opt.CelebrityFollowers = 2 })
}

// homeOf reads a whole home timeline, limit posts at a time, bypassing all caches.
func homeOf(ctx context.Context, s *app.App, uid int64, limit int) ([]int64, error) {
	var all []int64
	v, err := s.Viewers.Get(ctx, social.User{ID: uid})
	if err != nil {
		return nil, err
	}
	for next := int64(0); ; {
		page, err := s.Lists.HomePosts(ctx, v, next, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, shown(page)...)
		if next = page.Next; next == 0 {
			return all, nil
		}
	}
}

func wantHome(t *testing.T, b *socialtest.Bundle, reader social.User, want ...int64) {
	t.Helper()
	for _, limit := range []int{1, 3, 50} {
		got, err := homeOf(social.WithFresh(b.Ctx), b.App, reader.ID, limit)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("home timeline of %s, %d posts per page: %v, want %v", reader.Name, limit, got, want)
		}
	}
}

// addFollowers creates n followers of author.
func addFollowers(b *socialtest.Bundle, author social.User, n int) (all []social.User) {
	for i := range n {
		all = append(all, b.NewUser(fmt.Sprintf("%s_fan%d", author.Name, i)))
		b.Connect(all[i], author)
	}
	return all
}

func TestMergedAuthors(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b, peer := merging(t, url), merging(t, url)
	star, other := b.NewUser("star"), b.NewUser("other")
	fans := addFollowers(b, star, 2)
	reader := fans[0]
	b.Connect(reader, other)
	wantHome(t, b, reader) // the home timeline exists now
	pushed := b.Publish(star, "to two")
	late := b.NewUser("late")
	b.Connect(late, star)
	first := b.Publish(star, "to three")
	between := b.Publish(other, "another one")
	second := b.Publish(star, "again #tea")
	if got := b.Redis("ZSCORE", "celebrities", storage.Itoa(star.ID)); got != storage.Itoa(first) {
		t.Fatalf("the first merged post is %q, want %d", got, first)
	}
	if got, want := b.Redis("LRANGE", storage.HomeKey(reader.ID), "0", "-1"), fmt.Sprint(between, pushed, 0); got != want {
		t.Fatalf("the list has %q, want %q", got, want)
	}
	wantHome(t, b, reader, second, between, first, pushed)
	wantHome(t, peer, reader, second, between, first, pushed)
	wantHome(t, b, late, second, first, pushed)
	wantHome(t, b, star, second, first, pushed)

	// This process sees its own writes at once, even without WithFresh.
	third := b.Publish(star, "and again")
	if page, err := b.Timelines.Home(b.Ctx, reader.ID, 0, 2); err != nil || !slices.Equal(page.IDs, []int64{third, second}) {
		t.Errorf("after a post: %+v, %v", page, err)
	}
	if err := b.Posts.Delete(b.Ctx, star, third); err != nil {
		t.Fatal(err)
	}
	if page, err := b.Timelines.Home(b.Ctx, reader.ID, 0, 2); err != nil || !slices.Equal(page.IDs, []int64{second, between}) {
		t.Errorf("after a deletion: %+v, %v", page, err)
	}
	peer.Eventually("the other process to see the deletion", func() bool {
		page, err := peer.Timelines.Home(peer.Ctx, reader.ID, 0, 2)
		return err == nil && slices.Equal(page.IDs, []int64{second, between})
	})

	// A reply is delivered to users who follow both authors.
	answer, err := b.Posts.Reply(b.Ctx, star, between, "an answer")
	if err != nil {
		t.Fatal(err)
	}
	wantHome(t, b, reader, answer.ID, second, between, first, pushed)
	wantHome(t, b, late, second, first, pushed)

	// After an unfollow, only posts with a tag that the reader follows stay.
	if err := b.Tags.FollowTag(b.Ctx, reader, "tea"); err != nil {
		t.Fatal(err)
	}
	if err := b.Follows.Unfollow(b.Ctx, reader, star); err != nil {
		t.Fatal(err)
	}
	wantHome(t, b, reader, second, between)
	b.Connect(reader, star)
	wantHome(t, b, reader, answer.ID, second, between, first, pushed)
	if err := b.Relations.Block(b.Ctx, star, late, social.Post{}.Time); err != nil {
		t.Fatal(err)
	}
	wantHome(t, b, late)
	// A merged author stays merged.
	last := b.Publish(star, "to two again")
	wantHome(t, b, reader, last, answer.ID, second, between, first, pushed)
	if got := b.Redis("LPOS", storage.HomeKey(reader.ID), storage.Itoa(last)); got != "" {
		t.Error("a later post of a merged author is on a home list")
	}
	b.WantHealthy()

	for member, score := range map[string]string{storage.Itoa(star.ID): "0.5", "999999": "7", "nobody": "3"} {
		b.Redis("ZADD", "celebrities", score, member)
	}
	found := 0
	if _, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(check.Problem) { found++ }}); err != nil || found != 3 {
		t.Errorf("the check found %d problems, want 3: %v", found, err)
	}
	b.WantHealthy()
	wantHome(t, b, reader, last, answer.ID, second, between, first, pushed)
}

// An author exceeds CelebrityFollowers while several processes post and others read page after
// page. Readers see all posts, each once and in order.
func TestSwitchToMerged(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b := merging(t, url)
	star, other := b.NewUser("star"), b.NewUser("other")
	readers := addFollowers(b, star, 2)
	for _, reader := range readers {
		b.Connect(reader, other)
		wantHome(t, b, reader)
	}
	var mu sync.Mutex
	var posted []int64
	var writers, pagers sync.WaitGroup
	var done atomic.Bool
	for i := range 4 {
		p, author := merging(t, url), star
		if i == 3 {
			author = other
		}
		writers.Go(func() {
			for n := range 25 {
				id := p.Publish(author, fmt.Sprint("post ", n))
				mu.Lock()
				posted = append(posted, id)
				mu.Unlock()
			}
		})
	}
	for _, reader := range readers {
		p := merging(t, url)
		pagers.Go(func() {
			for !done.Load() {
				mu.Lock()
				before := slices.Clone(posted)
				mu.Unlock()
				got, err := homeOf(social.WithFresh(p.Ctx), p.App, reader.ID, 7)
				if err != nil {
					t.Error(err)
					return
				}
				if !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("posts are out of order or duplicated: %v", got)
				}
				for _, id := range before {
					if !slices.Contains(got, id) {
						t.Errorf("%s does not see post %d, which was published before the read", reader.Name, id)
					}
				}
			}
		})
	}
	b.Eventually("more than 30 posts", func() bool { mu.Lock(); defer mu.Unlock(); return len(posted) > 30 })
	b.Connect(b.NewUser("third"), star) // one more than CelebrityFollowers
	writers.Wait()
	done.Store(true)
	pagers.Wait()
	slices.Sort(posted)
	slices.Reverse(posted)
	for _, reader := range readers {
		wantHome(t, b, reader, posted...)
	}
	first := b.Redis("ZSCORE", "celebrities", storage.Itoa(star.ID))
	if length := b.Redis("LLEN", storage.HomeKey(readers[0].ID)); first == "" || length == "101" {
		t.Errorf("no post was merged: the first merged post is %q, the list has %s entries", first, length)
	}
	b.WantHealthy()
}

func TestHomeExpires(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b := socialtest.Watched(t, url)
	ada, bob, cid := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cid")
	b.Connect(ada, bob)
	key := storage.HomeKey(ada.ID)
	one := b.Publish(bob, "one")
	if got := b.Redis("EXISTS", key); got != "0" {
		t.Fatal("a home timeline that nobody has viewed exists")
	}
	b.WantHealthy()
	wantHome(t, b, ada, one)
	if got := b.Redis("LRANGE", key, "0", "-1"); got != fmt.Sprint(one, 0) {
		t.Errorf("the list has %q, want %q", got, fmt.Sprint(one, 0))
	}
	if got := b.Redis("TTL", key); got != "2592000" && got != "2591999" {
		t.Errorf("the list expires after %s seconds, want 30 days", got)
	}
	// Other views on the same day do not postpone the expiry.
	b.Redis("EXPIRE", key, "1000")
	wantHome(t, b, ada, one)
	if got := b.Redis("TTL", key); len(got) > 4 {
		t.Errorf("after another view the list expires after %s seconds, want at most 1000", got)
	}
	// The first view in another process postpones the expiry.
	wantHome(t, socialtest.Watched(t, url), ada, one)
	if got := b.Redis("TTL", key); len(got) < 7 {
		t.Errorf("after the first view in another process the list expires after %s seconds, want 30 days", got)
	}
	b.Redis("DEL", key)
	two := b.Publish(bob, "two")
	reply, err := b.Posts.Reply(b.Ctx, bob, two, "to myself")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Posts.Reply(b.Ctx, bob, b.Publish(cid, "by a stranger"), "to a stranger"); err != nil {
		t.Fatal(err)
	}
	own, err := b.Posts.Repost(b.Ctx, ada, b.Publish(cid, "also by a stranger"))
	if err != nil {
		t.Fatal(err)
	}
	if b.Redis("EXISTS", key) != "0" {
		t.Fatal("a post has created a list")
	}
	wantHome(t, b, ada, own.ID, reply.ID, two, one)
	// The list expires before a later page is read.
	b.Redis("DEL", key)
	if page, err := b.Timelines.Home(b.Ctx, ada.ID, reply.ID, 1); err != nil || !slices.Equal(page.IDs, []int64{two}) {
		t.Errorf("a later page = %+v, %v", page, err)
	}
	// A process has died while it was creating the list.
	b.Redis("DEL", key)
	b.Redis("RPUSH", key, storage.Itoa(own.ID), "-77")
	wantHome(t, b, ada, own.ID, reply.ID, two, one)
	// The list was written on a single server, without the end marker 0.
	b.Redis("DEL", key)
	b.Redis("RPUSH", key, storage.Itoa(own.ID))
	wantHome(t, b, ada, own.ID, reply.ID, two, one)
	b.Redis("LREM", key, "0", "0")
	if page, err := b.Timelines.Home(b.Ctx, ada.ID, two, 5); err != nil || !slices.Equal(page.IDs, []int64{one}) || b.Redis("LINDEX", key, "-1") != "0" {
		t.Errorf("a later page = %+v, %v", page, err)
	}
	// The list of an empty timeline is not created again for each view.
	newcomer := b.NewUser("new")
	wantHome(t, b, newcomer)
	if got := b.Redis("LRANGE", storage.HomeKey(newcomer.ID), "0", "-1"); got != "0" {
		t.Errorf("the list of an empty home timeline is %q, want 0", got)
	}
	wantHome(t, b, newcomer)
	b.WantHealthy()
}

// Home timelines expire repeatedly while people post, follow and delete. In the end every reader
// has exactly the posts of the authors they follow.
func TestHomeExpiresMeanwhile(t *testing.T) {
	t.Parallel()
	url := redistest.Cluster(t, 3).URL()
	b := merging(t, url)
	var authors, readers []social.User
	for i := range 4 {
		authors = append(authors, b.NewUser(fmt.Sprint("author", i)))
	}
	for i := range 4 {
		reader := b.NewUser(fmt.Sprint("reader", i))
		readers = append(readers, reader)
		for _, author := range authors[:i+1] {
			b.Connect(reader, author)
		}
	}
	want := make([][]int64, len(authors))
	var writers, others sync.WaitGroup
	var done atomic.Bool
	for i, author := range authors {
		p := merging(t, url)
		writers.Go(func() {
			for n := range 25 {
				id := p.Publish(author, fmt.Sprint("post ", n))
				if n%5 == 4 {
					if err := p.Posts.Delete(p.Ctx, author, id); err != nil {
						t.Error(err)
					}
					continue
				}
				want[i] = append(want[i], id)
			}
		})
	}
	for range 2 {
		p := merging(t, url)
		others.Go(func() {
			for n := 0; !done.Load(); n++ {
				reader := readers[n%len(readers)]
				if n%3 == 0 {
					p.Redis("DEL", storage.HomeKey(reader.ID))
				}
				if _, err := homeOf(p.Ctx, p.App, reader.ID, 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	toggling := merging(t, url)
	others.Go(func() {
		for !done.Load() {
			err := toggling.Follows.Unfollow(toggling.Ctx, readers[3], authors[3])
			err = errors.Join(err, toggling.Follows.Follow(toggling.Ctx, readers[3], authors[3]), toggling.Follows.Unfollow(toggling.Ctx, readers[3], authors[3]))
			if err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	done.Store(true)
	others.Wait()
	for i, reader := range readers {
		followed := min(i+1, 3) // the last reader does not follow the last author
		var all []int64
		for _, posts := range want[:followed] {
			all = append(all, posts...)
		}
		slices.Sort(all)
		slices.Reverse(all)
		got, err := homeOf(social.WithFresh(b.Ctx), b.App, reader.ID, 10)
		if err != nil {
			t.Fatal(err)
		}
		// A post that was deleted while the list was being created may remain on the list, but is
		// not shown.
		posts, err := b.Posts.Posts(b.Ctx, got...)
		if err != nil {
			t.Fatal(err)
		}
		got = got[:0]
		for _, post := range posts {
			got = append(got, post.ID)
		}
		if !slices.Equal(got, all) {
			t.Errorf("the home timeline of %s is\n%v\nwant\n%v", reader.Name, got, all)
		}
	}
}

// homeReader returns a reader on a Cluster who follows n authors. If merged is true, the authors
// are merged.
func homeReader(b *testing.B, n int, merged bool) (*socialtest.Bundle, *social.Viewer) {
	b.Helper()
	s := socialtest.Watched(b, redistest.Cluster(b, 3).URL())
	reader := s.NewUser("reader")
	own := s.NewUser("friend")
	s.Connect(reader, own)
	for range 60 {
		s.Publish(own, "a post by a friend")
	}
	for i := range n {
		author := s.NewUser(fmt.Sprint("author", i))
		s.Redis("ZADD", storage.FollowingKey(reader.ID), "1600000000", storage.Itoa(author.ID))
		s.Redis("ZADD", storage.FollowersKey(author.ID), "1600000000", storage.Itoa(reader.ID))
		for range 10 {
			s.Publish(author, "a post by an author")
		}
		if merged {
			s.Redis("ZADD", "celebrities", "1", storage.Itoa(author.ID))
		}
	}
	for range 60 {
		s.Publish(own, "a post by a friend")
	}
	v, err := s.Viewers.Get(s.Ctx, reader)
	if err != nil {
		b.Fatal(err)
	}
	return s, v
}

// BenchmarkHome reads the first page of a cached home timeline of a reader who follows merged
// authors.
func BenchmarkHome(b *testing.B) {
	for _, n := range []int{0, 5, 50, 200} {
		b.Run(fmt.Sprint("merged=", n), func(b *testing.B) {
			s, v := homeReader(b, n, true)
			for b.Loop() {
				if page, err := s.Lists.HomePosts(s.Ctx, v, 0, 20); err != nil || len(page.Items) != 20 {
					b.Fatal(err, len(page.Items))
				}
			}
		})
	}
}

// BenchmarkHomeExpired rebuilds a home timeline of 200 followed authors.
func BenchmarkHomeExpired(b *testing.B) {
	s, v := homeReader(b, 200, false)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		s.Redis("DEL", storage.HomeKey(v.User.ID))
		b.StartTimer()
		if page, err := s.Timelines.Home(s.Ctx, v.User.ID, 0, 20); err != nil || len(page.IDs) != 20 {
			b.Fatal(err, len(page.IDs))
		}
	}
}
