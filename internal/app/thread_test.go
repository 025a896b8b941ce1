package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// outline formats a page of a conversation: a dot for each level, the ID, and the reason for a
// stub.
func outline(places []posts.ThreadPost) string {
	var parts []string
	for _, p := range places {
		stub := map[posts.Stub]string{posts.StubDeleted: "deleted", posts.StubUnavailable: "unavailable", posts.StubMuted: "muted"}[p.Stub]
		parts = append(parts, strings.Repeat(".", p.Depth)+storage.Itoa(p.ID)+stub)
	}
	return strings.Join(parts, " ")
}

func (b *bundle) thread(viewer social.User, id, after int64, limit int) posts.Thread {
	b.T.Helper()
	thread, err := b.Threads.Get(b.Ctx, b.viewer(viewer), id, after, limit)
	if err != nil {
		b.T.Fatalf("thread of %d after %d: %v", id, after, err)
	}
	return thread
}

func TestThread(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		root := b.Publish(ada, "root") // 1
		r2 := b.reply(bob, root, "2")
		r3 := b.reply(ada, root, "3")
		r4 := b.reply(eve, r2, "4")
		r5 := b.reply(ada, r4, "5")
		r6 := b.reply(bob, root, "6")
		want := func(viewer social.User, id int64, ancestors, replies string) {
			t.Helper()
			thread := b.thread(viewer, id, 0, 50)
			if a, r := outline(thread.Ancestors), outline(thread.Replies); a != ancestors || r != replies || thread.Post.ID != id || thread.Root != root {
				t.Errorf("thread of %d: %q, %q; want %q, %q", id, a, r, ancestors, replies)
			}
		}
		want(ada, root, "", ".2 ..4 ...5 .3 .6")
		want(ada, r4, "1 2", ".5")
		want(ada, r5, "1 2 4", "")
		b.must(b.Reactions.Like(b.Ctx, ada, r5))
		if got := b.thread(ada, root, 0, 50).Replies[2]; got.Marks != social.MarkLiked || got.Post.Counts.Likes != 1 {
			t.Errorf("marks %v, %v", got.Marks, got.Post.Counts)
		}
		// A deleted post stays as a stub while a post below it is visible.
		b.must(b.Posts.Delete(b.Ctx, eve, r4))
		want(ada, root, "", ".2 ..4deleted ...5 .3 .6")
		want(ada, r5, "1 2 4deleted", "")
		b.must(b.Posts.Delete(b.Ctx, bob, r6))
		want(ada, root, "", ".2 ..4deleted ...5 .3")
		if _, err := b.Threads.Get(b.Ctx, b.viewer(ada), r4, 0, 50); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("the thread of a deleted post: %v, want ErrNotFound", err)
		}
		// A hidden post is shown as a stub, too, or not at all if no post below it is visible.
		b.must(b.Relations.Mute(b.Ctx, ada, bob, time.Time{}))
		want(ada, root, "", ".2muted ..4deleted ...5 .3")
		want(ada, r2, "1", ".4deleted ..5")
		b.must(b.Relations.Unmute(b.Ctx, ada, bob))
		b.must(b.Relations.Block(b.Ctx, bob, eve, time.Time{}))
		want(eve, root, "", ".2unavailable ..4deleted ...5 .3")
		want(eve, r5, "1 2unavailable 4deleted", "")
		b.must(b.Relations.Block(b.Ctx, ada, eve, time.Time{}))
		if _, err := b.Threads.Get(b.Ctx, b.viewer(eve), root, 0, 50); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("the thread of a hidden post: %v, want ErrNotFound", err)
		}
		repost, err := b.Posts.Repost(b.Ctx, bob, r3)
		b.must(err)
		if got := b.thread(ada, repost.ID, 0, 50); got.Post.ID != r3 {
			t.Errorf("the thread of a repost is that of post %d, want %d", got.Post.ID, r3)
		}
		b.must(b.Posts.Delete(b.Ctx, ada, r5))
		want(bob, root, "", ".2 .3")
		b.must(b.Posts.Delete(b.Ctx, ada, root))
		want(bob, r2, "1deleted", "")
		var invalid *social.InvalidError
		if _, err := b.Threads.Get(b.Ctx, b.viewer(bob), r2, 999, 50); !errors.As(err, &invalid) {
			t.Errorf("a cursor of another conversation: %v, want an InvalidError", err)
		}
	})
}

// While another process adds and deletes replies, the pages of a conversation show each reply at
// most once and omit no reply that existed all the time.
func TestThreadPages(t *testing.T) {
	t.Parallel()
	url := redistest.DB(t).URL()
	b, other := &bundle{socialtest.Watched(t, url)}, &bundle{socialtest.Watched(t, url)}
	ada := b.NewUser("ada")
	root := b.Publish(ada, "root")
	ids := []int64{root}
	add := func(process *bundle) int64 {
		id := process.reply(ada, ids[rand.IntN(len(ids))], "reply")
		ids = append(ids, id)
		return id
	}
	for range 60 {
		add(b)
	}
	remaining := map[int64]bool{}
	for _, p := range b.thread(ada, root, 0, 200).Replies {
		remaining[p.ID] = true
	}
	if len(remaining) != 60 {
		t.Fatalf("%d replies, want 60", len(remaining))
	}
	seen := map[int64]bool{}
	for after := int64(0); ; {
		page := b.thread(ada, root, after, 7)
		for _, p := range page.Replies {
			if seen[p.ID] {
				t.Fatalf("reply %d is listed twice", p.ID)
			}
			seen[p.ID] = true
		}
		if after = page.Next; after == 0 {
			break
		}
		for range 3 {
			add(other)
		}
		// The cursor itself and another post are deleted.
		for _, id := range []int64{after, ids[1+rand.IntN(len(ids)-1)]} {
			b.must(other.Posts.Delete(b.Ctx, ada, id))
			delete(remaining, id)
			ids = slices.DeleteFunc(ids, func(x int64) bool { return x == id })
		}
		key := storage.ThreadKey(root)
		n := other.Redis("ZCARD", key)
		b.Eventually("the changes of the other process to be seen", func() bool {
			got, err := b.DB.DoCache(b.Ctx, b.DB.B().Zcard().Key(key).Cache(), time.Minute).AsInt64()
			return err == nil && fmt.Sprint(got) == n
		})
	}
	for id := range remaining {
		if !seen[id] {
			t.Errorf("reply %d is missing", id)
		}
	}
}

// Damaged conversations are shown as far as possible: with lost parents, parents later than their
// replies, or replies to each other.
func TestDamagedThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	root := b.Publish(ada, "root")
	for range 6 {
		b.reply(ada, root, "reply")
	}
	b.Redis("HSET", "post:3", "parent", "4")
	b.Redis("HSET", "post:4", "parent", "3")
	b.Redis("HSET", "post:5", "parent", "99")
	b.Redis("DEL", "post:6")
	b.Redis("SET", "post:6", "not a hash")
	b.Redis("ZADD", "thread:1", "50", "50", "6.5", "nonsense")
	b.Redis("ZREM", "thread:1", "nonsense", "2")
	b.Redis("HSET", "post:7", "parent", "2") // post 2 exists, but is not listed
	thread := b.thread(ada, root, 0, 50)
	if got := outline(thread.Replies); got != ".2 ..7 .3 ..4 .5" {
		t.Errorf("replies: %q", got)
	}
	if got := outline(b.thread(ada, 5, 0, 50).Ancestors); got != "1 99deleted" {
		t.Errorf("ancestors of 5: %q, want 1 99deleted", got)
	}
	deepest := root
	for range 30 {
		deepest = b.reply(ada, deepest, "deeper")
	}
	if thread = b.thread(ada, deepest, 0, 50); len(thread.Ancestors) != 20 || !thread.Further {
		t.Errorf("%d ancestors, Further %v; want 20, true", len(thread.Ancestors), thread.Further)
	}
}
