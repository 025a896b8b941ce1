package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// If a block and a follow coincide, the block wins, whichever is first.
func TestBlockBeatsFollow(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		for round := range 40 {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					from, to := ada, bob
					if i%2 == 0 {
						from, to = bob, ada
					}
					if err := other.Follows.Follow(b.Ctx, from, to); err != nil && !errors.Is(err, people.ErrBlocked) {
						t.Error(err)
					}
				})
			}
			wg.Go(func() {
				if err := b.Relations.Block(b.Ctx, ada, bob, time.Time{}); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			for _, key := range []string{"following:1", "following:2", "followers:1", "followers:2"} {
				if b.Redis("EXISTS", key) != "0" {
					t.Fatalf("round %d: %s is left", round, key)
				}
			}
			b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		}
	})
}

// On a Cluster a follow is a sequence of commands. A block that has ended the follows before this
// one is written ends it, too.
func TestFollowIsReadAgain(t *testing.T) {
	t.Parallel()
	ada, bob := social.User{ID: 1, Name: "ada"}, social.User{ID: 2, Name: "bob"}
	b := meddle(t, func(other *bundle) { other.do(other.Relations.Block(other.Ctx, ada, bob, time.Time{})) }, "ZADD", storage.FollowingKey(2))
	b.NewUser("ada")
	b.NewUser("bob")
	if err := b.Follows.Follow(b.Ctx, bob, ada); !errors.Is(err, people.ErrBlocked) {
		t.Errorf("follow: %v, want ErrBlocked", err)
	}
	for _, key := range []string{"following:2", "followers:1"} {
		if b.Redis("EXISTS", key) != "0" {
			t.Errorf("%s is left", key)
		}
	}
}

func TestBlocksAtOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		for range 20 {
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					process := b
					if i%4 < 2 {
						process = other
					}
					var err error
					if i%2 == 0 {
						err = process.Relations.Unblock(b.Ctx, ada, bob)
					} else {
						err = process.Relations.Block(b.Ctx, ada, bob, b.Clock.Now().Add(time.Duration(i+1)*time.Hour))
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			score := b.Redis("ZSCORE", storage.BlockedKey(ada.ID), storage.Itoa(bob.ID))
			reverse := b.Redis("ZSCORE", storage.BlockersKey(bob.ID), storage.Itoa(ada.ID))
			if score != reverse {
				t.Fatalf("the block ends at %q, and at %q", score, reverse)
			}
		}
	})
}

// A process that dies in the middle of a block leaves a state that repeating or ending the block
// repairs.
func TestBlockCutShort(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		b.Connect(bob, ada)
		b.Redis("ZADD", storage.BlockedKey(ada.ID), "+inf", storage.Itoa(bob.ID))
		b.do(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		if got := b.relation(bob, ada); got != "blocked by" {
			t.Errorf("repeated: %q", got)
		}
		b.Redis("ZREM", storage.BlockedKey(ada.ID), storage.Itoa(bob.ID))
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(bob, ada); got != "" {
			t.Errorf("ended: %q", got)
		}
	})
}

// A block that is ended at once has still ended the follows, even while a post of one of the two is
// being fanned out. The timelines are cleared once that post has arrived.
func TestUnblockAtOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.friends()
		byAda, byBob := b.Publish(ada, "from ada"), b.Publish(bob, "from bob")
		both := storage.Itoa(byBob) + " " + storage.Itoa(byAda)
		if one, two := b.home(ada), b.home(bob); one != both || two != both {
			t.Fatalf("before: %q and %q", one, two)
		}
		for _, id := range []int64{byAda, byBob} { // as if another process were working on them
			b.Keep(b.PostTask(id))
		}
		b.do(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		if got := b.relation(bob, ada); got != "blocked by" {
			t.Errorf("blocked: %q", got)
		}
		b.do(other.Relations.Unblock(b.Ctx, ada, bob))
		b.wantNoRelation(ada, bob)
		b.Redis("ZREM", storage.Tasks, b.PostTask(byAda), b.PostTask(byBob))
		b.Eventually("the home timelines to be cleared", func() bool {
			return b.home(ada) == storage.Itoa(byAda) && b.home(bob) == storage.Itoa(byBob)
		})
	})
}

// Ending a block ends the follows first: a process that died during the block may have left them.
func TestUnblockAfterBlockCutShort(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob := b.friends()
		b.Redis("ZADD", storage.BlockedKey(ada.ID), "+inf", storage.Itoa(bob.ID))
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		b.wantNoRelation(ada, bob)
	})
}

// Unfinished work of a block is completed even after the block has ended, whether the server still
// remembers the block or not. A later follow stays. So do follows that precede a block that was
// never written.
func TestBlockEndsBeforeItsTask(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		var users [4][2]social.User
		for i := range users {
			users[i] = [2]social.User{b.NewUser(fmt.Sprint("ada", i)), b.NewUser(fmt.Sprint("bob", i))}
			b.Connect(users[i][0], users[i][1])
			b.Connect(users[i][1], users[i][0])
		}
		b.Clock.Advance(time.Minute)
		end := b.Clock.Now().Add(24 * time.Hour)
		leave := func(pair [2]social.User) {
			b.Leave(fmt.Sprintf("timed_block:%d:%d:%d", pair[0].ID, pair[1].ID, end.Unix()))
		}
		leave(users[3])
		b.do(b.RetryTasks(b.Ctx))
		b.Clock.Advance(25 * time.Hour)
		b.Redis("ZADD", storage.BlockedKey(users[0][0].ID), storage.Seconds(end), storage.Itoa(users[0][1].ID))
		b.do(b.Follows.Unfollow(b.Ctx, users[2][0], users[2][1]))
		b.do(b.Follows.Follow(b.Ctx, users[2][0], users[2][1]))
		for _, pair := range users[:3] {
			leave(pair)
		}
		b.do(b.RetryTasks(b.Ctx))
		b.wantNoTasks()
		for i, want := range []string{"", "", "following", "followed by, following"} {
			got := strings.Split(b.relation(users[i][0], users[i][1]), ", ")
			slices.Sort(got)
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("pair %d: %q, want %q", i, got, want)
			}
		}
	})
}

// Ending a block that does not exist, or has expired, ends no follow.
func TestUnblockWithoutBlock(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		b.Connect(ada, bob)
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		b.Redis("ZADD", storage.BlockedKey(ada.ID), storage.Seconds(b.Clock.Now()), storage.Itoa(bob.ID))
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(ada, bob); got != "following" {
			t.Errorf("ada and bob: %q", got)
		}
	})
}
