package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// twoProcesses runs a test on a single server and on a Cluster, with two processes that use all
// caches.
func twoProcesses(t *testing.T, test func(t *testing.T, b, other *bundle)) {
	for name, url := range map[string]func(t *testing.T) string{
		"single":  func(t *testing.T) string { return redistest.DB(t).URL() },
		"cluster": func(t *testing.T) string { return redistest.Cluster(t, 3).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbURL := url(t)
			// Only b runs background jobs, so that b.RetryTasks can wait for all of them.
			test(t, &bundle{socialtest.Watched(t, dbURL)}, &bundle{socialtest.Watched(t, dbURL, noJobs)})
		})
	}
}

// item returns a post as a viewer sees it.
func (b *bundle) item(user social.User, id int64) timeline.Item {
	b.T.Helper()
	item, err := b.Lists.PostPage(b.Ctx, b.viewer(user), id)
	if err != nil {
		b.T.Fatalf("post %d as %s: %v", id, user.Name, err)
	}
	return item
}

// must fails the test if err is not nil.
func (b *bundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// repost writes a repost directly to the database.
func (b *bundle) repost(id, original int64, by social.User) {
	b.T.Helper()
	b.Redis("HSET", storage.PostKey(id), "user_id", storage.Itoa(by.ID), "time", "1700000000", "repost_of", storage.Itoa(original))
}

func TestLike(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		id := b.Publish(ada, "hello")
		repost, err := b.Posts.Repost(b.Ctx, eve, id)
		b.must(err)
		likes := func(user social.User, want int64, marked bool) {
			t.Helper()
			item := b.item(user, id)
			if item.Post.Counts.Likes != want || item.Marks&social.MarkLiked != 0 != marked {
				t.Errorf("%s sees %d likes, own like %v; want %d, %v", user.Name, item.Post.Counts.Likes, item.Marks&social.MarkLiked != 0, want, marked)
			}
		}
		likes(bob, 0, false)
		for range 2 { // a second like changes nothing, not even the time
			b.must(b.Reactions.Like(b.Ctx, bob, id))
			b.Clock.Advance(time.Minute)
			likes(bob, 1, true)
			likes(ada, 1, false)
		}
		if score := b.Redis("ZSCORE", storage.LikedKey(bob.ID), storage.Itoa(id)); score != "1700000000" {
			t.Errorf("liked at %q, want 1700000000", score)
		}
		b.must(b.Reactions.Like(b.Ctx, eve, repost.ID)) // through the repost
		likes(eve, 2, true)
		b.Eventually("the other process to see the likes", func() bool {
			item := other.item(eve, id)
			return item.Post.Counts.Likes == 2 && item.Marks == social.MarkLiked|social.MarkReposted
		})
		for _, page := range []int64{id, repost.ID} {
			people, err := b.Reactions.Likers(b.Ctx, b.viewer(ada), page, "", 10)
			if b.must(err); userNames(people.Users) != "eve bob" {
				t.Errorf("likers of %d: %s, want eve bob", page, userNames(people.Users))
			}
		}
		for range 2 {
			b.must(b.Reactions.Unlike(b.Ctx, eve, repost.ID))
			likes(eve, 1, false)
		}
		b.must(b.Reactions.Unlike(b.Ctx, bob, id))
		likes(bob, 0, false)
		for _, key := range []string{storage.LikersKey(id), storage.LikedKey(bob.ID), storage.LikedKey(eve.ID), storage.LikersKey(repost.ID)} {
			if b.Redis("EXISTS", key) != "0" {
				t.Errorf("%s is left", key)
			}
		}
		if n := b.Redis("HGET", storage.PostKey(repost.ID), "likes"); n != "" {
			t.Errorf("the repost itself has %s likes", n)
		}
	})
}

func TestLikeRefuses(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		deleted, hidden := b.Publish(ada, "deleted"), b.Publish(ada, "hidden")
		b.repost(1000, deleted, bob)
		b.item(bob, deleted)
		b.Redis("HSET", storage.PostKey(deleted), "deleted", "1700000000")
		b.Redis("SET", storage.PostKey(2000), "not a post")
		b.must(other.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		b.Eventually("the block to take effect", func() bool { return b.viewer(bob).Sees(ada.ID) == social.Hidden })
		for _, id := range []int64{0, -1, 77, 1 << 60, deleted, hidden, 1000, 2000} {
			for name, act := range map[string]func(context.Context, social.User, int64) error{"like": b.Reactions.Like, "bookmark": b.Reactions.Bookmark} {
				if err := act(b.Ctx, bob, id); !errors.Is(err, social.ErrNotFound) {
					t.Errorf("%s of post %d: %v, want ErrNotFound", name, id, err)
				}
			}
			for name, act := range map[string]func(context.Context, social.User, int64) error{"unlike": b.Reactions.Unlike, "unbookmark": b.Reactions.Unbookmark} {
				if err := act(b.Ctx, bob, id); err != nil {
					t.Errorf("%s of post %d: %v", name, id, err)
				}
			}
			if _, err := b.Reactions.Likers(b.Ctx, b.viewer(bob), id, "", 10); !errors.Is(err, social.ErrNotFound) {
				t.Errorf("likers of post %d: %v, want ErrNotFound", id, err)
			}
		}
		if b.Redis("EXISTS", storage.LikedKey(bob.ID)) != "0" || b.Redis("EXISTS", storage.BookmarksKey(bob.ID)) != "0" {
			t.Error("something was written")
		}
	})
}

// The script checks again what was checked in the cache, because a post may have been deleted
// since.
func TestLikeStoreRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	deleted := b.Publish(ada, "hello")
	b.repost(1000, deleted, ada)
	b.Redis("HSET", storage.PostKey(deleted), "deleted", "1700000000")
	for _, id := range []int64{deleted, 1000, 77} {
		if _, err := storage.NewReactions(b.DB).Like(b.Ctx, id, ada.ID, b.Clock.Now()); !errors.Is(err, storage.ErrNoPost) {
			t.Errorf("like of post %d: %v, want ErrNoPost", id, err)
		}
	}
}

// A like of a deleted post can be removed.
func TestUnlikeOfADeletedPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	id := b.Publish(ada, "hello")
	b.must(b.Reactions.Like(b.Ctx, ada, id))
	b.Redis("HSET", storage.PostKey(id), "deleted", "1700000000")
	if err := b.Reactions.Like(social.WithFresh(b.Ctx), ada, id); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("like of a deleted post: %v, want ErrNotFound", err)
	}
	b.must(b.Reactions.Unlike(b.Ctx, ada, id))
	if b.Redis("EXISTS", storage.LikersKey(id), storage.LikedKey(ada.ID)) != "0" {
		t.Error("the like of a deleted post is left")
	}
}

// wantLikes fails unless the likes of posts agree everywhere they are stored.
func (b *bundle) wantLikes(users []social.User, posts []int64) {
	b.T.Helper()
	for _, id := range posts {
		likers := strings.Fields(b.Redis("ZRANGE", storage.LikersKey(id), "0", "-1"))
		if n := b.Redis("HGET", storage.PostKey(id), "likes"); n != fmt.Sprint(len(likers)) && (n != "" || len(likers) > 0) {
			b.T.Errorf("post %d has the like count %q, but %d likers", id, n, len(likers))
		}
		for _, user := range users {
			likersScore := b.Redis("ZSCORE", storage.LikersKey(id), storage.Itoa(user.ID))
			likedScore := b.Redis("ZSCORE", storage.LikedKey(user.ID), storage.Itoa(id))
			if likersScore != likedScore {
				b.T.Errorf("user %d likes post %d at %q in %s, but at %q in %s", user.ID, id, likersScore, storage.LikersKey(id), likedScore, storage.LikedKey(user.ID))
			}
		}
	}
}

func TestLikesAtOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		users := []social.User{b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")}
		posts := []int64{b.Publish(users[0], "one"), b.Publish(users[1], "two")}
		for range 10 {
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					process := b
					if i%2 == 0 {
						process = other
					}
					for range 5 {
						user, post := users[rand.IntN(3)], posts[rand.IntN(2)]
						act := process.Reactions.Like
						if rand.IntN(2) == 0 {
							act = process.Reactions.Unlike
						}
						if err := act(b.Ctx, user, post); err != nil {
							t.Error(err)
						}
						process.Clock.Advance(time.Second)
					}
				})
			}
			wg.Wait()
			b.wantLikes(users, posts)
		}
	})
}

// If a process dies in the middle of a like or unlike, another like or unlike repairs the state.
func TestLikeCutShort(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.Cluster(t, 3).Client(t))
	ada := b.NewUser("ada")
	for _, act := range []func(context.Context, social.User, int64) error{b.Reactions.Like, b.Reactions.Unlike} {
		liked, unliked := b.Publish(ada, "one"), b.Publish(ada, "two")
		b.Redis("ZADD", storage.LikersKey(liked), "5", storage.Itoa(ada.ID))
		b.Redis("HSET", storage.PostKey(liked), "likes", "1")
		b.Redis("ZADD", storage.LikedKey(ada.ID), "5", storage.Itoa(unliked))
		for _, id := range []int64{liked, unliked} {
			b.must(act(b.Ctx, ada, id))
		}
		b.wantLikes([]social.User{ada}, []int64{liked, unliked})
	}
}

// interceptor is a client that calls before ahead of each command.
type interceptor struct {
	rueidis.Client
	before func(command []string)
}

func (i *interceptor) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	i.before(cmd.Commands())
	return i.Client.Do(ctx, cmd)
}

func (i *interceptor) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	for _, cmd := range cmds {
		i.before(cmd.Commands())
	}
	return i.Client.DoMulti(ctx, cmds...)
}

// interceptFirst returns a process on a Cluster that calls act ahead of its first command that
// starts with command.
func interceptFirst(t *testing.T, act func(b *bundle), command ...string) *bundle {
	client := redistest.Cluster(t, 3).Client(t)
	other := on(t, client)
	var once sync.Once
	return on(t, &interceptor{Client: client, before: func(cmd []string) {
		if len(cmd) >= len(command) && slices.Equal(cmd[:len(command)], command) {
			once.Do(func() { act(other) })
		}
	}})
}

// On a Cluster a like is a sequence of commands. Another process may remove the like in the middle
// of this sequence.
func TestLikeIsReadAgain(t *testing.T) {
	t.Parallel()
	ada := social.User{ID: 1, Name: "ada"}
	b := interceptFirst(t, func(other *bundle) { other.must(other.Reactions.Unlike(other.Ctx, ada, 1)) }, "ZADD", storage.LikedKey(1))
	b.NewUser("ada")
	id := b.Publish(ada, "hello")
	b.must(b.Reactions.Like(b.Ctx, ada, id))
	b.wantLikes([]social.User{ada}, []int64{id})
	if n := b.Redis("EXISTS", storage.LikersKey(id)); n != "0" {
		t.Error("the like was not removed in the middle")
	}
}

func TestMarkedPosts(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		var all, ofAda []int64
		for i := range 30 {
			author := ada
			if i%3 == 0 {
				author = bob
			}
			id := b.Publish(author, "hello")
			b.must(b.Reactions.Like(b.Ctx, eve, id))
			b.must(b.Reactions.Bookmark(b.Ctx, eve, id))
			if i%4 == 0 {
				b.Clock.Advance(time.Second) // several likes have the same time
			}
			all = append(all, id)
			if author == ada {
				ofAda = append(ofAda, id)
			}
		}
		b.must(b.Reactions.Bookmark(b.Ctx, eve, all[0]))
		read := func(user social.User, list func(v *social.Viewer, cursor string) (posts.MarkedPosts, error)) []int64 {
			t.Helper()
			var ids []int64
			for cursor := ""; ; {
				page, err := list(b.viewer(user), cursor)
				b.must(err)
				for _, item := range page.Items {
					ids = append(ids, item.Post.ID)
					if user.ID == eve.ID != (item.Marks == social.MarkLiked|social.MarkSaved) {
						t.Errorf("%s sees the marks %d on post %d", user.Name, item.Marks, item.Post.ID)
					}
				}
				if cursor = page.Next; cursor == "" {
					return ids
				}
			}
		}
		likes := func(v *social.Viewer, cursor string) (posts.MarkedPosts, error) {
			return b.Reactions.LikedPosts(b.Ctx, v, eve.ID, cursor, 4)
		}
		bookmarks := func(v *social.Viewer, cursor string) (posts.MarkedPosts, error) {
			return b.Reactions.BookmarkedPosts(b.Ctx, v, cursor, 4)
		}
		same := func(what string, got, want []int64) {
			t.Helper()
			got, want = slices.Clone(got), slices.Clone(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		same("eve's likes", read(eve, likes), all)
		same("eve's likes as a stranger sees them", read(social.User{}, likes), all)
		same("eve's bookmarks", read(eve, bookmarks), all)
		same("ada's bookmarks", read(ada, bookmarks), nil)
		same("a stranger's bookmarks", read(social.User{}, bookmarks), nil)
		b.must(b.Relations.Block(b.Ctx, bob, eve, time.Time{}))
		same("eve's likes after bob has blocked her", read(eve, likes), ofAda)
		same("eve's bookmarks after the block", read(eve, bookmarks), ofAda)
		same("eve's likes as bob sees them", read(bob, likes), nil)
		b.must(b.Relations.Mute(b.Ctx, eve, ada, time.Time{}))
		same("eve's bookmarks after she has muted ada too", read(eve, bookmarks), nil)
		var invalid *social.InvalidError
		if _, err := likes(b.viewer(ada), "x"); !errors.As(err, &invalid) {
			t.Errorf("a malformed cursor: %v, want an InvalidError", err)
		}
		b.must(b.Reactions.Unbookmark(b.Ctx, eve, all[1]))
		if n := b.Redis("ZCARD", storage.BookmarksKey(eve.ID)); n != "29" {
			t.Errorf("%s bookmarks are left, want 29", n)
		}
	})
}

// A post that another process has just deleted cannot be liked or bookmarked, even while it is
// cached.
func TestDeletedElsewhere(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bea, cem := b.NewUser("ada"), b.NewUser("bea"), b.NewUser("cem")
		for name, act := range map[string]func(ctx context.Context, user social.User, id int64) error{
			"like": b.Reactions.Like, "bookmark": b.Reactions.Bookmark,
		} {
			post, err := b.Posts.Post(b.Ctx, ada, name)
			if err != nil {
				t.Fatal(err)
			}
			repost, err := b.Posts.Repost(b.Ctx, bea, post.ID)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := b.Posts.Repost(b.Ctx, cem, post.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, deleted := range []social.Post{repost, post} {
				if _, err := b.Views.Get(b.Ctx, deleted.ID, kept.ID); err != nil {
					t.Fatal(err)
				}
				if err := other.Posts.Delete(b.Ctx, deleted.Author, deleted.ID); err != nil {
					t.Fatal(err)
				}
				if err := act(b.Ctx, ada, deleted.ID); !errors.Is(err, social.ErrNotFound) {
					t.Errorf("%s of deleted post %d: %v, want ErrNotFound", name, deleted.ID, err)
				}
			}
			if err := act(b.Ctx, ada, kept.ID); !errors.Is(err, social.ErrNotFound) {
				t.Errorf("%s of a repost of a deleted post: %v, want ErrNotFound", name, err)
			}
		}
	})
}
