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

// process runs f with another application of the same site, and closes the application.
func (b bundle) process(client rueidis.Client, f func(service *app.App) error) error {
	b.T.Helper()
	service, err := app.New(client, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash, NoJobs: true, Media: b.place})
	if err != nil {
		b.T.Fatal(err)
	}
	defer service.Close()
	return f(service)
}

// If a process is killed while posting with pictures, deleting a post, setting an avatar or
// removing an account, another process completes the action. Afterwards each post has its pictures,
// and a repair finds only leftovers.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]func(b bundle, service *app.App, owner social.User, post int64) error{
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
			onEachServer(t, func(_ *testing.T, b bundle) { b.kill(action, name == "removal") })
		})
	}
}

// kill runs an action in processes that are killed after more and more commands.
func (b bundle) kill(action func(b bundle, service *app.App, owner social.User, post int64) error, removes bool) {
	b.T.Helper()
	stride := int64(11)
	switch {
	case redistest.Long:
		stride = 1
	case b.DB.Mode() == rueidis.ClientModeCluster:
		stride = 31
	}
	n := 0
	for cut, completed := int64(0), false; !completed; cut, n = cut+stride, n+1 {
		owner := b.NewUser(fmt.Sprint("user", n))
		draft, err := b.draft(b.App, owner)
		b.must(err)
		first, err := b.Posts.PostOnce(b.Ctx, owner, draft)
		b.must(err)
		dying := socialtest.Dying(b.DB, cut)
		err = b.process(dying, func(service *app.App) error { return action(b, service, owner, first.ID) })
		completed = err == nil && dying.Left() > 0
		b.Clock.Advance(time.Minute)
		b.must(b.RetryTasks(b.Ctx))
		if removes { // the removal waits for running requests of the user
			b.Clock.Advance(time.Minute)
			b.must(b.Leaving.FinishRemoval(b.Ctx, owner.ID))
		}
		b.wantPictures(owner, cut)
	}
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix()) // file times come from the disk
	_, err := check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true, Report: func(p check.Problem) {
		if !p.Leftover {
			b.T.Errorf("check: %v", p)
		}
	}})
	b.must(err)
	for file, err := range b.Media.Store.Orphans(b.Ctx) {
		b.T.Errorf("orphan after the repair: %s, %v", file, err)
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
	b.must(err)
	page, err := b.Lists.ProfilePosts(social.WithFresh(b.Ctx), v, owner.ID, 0, 10)
	b.must(err)
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
