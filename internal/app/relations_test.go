package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/storage"
)

// relation describes how a user is related to another.
func (b *bundle) relation(from, to social.User) string {
	b.T.Helper()
	r, err := b.Relations.Get(b.Ctx, b.viewer(from), to.ID)
	b.do(err)
	var words []string
	for word, is := range map[string]bool{
		"following": r.Following, "followed by": r.FollowedBy, "muted": r.Muted, "blocked": r.Blocked, "blocked by": r.BlockedBy,
	} {
		if is {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// friends returns two users who follow each other.
func (b *bundle) friends() (ada, bob social.User) {
	b.T.Helper()
	ada, bob = b.NewUser("ada"), b.NewUser("bob")
	b.Connect(ada, bob)
	b.Connect(bob, ada)
	return ada, bob
}

// wantNoRelation fails if two users follow, mute or block each other.
func (b *bundle) wantNoRelation(one, other social.User) {
	b.T.Helper()
	if there, back := b.relation(one, other), b.relation(other, one); there+back != "" {
		b.T.Errorf("%s and %s: %q and %q", one.Name, other.Name, there, back)
	}
}

func TestMute(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		b.Connect(ada, bob)
		sees := func(user social.User, want social.Visibility) {
			t.Helper()
			if got := b.viewer(ada).Sees(user.ID); got != want {
				t.Errorf("ada sees %s: %d, want %d", user.Name, got, want)
			}
		}
		sees(bob, social.Shown)
		for range 2 {
			b.do(b.Relations.Mute(b.Ctx, ada, bob, time.Time{}))
			sees(bob, social.Muted)
		}
		b.do(b.Relations.Mute(b.Ctx, ada, eve, b.Clock.Now().Add(time.Hour)))
		sees(eve, social.Muted)
		b.Eventually("another process does not see the mute", func() bool { return other.viewer(ada).Sees(eve.ID) == social.Muted })
		if got := other.viewer(bob).Sees(ada.ID); got != social.Shown {
			t.Errorf("a mute works in the other direction: %d", got)
		}
		if got := b.relation(ada, bob); got != "following, muted" && got != "muted, following" {
			t.Errorf("ada and bob: %s", got)
		}
		muted := func() string {
			t.Helper()
			people, err := b.Relations.MutedPeople(b.Ctx, ada.ID, "", 10)
			b.do(err)
			return userNames(people.Users)
		}
		if got := muted(); got != "bob eve" {
			t.Errorf("muted: %s", got)
		}
		b.Clock.Advance(time.Hour)
		sees(eve, social.Shown)
		if got := muted(); got != "bob" {
			t.Errorf("muted after the end of one: %s", got)
		}
		b.do(b.Relations.Unmute(b.Ctx, ada, bob))
		b.do(b.Relations.Unmute(b.Ctx, ada, bob))
		sees(bob, social.Shown)
		if b.Redis("EXISTS", storage.MutedKey(ada.ID)) != "0" {
			t.Error("the mute that has ended is left after the next write")
		}
	})
}

func TestBlock(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		b.Connect(ada, bob)
		b.Connect(bob, ada)
		b.Connect(eve, ada)
		b.home(ada) // on a Cluster this creates the timeline
		ofAda, ofBob := b.Publish(ada, "hello"), b.Publish(bob, "hello")
		for range 2 {
			b.do(b.Relations.Block(b.Ctx, ada, bob, b.Clock.Now().Add(time.Hour)))
			if b.viewer(ada).Sees(bob.ID) != social.Hidden || b.viewer(bob).Sees(ada.ID) != social.Hidden {
				t.Error("a block hides nothing")
			}
			if one, two := b.relation(ada, bob), b.relation(bob, ada); one != "blocked" || two != "blocked by" {
				t.Errorf("ada and bob: %q, %q", one, two)
			}
		}
		for home, want := range map[int64]int64{ada.ID: ofAda, bob.ID: ofBob} {
			if got := b.home(social.User{ID: home}); got != storage.Itoa(want) {
				t.Errorf("the home timeline of %d has %q, want only %d", home, got, want)
			}
		}
		for _, pair := range [][2]social.User{{ada, bob}, {bob, ada}} {
			for _, process := range []*bundle{b, other} {
				if err := process.Follows.Follow(b.Ctx, pair[0], pair[1]); !errors.Is(err, people.ErrBlocked) {
					t.Errorf("%s follows %s: %v, want ErrBlocked", pair[0].Name, pair[1].Name, err)
				}
			}
		}
		if got := b.relation(eve, ada); got != "following" {
			t.Errorf("eve and ada: %q", got)
		}
		b.WantHealthy()
		blocked, err := b.Relations.BlockedPeople(b.Ctx, ada.ID, "", 10)
		if b.do(err); userNames(blocked.Users) != "bob" {
			t.Errorf("blocked: %s", userNames(blocked.Users))
		}
		b.Clock.Advance(time.Hour)
		if b.viewer(ada).Sees(bob.ID) != social.Shown || b.viewer(bob).Sees(ada.ID) != social.Shown {
			t.Error("a block that has ended still hides")
		}
		b.Connect(bob, ada)
		b.do(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		b.do(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(ada, bob) + b.relation(bob, ada); got != "" {
			t.Errorf("after the block: %q", got)
		}
		for _, key := range []string{storage.BlockedKey(ada.ID), storage.BlockersKey(bob.ID)} {
			if b.Redis("EXISTS", key) != "0" {
				t.Errorf("%s is left", key)
			}
		}
		b.do(b.Relations.RemoveFollower(b.Ctx, ada, eve))
		if got := b.relation(ada, eve); got != "" {
			t.Errorf("the follower is still there: %q", got)
		}
	})
}

// The next write removes expired blocks, in both directions.
func TestExpiredBlocks(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		b.do(b.Relations.Block(b.Ctx, ada, bob, b.Clock.Now().Add(time.Minute)))
		b.do(b.Relations.Block(b.Ctx, ada, eve, b.Clock.Now().Add(time.Hour)))
		b.Clock.Advance(time.Minute)
		b.do(b.Relations.Block(b.Ctx, eve, bob, time.Time{}))
		b.do(b.Relations.Unblock(b.Ctx, ada, social.User{ID: 77}))
		if got := b.Redis("ZRANGE", storage.BlockedKey(ada.ID), "0", "-1"); got != storage.Itoa(eve.ID) {
			t.Errorf("ada has blocked %q", got)
		}
		if got := b.Redis("ZRANGE", storage.BlockersKey(bob.ID), "0", "-1"); got != storage.Itoa(eve.ID) {
			t.Errorf("bob is blocked by %q", got)
		}
	})
}

func TestRelationsRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	for name, change := range map[string]func(to social.User, until time.Time) error{
		"mute":  func(to social.User, until time.Time) error { return b.Relations.Mute(b.Ctx, ada, to, until) },
		"block": func(to social.User, until time.Time) error { return b.Relations.Block(b.Ctx, ada, to, until) },
	} {
		var invalid *social.InvalidError
		if err := change(ada, time.Time{}); !errors.As(err, &invalid) || invalid.Field != "user" {
			t.Errorf("%s oneself: %v", name, err)
		}
		if err := change(bob, b.Clock.Now()); !errors.As(err, &invalid) || invalid.Field != "until" {
			t.Errorf("%s until now: %v", name, err)
		}
		if err := change(social.User{ID: 77}, time.Time{}); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("%s nobody: %v", name, err)
		}
		key := map[string]string{"mute": storage.MutedKey(ada.ID), "block": storage.BlockedKey(ada.ID)}[name]
		b.fill(key, storage.MaxRelations-1, "+inf", 1000)
		b.fill(key, 1500, "5", 50_000) // expired; one write removes a thousand of them
		b.do(change(bob, b.Clock.Now().Add(time.Hour)))
		carl := b.NewUser("carl_" + name)
		if err := change(carl, time.Time{}); !errors.As(err, &invalid) || invalid.Field != "user" {
			t.Errorf("%s one more than allowed: %v", name, err)
		}
		b.do(change(bob, time.Time{})) // a new expiry for an existing entry
		if n := b.Redis("ZCARD", key); n != fmt.Sprint(storage.MaxRelations) {
			t.Errorf("%s: %s entries", name, n)
		}
		b.Redis("ZREM", key, "1000")
		b.do(change(carl, time.Time{}))
	}
}

// fill adds users to a set.
func (b *bundle) fill(key string, n int, score string, from int) {
	b.T.Helper()
	var args []string
	for i := range n {
		args = append(args, score, fmt.Sprint(from+i))
	}
	b.Redis(append([]string{"ZADD", key}, args...)...)
}

// All pages of people muted with and without an expiry.
func TestMutedPeoplePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	want := map[string]bool{}
	for i := range 25 {
		user, until := b.NewUser(fmt.Sprintf("u%d", i)), time.Time{}
		if i%2 == 0 {
			until = b.Clock.Now().Add(time.Duration(1+i/6) * time.Minute)
		}
		b.do(b.Relations.Mute(b.Ctx, ada, user, until))
		if i%2 == 1 || i >= 6 {
			want[user.Name] = true
		}
	}
	b.Clock.Advance(time.Minute) // the first of them expire
	got := map[string]bool{}
	for cursor := ""; ; {
		people, err := b.Relations.MutedPeople(b.Ctx, ada.ID, cursor, 4)
		b.do(err)
		for _, user := range people.Users {
			if got[user.Name] {
				t.Errorf("%s comes twice", user.Name)
			}
			got[user.Name] = true
		}
		if cursor = people.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("muted: %v, want %v", got, want)
	}
}

// Lists of people and counts of common followers leave out hidden people.
func TestPeopleWithoutHidden(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob, star := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("star")
		var fans []social.User
		for i := range 30 {
			b.Clock.Advance(time.Second)
			fan := b.NewUser(fmt.Sprintf("fan%d", i))
			fans = append(fans, fan)
			b.Connect(fan, star)
			b.Connect(fan, ada)
			b.Connect(star, fan)
		}
		b.Connect(ada, bob)
		id := b.Publish(star, "hello")
		for _, fan := range fans {
			b.do(b.Reactions.Like(b.Ctx, fan, id))
		}
		for i, fan := range fans {
			switch i % 5 {
			case 0, 1:
				b.do(b.Relations.Block(b.Ctx, ada, fan, time.Time{}))
			case 2:
				b.do(b.Relations.Block(b.Ctx, fan, ada, time.Time{}))
			case 3:
				b.do(b.Relations.Mute(b.Ctx, ada, fan, time.Time{})) // stays on the lists
			}
		}
		for name, list := range map[string]func(v *social.Viewer, cursor string) (social.People, error){
			"followers": func(v *social.Viewer, c string) (social.People, error) {
				return b.Follows.Followers(b.Ctx, v, star.ID, c, 4)
			},
			"following": func(v *social.Viewer, c string) (social.People, error) {
				return b.Follows.Following(b.Ctx, v, star.ID, c, 4)
			},
			"likers": func(v *social.Viewer, c string) (social.People, error) { return b.Reactions.Likers(b.Ctx, v, id, c, 4) },
		} {
			for viewer, want := range map[social.User]int{ada: 12, bob: 30, {}: 30} {
				seen := map[string]bool{}
				for cursor := ""; ; {
					people, err := list(b.viewer(viewer), cursor)
					b.do(err)
					for _, user := range people.Users {
						seen[user.Name] = true
					}
					if cursor = people.Next; cursor == "" {
						break
					}
				}
				if len(seen) != want {
					t.Errorf("%s: %q sees %d, want %d", name, viewer.Name, len(seen), want)
				}
			}
		}
		latest, err := b.Users.LatestUsers(b.Ctx, b.viewer(ada), 5)
		if b.do(err); userNames(latest) != "fan29 fan28 fan24 fan23 fan19" {
			t.Errorf("latest users: %s", userNames(latest))
		}
		latest, err = b.Users.LatestUsers(b.Ctx, b.viewer(bob), 3)
		if b.do(err); userNames(latest) != "fan29 fan28 fan27" {
			t.Errorf("latest users for another: %s", userNames(latest))
		}
		b.do(b.Relations.Unblock(b.Ctx, ada, fans[0]))
		b.Connect(fans[0], ada)
		common, err := b.Follows.CommonFollowers(b.Ctx, b.viewer(ada), star.ID)
		if b.do(err); common.N != 13 {
			t.Errorf("%d common followers, want 13", common.N)
		}
		b.do(b.Relations.Block(b.Ctx, star, ada, time.Time{}))
		if common, err := b.Follows.CommonFollowers(b.Ctx, b.viewer(ada), star.ID); err != nil || common.N != 0 {
			t.Errorf("common followers of one who has blocked the viewer: %v, %v", common, err)
		}
		if people, err := b.Follows.Followers(b.Ctx, b.viewer(ada), star.ID, "", 5); err != nil || len(people.Users) != 0 {
			t.Errorf("followers of one who has blocked the viewer: %v, %v", people, err)
		}
	})
}
