package app_test

import (
	"fmt"
	"sync"
	"testing"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// A form that is sent ten times at once through two processes creates one post, also as a reply.
func TestRepeatedForm(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, ben := b.NewUser("ada"), b.NewUser("ben")
		b.Connect(ben, ada)
		first := b.Publish(ada, "to reply to")
		processes := []*bundle{b, other}
		for name, send := range map[string]func(b *bundle) (social.Post, error){
			"post": func(b *bundle) (social.Post, error) {
				return b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: "twice @ben"})
			},
			"reply": func(b *bundle) (social.Post, error) {
				return b.Posts.ReplyOnce(b.Ctx, ada, first, posts.Draft{Body: "twice @ben"})
			},
		} {
			ids := make([]int64, 10)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() {
					post, err := send(processes[i%2])
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					ids[i] = post.ID
				})
			}
			wg.Wait()
			for _, id := range ids {
				if id != ids[0] || id == 0 {
					t.Fatalf("%s: posts %d, want one", name, ids)
				}
			}
		}
		page, err := b.Lists.ProfilePosts(b.Ctx, b.viewer(ada), ada.ID, 0, 20)
		b.must(err)
		if len(page.Items) != 2 {
			t.Errorf("the profile has %d posts, want 2", len(page.Items))
		}
		if got := b.item(ada, first).Post.Counts.Replies; got != 1 {
			t.Errorf("%d replies, want 1", got)
		}
		b.Eventually("ben to be notified once of each post", func() bool {
			page, err := b.Notifications.Page(b.Ctx, b.viewer(ben), "", 20)
			n := 0
			for _, group := range page.Groups {
				if group.Kind == notify.Mention {
					n += group.Count
				}
			}
			return err == nil && n == 2
		})
		b.WantHealthy()
	})
}

// A post with the same text is no repetition if the earlier post was deleted or edited, is by
// another author, or replies to another post.
func TestNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	seen := map[int64]string{}
	send := func(what string, post social.Post, err error) int64 {
		t.Helper()
		b.must(err)
		if before, ok := seen[post.ID]; ok {
			t.Errorf("%s is the same post as %s", what, before)
		}
		seen[post.ID] = what
		return post.ID
	}
	post := func(what string, author social.User, body string) int64 {
		t.Helper()
		p, err := b.Posts.PostOnce(b.Ctx, author, posts.Draft{Body: body})
		return send(what, p, err)
	}
	first := post("a post", ada, "text")
	post("another text", ada, "text.")
	post("another author", ben, "text")
	reply, err := b.Posts.ReplyOnce(b.Ctx, ada, first, posts.Draft{Body: "text"})
	send("a reply", reply, err)
	reply, err = b.Posts.ReplyOnce(b.Ctx, ada, reply.ID, posts.Draft{Body: "text"})
	send("a reply to the reply", reply, err)
	err = b.Posts.Edit(b.Ctx, ada, first, "other text")
	b.must(err)
	second := post("after an edit", ada, "text")
	b.must(b.Posts.Delete(b.Ctx, ada, second))
	third := post("after a deletion", ada, "text")
	if repeated, err := b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: "text"}); err != nil || repeated.ID != third {
		t.Errorf("the last post again is post %d, %v; want %d", repeated.ID, err, third)
	}
}

// Sending the form again finishes a post that a process left unfinished.
func TestRepeatedAfterCrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	b.Redis("SET", "next_post_id", "41")
	b.Redis("SET", storage.RepeatedKey(ada.ID, 0, "unfinished"), "41 1700000000", "PX", "60000")
	post, err := b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: "unfinished"})
	if err != nil || post.ID != 41 || post.Time.Unix() != 1700000000 {
		t.Fatalf("post %d at %v, %v, want 41", post.ID, post.Time, err)
	}
	if got := b.item(ada, 41).Post.Body; got != "unfinished" {
		t.Errorf("the post has the body %q, want unfinished", got)
	}
	b.WantHealthy()
}

// Users are notified of a post once, wherever its publication is interrupted, whether the author
// sends the form again or another process finishes the post.
func TestNotifiedOnce(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := on(t, client)
	ada, ben, carl := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl")
	first := b.Publish(carl, "to reply to")
	forms := map[string]func(b *bundle, body string) error{
		"post": func(b *bundle, body string) error {
			_, err := b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: body})
			return err
		},
		"reply": func(b *bundle, body string) error {
			_, err := b.Posts.ReplyOnce(b.Ctx, ada, first, posts.Draft{Body: body})
			return err
		},
	}
	lists := func() string {
		return b.Redis("ZCARD", storage.ProfileKey(ada.ID)) + b.Redis("ZCARD", storage.ProfileRepliesKey(ada.ID))
	}
	for name, send := range forms {
		for _, resent := range []bool{true, false} {
			for commands := int64(0); ; commands++ {
				b.Redis("DEL", storage.NotificationsKey(ben.ID), storage.NotificationsKey(carl.ID))
				before := lists()
				body := fmt.Sprintf("%s %d %v @ben", name, commands, resent)
				dying := socialtest.Dying(client, commands)
				if send(on(t, dying, func(opt *app.Options) { opt.NoJobs = true }), body) == nil && dying.Left() > 0 {
					break
				}
				if resent {
					b.must(send(b, body))
					b.must(send(b, body))
				} else {
					b.Expire()
					b.must(b.RetryTasks(b.Ctx))
				}
				wantBen, wantCarl := "0", "0"
				if lists() != before {
					wantBen = "1"
				} else if resent {
					t.Errorf("%s after %d commands: not published", name, commands)
				}
				if name == "reply" {
					wantCarl = wantBen
				}
				if got := b.Redis("LLEN", storage.NotificationsKey(ben.ID)) + b.Redis("LLEN", storage.NotificationsKey(carl.ID)); got != wantBen+wantCarl {
					t.Errorf("%s after %d commands, sent again %v: ben and carl have %s notifications, want %s", name, commands, resent, got, wantBen+wantCarl)
				}
			}
		}
	}
}
