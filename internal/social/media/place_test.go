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

// failing is a store that fails after left changes.
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

// A store that fails at any step causes no inconsistency: a post has the pictures that were
// uploaded, and a deletion continues when the store works again.
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
						t.Errorf("Upload: %v, want ErrUnavailable", err)
					}
					continue
				}
				draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID})
			}
			post, err := b.Posts.PostOnce(b.Ctx, ada, draft)
			b.must(err)
			if n := len(post.Media.Pictures()); n != 2-failed {
				t.Errorf("the post has %d pictures, want %d", n, 2-failed)
			}
			b.must(b.Posts.Delete(b.Ctx, ada, post.ID)) // if a part of the deletion fails, a task continues
			place.left.Store(1000)
			socialtest.Wait(t, "the deletion to end", func() bool {
				return b.Redis("HEXISTS", storage.PostKey(post.ID), "media") == "0"
			})
			_, err = check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true})
			b.must(err)
			orphans := b.names()
			b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
			_, err = check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true})
			b.must(err)
			if names := b.names(); len(names) > 0 {
				t.Errorf("files after the second repair: %v, want none; before: %v", names, orphans)
			}
			b.wantClean()
		})
	}
}

// If the store fails while an account is removed, repeating the removal deletes all files of the
// account.
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
			b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, b.upload(ada, media.Avatar).ID))
			b.must(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
			b.Clock.Advance(time.Minute)
			place.left.Store(steps)
			if err := b.Leaving.FinishRemoval(b.Ctx, ada.ID); !errors.Is(err, files.ErrUnavailable) {
				t.Errorf("FinishRemoval with a failing store: %v, want ErrUnavailable", err)
			}
			place.left.Store(1000)
			b.must(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
			if names := b.names(); len(names) > 0 {
				t.Errorf("files after the removal: %v, want none", names)
			}
			b.wantClean()
		})
	}
}

// A process without a store leaves the deletion of files to processes with a store, and finishes
// other work.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t).Client(t)
	b := on(t, db, func(opt *app.Options) { opt.NoJobs = true })
	ada := b.NewUser("ada")
	post := b.post(ada, "look", b.upload(ada, media.Post))
	other := socialtest.On(t, db, func(opt *app.Options) { opt.NoJobs = true })
	b.must(other.Posts.Delete(b.Ctx, ada, post.ID))
	result, err := check.Repair(b.Ctx, other.App, check.Options{Exclusive: true})
	if err != nil || result.Remaining != 0 {
		t.Errorf("%d problems remain, %v", result.Remaining, err)
	}
	if len(b.names()) == 0 {
		t.Error("the process without a store deleted the files")
	}
	b.Clock.Advance(time.Minute)
	b.must(b.RetryTasks(b.Ctx))
	if names := b.names(); len(names) > 0 {
		t.Errorf("files after the deletion: %v, want none", names)
	}
	b.wantClean()
}

// Repair deletes no files unless DeleteFiles is set. A backup may be tested with the store of the
// live site, in which a post may now use a picture that is unused or missing in the backup.
func TestRestoredBesideSite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	b.upload(ada, media.Post)
	b.must(b.place.Put(b.Ctx, strings.Repeat("0", 32)+"-400.jpg", photo(t, 4, 3)))
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
	for _, c := range []struct {
		opt  check.Options
		left int
	}{{check.Options{Exclusive: true}, 3}, {check.Options{}, 3}, {check.Options{DeleteFiles: true}, 0}} {
		result, err := check.Repair(b.Ctx, b.App, c.opt)
		if b.must(err); len(b.names()) != c.left || result.Leftovers < 2 || result.Remaining > 0 {
			t.Errorf("%+v: %d files remain, want %d; repair = %+v", c.opt, len(b.names()), c.left, result)
		}
	}
}
