package removal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/removal"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// If a process is killed after some commands of a deletion, another process finishes the deletion,
// unless the account was not yet closed. In between, a check finds only leftovers.
func TestKilledWhileRemoving(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client) {
		// No job continues the deletion during the check.
		b := on(t, client, func(opt *app.Options) { opt.NoJobs = true })
		stride := 101
		if redistest.Long {
			stride = 1
		}
		finished := 0
		for cut, n, completed := 0, 1, false; !completed; cut, n = cut+stride, n+1 {
			s := newScene(b, n)
			completed = b.deleteKilled(client, int64(cut), s)
			_, err := b.Check(check.Options{Report: func(p check.Problem) {
				// On a Cluster a follow briefly has only one direction, as with any unfollow.
				if !p.Leftover && !strings.HasPrefix(p.Key, storage.FollowersPrefix) {
					t.Errorf("killed after %d commands: %v", cut, p)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			b.Clock.Advance(time.Minute)
			b.resume(client)
			if _, err := b.Users.UserByName(social.WithFresh(b.Ctx), s.zoe.Name); err == nil {
				if cut > 0 && completed {
					t.Fatalf("killed after %d commands: not deleted", cut)
				}
				continue // killed before the account was closed
			}
			finished++
			b.wantGone(s)
			if t.Failed() {
				t.Fatalf("killed after %d commands", cut)
			}
		}
		if finished < 3 {
			t.Errorf("another process finished %d deletions, want at least 3", finished)
		}
		b.WantHealthy()
	})
}

// resume finishes the deletion in another process.
func (b *bundle) resume(client rueidis.Client) {
	b.T.Helper()
	service, err := app.New(client, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash})
	if err != nil {
		b.T.Fatal(err)
	}
	defer service.Close()
	if err := service.RetryTasks(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	b.finishJobs()
}

// finishJobs waits until the queues are empty. A deletion that was started too early is retried
// after a pause, and a job leaves its queue only after its task is done.
func (b *bundle) finishJobs() {
	b.T.Helper()
	b.Eventually("the queues to be empty", func() bool {
		queues, err := b.Jobs(b.Ctx)
		return err == nil && queues[0].Unfinished+queues[1].Unfinished == 0
	})
}

// deleteKilled deletes an account in a process that is killed after some commands, and reports
// whether the deletion was completed.
func (b *bundle) deleteKilled(client rueidis.Client, commands int64, s scene) bool {
	b.T.Helper()
	process := socialtest.Dying(client, commands)
	service, err := app.New(process, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash, NoJobs: true})
	if err != nil {
		b.T.Fatal(err)
	}
	defer service.Close()
	if err := service.Leaving.DeleteAccount(b.Ctx, s.zoe.ID); err != nil {
		return false
	}
	b.Clock.Advance(removal.Grace)
	err = service.Leaving.FinishRemoval(b.Ctx, s.zoe.ID)
	return err == nil && process.Left() > 0
}
