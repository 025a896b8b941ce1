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

// If a block and a follow run at the same time, the block wins, whichever is first.
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
			b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		}
	})
}

// On a Cluster a follow is a sequence of commands. A block that ends the follows in the middle of
// this sequence also ends the new follow.
func TestFollowIsReadAgain(t *testing.T) {
	t.Parallel()
	ada, bob := social.User{ID: 1, Name: "ada"}, social.User{ID: 2, Name: "bob"}
	b := interceptFirst(t, func(other *bundle) { other.must(other.Relations.Block(other.Ctx, ada, bob, time.Time{})) }, "ZADD", storage.FollowingKey(2))
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
				t.Fatalf("the block ends at %q for the blocker and at %q for the blocked user", score, reverse)
			}
		}
	})
}

// If a process dies in the middle of a block, repeating or ending the block repairs the state.
func TestBlockCutShort(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		b.Connect(bob, ada)
		b.Redis("ZADD", storage.BlockedKey(ada.ID), "+inf", storage.Itoa(bob.ID))
		b.must(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		if got := b.relation(bob, ada); got != "blocked by" {
			t.Errorf("after Block again: relation %q, want blocked by", got)
		}
		b.Redis("ZREM", storage.BlockedKey(ada.ID), storage.Itoa(bob.ID))
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(bob, ada); got != "" {
			t.Errorf("after Unblock: relation %q, want none", got)
		}
	})
}

// A block that is ended at once has still ended the follows, even while posts of both users are
// being fanned out. The home timelines are cleared after the fan-out.
func TestUnblockAtOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.friends()
		byAda, byBob := b.Publish(ada, "from ada"), b.Publish(bob, "from bob")
		both := storage.Itoa(byBob) + " " + storage.Itoa(byAda)
		if adaHome, bobHome := b.home(ada), b.home(bob); adaHome != both || bobHome != both {
			t.Fatalf("home timelines before the block: %q and %q, want %q", adaHome, bobHome, both)
		}
		for _, id := range []int64{byAda, byBob} { // as if another process were fanning them out
			b.Keep(b.PostTask(id))
		}
		b.must(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		if got := b.relation(bob, ada); got != "blocked by" {
			t.Errorf("after Block: relation %q, want blocked by", got)
		}
		b.must(other.Relations.Unblock(b.Ctx, ada, bob))
		b.wantNoRelation(ada, bob)
		b.Redis("ZREM", storage.Tasks, b.PostTask(byAda), b.PostTask(byBob))
		b.Eventually("the home timelines to be cleared", func() bool {
			return b.home(ada) == storage.Itoa(byAda) && b.home(bob) == storage.Itoa(byBob)
		})
	})
}

// Unblock ends the follows first, because a process that died in Block may have left them.
func TestUnblockAfterBlockCutShort(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob := b.friends()
		b.Redis("ZADD", storage.BlockedKey(ada.ID), "+inf", storage.Itoa(bob.ID))
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		b.wantNoRelation(ada, bob)
	})
}

// An unfinished block task is completed even after the block has expired, whether or not the block
// is still stored. A later follow stays, and so do the follows if the block was never written.
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
		b.must(b.RetryTasks(b.Ctx))
		b.Clock.Advance(25 * time.Hour)
		b.Redis("ZADD", storage.BlockedKey(users[0][0].ID), storage.Seconds(end), storage.Itoa(users[0][1].ID))
		b.must(b.Follows.Unfollow(b.Ctx, users[2][0], users[2][1]))
		b.must(b.Follows.Follow(b.Ctx, users[2][0], users[2][1]))
		for _, pair := range users[:3] {
			leave(pair)
		}
		b.must(b.RetryTasks(b.Ctx))
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
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		b.Redis("ZADD", storage.BlockedKey(ada.ID), storage.Seconds(b.Clock.Now()), storage.Itoa(bob.ID))
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(ada, bob); got != "following" {
			t.Errorf("relation of ada and bob: %q, want following", got)
		}
	})
}
