package media_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
)

// process runs f in another process of the site, which ends before f returns.
func (b bundle) process(client rueidis.Client, f func(service *app.App) error) error {
	b.T.Helper()
	service, err := app.New(client, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash, NoJobs: true, Media: b.place})
	if err != nil {
		b.T.Fatal(err)
	}
	defer service.Close()
	return f(service)
}

// A process is killed after some of its commands: while it uploads pictures and posts them, deletes
// the post, or removes the account. Another process continues. Then each post has its pictures, and
// a check finds only pictures that it deletes.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(b bundle, service *app.App, owner social.User, post int64) error{
		"post": func(b bundle, service *app.App, owner social.User, _ int64) error {
			draft, err := b.draft(service, owner)
			if err == nil {
				_, err = service.Posts.PostOnce(b.Ctx, owner, draft)
			}
			return err
		},
		"delete": func(b bundle, service *app.App, owner social.User, post int64) error {
			return service.Posts.Delete(b.Ctx, owner, post)
		},
		"avatar": func(b bundle, service *app.App, owner social.User, _ int64) error {
			r, err := service.Media.Upload(b.Ctx, owner, "", photo(t, 60, 60), media.Avatar)
			if err == nil {
				err = service.Media.SetPortrait(b.Ctx, owner, media.Avatar, r.ID)
			}
			return err
		},
		"removal": func(b bundle, service *app.App, owner social.User, _ int64) error {
			return service.Leaving.DeleteAccount(b.Ctx, owner.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachServer(t, func(_ *testing.T, b bundle) { b.kill(act, name == "removal") })
		})
	}
}

// kill kills processes during an action, each after a few more commands than the one before.
func (b bundle) kill(act func(b bundle, service *app.App, owner social.User, post int64) error, removes bool) {
	b.T.Helper()
	stride := int64(11)
	switch {
	case redistest.Long:
		stride = 1
	case b.DB.Mode() == rueidis.ClientModeCluster:
		stride = 31
	}
	n := 0
	for cut, ended := int64(0), false; !ended; cut, n = cut+stride, n+1 {
		owner := b.NewUser(fmt.Sprint("user", n))
		draft, err := b.draft(b.App, owner)
		b.do(err)
		first, err := b.Posts.PostOnce(b.Ctx, owner, draft)
		b.do(err)
		dying := socialtest.Dying(b.DB, cut)
		err = b.process(dying, func(service *app.App) error { return act(b, service, owner, first.ID) })
		ended = err == nil && dying.Left() > 0
		b.Clock.Advance(time.Minute)
		b.do(b.RetryTasks(b.Ctx))
		if removes { // it waits for running requests of the user
			b.Clock.Advance(time.Minute)
			b.do(b.Leaving.FinishRemoval(b.Ctx, owner.ID))
		}
		b.wantPictures(owner, cut)
	}
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix()) // file times come from the disk
	_, err := check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true, Report: func(p check.Problem) {
		if !p.Leftover {
			b.T.Errorf("check: %v", p)
		}
	}})
	b.do(err)
	for file, err := range b.Media.Store.Orphans(b.Ctx) {
		b.T.Errorf("%s is left, %v", file, err)
	}
	b.wantClean()
	b.T.Logf("%d kills", n-1)
}

// draft uploads two pictures for a post.
func (b bundle) draft(service *app.App, owner social.User) (posts.Draft, error) {
	draft := posts.Draft{Body: "look"}
	for range 2 {
		r, err := service.Media.Upload(b.Ctx, owner, "", photo(b.T, 60, 40), media.Post)
		if err != nil {
			return draft, err
		}
		draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID})
	}
	return draft, nil
}

// wantPictures checks that the pictures of a user's posts exist.
func (b bundle) wantPictures(owner social.User, cut int64) {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, owner)
	b.do(err)
	page, err := b.Lists.ProfilePosts(social.WithFresh(b.Ctx), v, owner.ID, 0, 10)
	b.do(err)
	names := b.names()
	for _, item := range page.Items {
		pictures := item.Post.Media.Pictures()
		if len(pictures) != 2 {
			b.T.Errorf("killed after %d commands: post %d has %d pictures", cut, item.Post.ID, len(pictures))
		}
		for _, p := range pictures {
			r, err := b.Media.Store.Get(b.Ctx, p.ID)
			if err != nil || r.Post() != item.Post.ID || !slices.Contains(names, p.Stored(p.Large())) || !slices.Contains(names, p.Stored(p.Small())) {
				b.T.Errorf("killed after %d commands: the picture %s of post %d is %+v, %v", cut, p.ID, item.Post.ID, r, err)
			}
		}
	}
}
