package media_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// failing is a store that fails, or acts as if the process had died, at its n-th change.
type failing struct {
	files.Store
	left atomic.Int64
}

var errCut = fmt.Errorf("%w: cut", files.ErrUnavailable)

func (f *failing) Put(ctx context.Context, name string, data []byte) error {
	if f.left.Add(-1) < 0 {
		return errCut
	}
	return f.Store.Put(ctx, name, data)
}

func (f *failing) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if f.left.Add(-1) < 0 {
			return errCut
		}
		if err := f.Store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// A store that is lost at any step leaves nothing inconsistent: a post either has its pictures or
// does not exist, and a deletion continues when the store is back.
func TestPlaceLost(t *testing.T) {
	t.Parallel()
	for steps := range int64(10) {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			place := &failing{Store: files.Directory(t.TempDir())}
			b := bundle{socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.Media = place }), place}
			ada := b.NewUser("ada")
			place.left.Store(steps)
			draft := posts.Draft{Body: "look"}
			failed := 0
			for range 2 {
				r, err := b.Media.Upload(b.Ctx, ada, "", photo(t, 600, 450), media.Post)
				if err != nil {
					if failed++; !errors.Is(err, files.ErrUnavailable) {
						t.Errorf("got %v", err)
					}
					continue
				}
				draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID})
			}
			post, err := b.Posts.PostOnce(b.Ctx, ada, draft)
			b.do(err)
			if n := len(post.Media.Pictures()); n != 2-failed {
				t.Errorf("the post has %d pictures, %d have failed", n, failed)
			}
			b.do(b.Posts.Delete(b.Ctx, ada, post.ID)) // part of it fails, and continues in the background
			place.left.Store(1000)
			socialtest.Wait(t, "the end of the deletion", func() bool {
				return b.Redis("HEXISTS", storage.PostKey(post.ID), "media") == "0"
			})
			_, err = check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true})
			b.do(err)
			orphans := b.names()
			b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
			_, err = check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true})
			b.do(err)
			if names := b.names(); len(names) > 0 {
				t.Errorf("%v are left of %v", names, orphans)
			}
			b.wantClean()
		})
	}
}

// If the store is unreachable while an account is deleted, nothing of the account remains in it in
// the end.
func TestRemovalWithoutPlace(t *testing.T) {
	t.Parallel()
	for steps := range int64(5) {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			place := &failing{Store: files.Directory(t.TempDir())}
			b := bundle{socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.Media, opt.NoJobs = place, true }), place}
			place.left.Store(1000)
			ada := b.NewUser("ada")
			b.post(ada, "look", b.upload(ada, media.Post))
			b.upload(ada, media.Post)
			b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, b.upload(ada, media.Avatar).ID))
			b.do(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
			b.Clock.Advance(time.Minute)
			place.left.Store(steps)
			if err := b.Leaving.FinishRemoval(b.Ctx, ada.ID); !errors.Is(err, files.ErrUnavailable) {
				t.Errorf("without the place: %v", err)
			}
			place.left.Store(1000)
			b.do(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
			if names := b.names(); len(names) > 0 {
				t.Errorf("%v are left", names)
			}
			b.wantClean()
		})
	}
}

// A process without a store leaves deletions to those that have one, and finishes other work.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t).Client(t)
	b := on(t, db, func(opt *app.Options) { opt.NoJobs = true })
	ada := b.NewUser("ada")
	post := b.post(ada, "look", b.upload(ada, media.Post))
	other := socialtest.On(t, db, func(opt *app.Options) { opt.NoJobs = true })
	b.do(other.Posts.Delete(b.Ctx, ada, post.ID))
	result, err := check.Repair(b.Ctx, other.App, check.Options{Exclusive: true})
	if err != nil || result.Remaining != 0 {
		t.Errorf("%d problems remain, %v", result.Remaining, err)
	}
	if len(b.names()) == 0 {
		t.Error("the files are gone without the place")
	}
	b.Clock.Advance(time.Minute)
	b.do(b.RetryTasks(b.Ctx))
	if names := b.names(); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
	b.wantClean()
}

// A backup that is tested with the store of the live site deletes no files, neither when it is
// restored nor when it is repaired later: a picture that was still unused, or is missing, in the
// backup may belong to a post by now.
func TestRestoredBesideSite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	b.upload(ada, media.Post)
	b.do(b.place.Put(b.Ctx, strings.Repeat("0", 32)+"-400.jpg", photo(t, 4, 3)))
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
	for _, c := range []struct {
		opt  check.Options
		left int
	}{{check.Options{Exclusive: true}, 3}, {check.Options{}, 3}, {check.Options{DeleteFiles: true}, 0}} {
		result, err := check.Repair(b.Ctx, b.App, c.opt)
		if b.do(err); len(b.names()) != c.left || result.Leftovers < 2 || result.Remaining > 0 {
			t.Errorf("%+v: %d files are left, want %d; %+v", c.opt, len(b.names()), c.left, result)
		}
	}
}
