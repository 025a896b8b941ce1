package adopt_test

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// All features work on the posts of an adopted database of the 2014 tutorial.
func TestConversationsOnOldDatabase(t *testing.T) {
	t.Parallel()
	for server, open := range map[string]func(t *testing.T) *bundle{
		"single":  func(t *testing.T) *bundle { return setup(t) },
		"cluster": func(t *testing.T) *bundle { return on(t, redistest.Cluster(t, 3).Client(t)) },
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.Clock.Unix.Store(1_800_000_000)
			php(b)
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Fatal(err)
			}
			b.WantHealthy()
			b.converse("antirez", "Pippo", 30, 29)
			b.Eventually("the tasks to end", func() bool {
				return b.Redis("EXISTS", "tasks") == "0"
			})
			b.WantHealthy()
		})
	}
}

// converse uses the new features on two old posts.
func (b *bundle) converse(authorName, readerName string, id, other int64) {
	b.T.Helper()
	author, err := b.Users.UserByName(b.Ctx, authorName)
	if err != nil {
		b.T.Fatal(err)
	}
	reader, err := b.Users.UserByName(b.Ctx, readerName)
	if err != nil {
		b.T.Fatal(err)
	}
	reply, err := b.Posts.Reply(b.Ctx, reader, id, "after all these years @"+author.Name)
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err = b.Posts.Repost(b.Ctx, reader, id); err != nil {
		b.T.Fatal(err)
	}
	if err = b.Posts.Edit(b.Ctx, author, id, "edited #tea"); err != nil {
		b.T.Fatal(err)
	}
	for action, err := range map[string]error{
		"like":     b.Reactions.Like(b.Ctx, reader, id),
		"bookmark": b.Reactions.Bookmark(b.Ctx, reader, id),
		"pin":      b.Profiles.Pin(b.Ctx, author, id),
		"follow":   b.Follows.Follow(b.Ctx, reader, author),
		"tag":      b.Tags.FollowTag(b.Ctx, reader, "tea"),
		"delete":   b.Posts.Delete(b.Ctx, reader, other),
	} {
		if err != nil {
			b.T.Errorf("%s: %v", action, err)
		}
	}
	v, err := b.Viewers.Get(b.Ctx, reader)
	if err != nil {
		b.T.Fatal(err)
	}
	item, err := b.Lists.PostPage(b.Ctx, v, id)
	want := social.PostCounts{Replies: 1, Reposts: 1, Likes: 1}
	if err != nil || item.Post.Counts != want || item.Post.Body != "edited #tea" || item.Marks != social.MarkLiked|social.MarkReposted|social.MarkSaved {
		b.T.Errorf("the old post is %+v, %v", item, err)
	}
	thread, err := b.Threads.Get(b.Ctx, v, id, 0, 10)
	if err != nil || len(thread.Replies) != 1 || thread.Replies[0].ID != reply.ID {
		b.T.Errorf("thread = %+v, %v", thread, err)
	}
	if _, err := b.Lists.PostPage(b.Ctx, v, other); !errors.Is(err, social.ErrNotFound) {
		b.T.Errorf("PostPage of the deleted post: %v, want ErrNotFound", err)
	}
	home, err := b.Lists.HomePosts(b.Ctx, v, 0, 50)
	if err != nil || len(home.Items) == 0 || home.Items[0].Post.ID == other {
		b.T.Errorf("home = %+v, %v", home, err)
	}
	page, err := b.Notifications.Page(b.Ctx, v, "", 10)
	if err != nil || len(page.Groups) != 0 {
		b.T.Errorf("notifications of the reader: %+v, %v; want none", page, err)
	}
	if v, err = b.Viewers.Get(b.Ctx, author); err != nil {
		b.T.Fatal(err)
	}
	if page, err = b.Notifications.Page(b.Ctx, v, "", 10); err != nil || len(page.Groups) < 3 {
		b.T.Errorf("notifications of the author: %+v, %v; want at least 3 groups", page, err)
	}
	if err := b.Relations.Block(b.Ctx, author, reader, time.Time{}); err != nil {
		b.T.Error(err)
	}
	if _, err := b.Posts.Reply(b.Ctx, reader, id, "and now?"); !errors.Is(err, social.ErrNotFound) {
		b.T.Errorf("Reply by a blocked user: %v, want ErrNotFound", err)
	}
}
