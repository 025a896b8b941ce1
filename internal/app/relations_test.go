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

// relation describes the relation of one user to another as text.
func (b *bundle) relation(from, to social.User) string {
	b.T.Helper()
	r, err := b.Relations.Get(b.Ctx, b.viewer(from), to.ID)
	b.must(err)
	var words []string
	for word, holds := range map[string]bool{
		"following": r.Following, "followed by": r.FollowedBy, "muted": r.Muted, "blocked": r.Blocked, "blocked by": r.BlockedBy,
	} {
		if holds {
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
func (b *bundle) wantNoRelation(user, other social.User) {
	b.T.Helper()
	if got, reverse := b.relation(user, other), b.relation(other, user); got+reverse != "" {
		b.T.Errorf("relations of %s and %s: %q and %q, want none", user.Name, other.Name, got, reverse)
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
			b.must(b.Relations.Mute(b.Ctx, ada, bob, time.Time{}))
			sees(bob, social.Muted)
		}
		b.must(b.Relations.Mute(b.Ctx, ada, eve, b.Clock.Now().Add(time.Hour)))
		sees(eve, social.Muted)
		b.Eventually("the other process to see the mute", func() bool { return other.viewer(ada).Sees(eve.ID) == social.Muted })
		if got := other.viewer(bob).Sees(ada.ID); got != social.Shown {
			t.Errorf("bob sees ada after her mute: %d, want Shown", got)
		}
		if got := b.relation(ada, bob); got != "following, muted" && got != "muted, following" {
			t.Errorf("relation of ada to bob: %s, want following and muted", got)
		}
		muted := func() string {
			t.Helper()
			people, err := b.Relations.MutedPeople(b.Ctx, ada.ID, "", 10)
			b.must(err)
			return userNames(people.Users)
		}
		if got := muted(); got != "bob eve" {
			t.Errorf("muted: %s, want bob eve", got)
		}
		b.Clock.Advance(time.Hour)
		sees(eve, social.Shown)
		if got := muted(); got != "bob" {
			t.Errorf("muted after one mute expired: %s, want bob", got)
		}
		b.must(b.Relations.Unmute(b.Ctx, ada, bob))
		b.must(b.Relations.Unmute(b.Ctx, ada, bob))
		sees(bob, social.Shown)
		if b.Redis("EXISTS", storage.MutedKey(ada.ID)) != "0" {
			t.Error("the expired mute is left after the next write")
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
			b.must(b.Relations.Block(b.Ctx, ada, bob, b.Clock.Now().Add(time.Hour)))
			if b.viewer(ada).Sees(bob.ID) != social.Hidden || b.viewer(bob).Sees(ada.ID) != social.Hidden {
				t.Error("a block does not hide the users from each other")
			}
			if got, reverse := b.relation(ada, bob), b.relation(bob, ada); got != "blocked" || reverse != "blocked by" {
				t.Errorf("relations of ada and bob: %q, %q; want blocked, blocked by", got, reverse)
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
			t.Errorf("relation of eve to ada: %q, want following", got)
		}
		b.WantHealthy()
		blocked, err := b.Relations.BlockedPeople(b.Ctx, ada.ID, "", 10)
		if b.must(err); userNames(blocked.Users) != "bob" {
			t.Errorf("blocked: %s, want bob", userNames(blocked.Users))
		}
		b.Clock.Advance(time.Hour)
		if b.viewer(ada).Sees(bob.ID) != social.Shown || b.viewer(bob).Sees(ada.ID) != social.Shown {
			t.Error("an expired block still hides")
		}
		b.Connect(bob, ada)
		b.must(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		b.must(b.Relations.Unblock(b.Ctx, ada, bob))
		if got := b.relation(ada, bob) + b.relation(bob, ada); got != "" {
			t.Errorf("relations after Unblock: %q, want none", got)
		}
		for _, key := range []string{storage.BlockedKey(ada.ID), storage.BlockersKey(bob.ID)} {
			if b.Redis("EXISTS", key) != "0" {
				t.Errorf("%s is left", key)
			}
		}
		b.must(b.Relations.RemoveFollower(b.Ctx, ada, eve))
		if got := b.relation(ada, eve); got != "" {
			t.Errorf("relation to a removed follower: %q, want none", got)
		}
	})
}

// The next write removes expired blocks, in both directions.
func TestExpiredBlocks(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		b.must(b.Relations.Block(b.Ctx, ada, bob, b.Clock.Now().Add(time.Minute)))
		b.must(b.Relations.Block(b.Ctx, ada, eve, b.Clock.Now().Add(time.Hour)))
		b.Clock.Advance(time.Minute)
		b.must(b.Relations.Block(b.Ctx, eve, bob, time.Time{}))
		b.must(b.Relations.Unblock(b.Ctx, ada, social.User{ID: 77}))
		if got := b.Redis("ZRANGE", storage.BlockedKey(ada.ID), "0", "-1"); got != storage.Itoa(eve.ID) {
			t.Errorf("ada has blocked %q, want eve", got)
		}
		if got := b.Redis("ZRANGE", storage.BlockersKey(bob.ID), "0", "-1"); got != storage.Itoa(eve.ID) {
			t.Errorf("bob is blocked by %q, want eve", got)
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
			t.Errorf("%s oneself: %v, want an InvalidError of user", name, err)
		}
		if err := change(bob, b.Clock.Now()); !errors.As(err, &invalid) || invalid.Field != "until" {
			t.Errorf("%s until now: %v, want an InvalidError of until", name, err)
		}
		if err := change(social.User{ID: 77}, time.Time{}); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("%s a missing user: %v, want ErrNotFound", name, err)
		}
		key := map[string]string{"mute": storage.MutedKey(ada.ID), "block": storage.BlockedKey(ada.ID)}[name]
		b.fill(key, storage.MaxRelations-1, "+inf", 1000)
		b.fill(key, 1500, "5", 50_000) // expired; one write removes a thousand of them
		b.must(change(bob, b.Clock.Now().Add(time.Hour)))
		carl := b.NewUser("carl_" + name)
		if err := change(carl, time.Time{}); !errors.As(err, &invalid) || invalid.Field != "user" {
			t.Errorf("%s one more than allowed: %v, want an InvalidError of user", name, err)
		}
		b.must(change(bob, time.Time{})) // a new expiry for an existing entry
		if n := b.Redis("ZCARD", key); n != fmt.Sprint(storage.MaxRelations) {
			t.Errorf("%s: %s entries, want %d", name, n, storage.MaxRelations)
		}
		b.Redis("ZREM", key, "1000")
		b.must(change(carl, time.Time{}))
	}
}

// fill adds n users to a sorted set, starting with the ID from.
func (b *bundle) fill(key string, n int, score string, from int) {
	b.T.Helper()
	var args []string
	for i := range n {
		args = append(args, score, fmt.Sprint(from+i))
	}
	b.Redis(append([]string{"ZADD", key}, args...)...)
}

// The pages of muted people list everyone whose mute has not expired.
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
		b.must(b.Relations.Mute(b.Ctx, ada, user, until))
		if i%2 == 1 || i >= 6 {
			want[user.Name] = true
		}
	}
	b.Clock.Advance(time.Minute) // the first mutes expire
	got := map[string]bool{}
	for cursor := ""; ; {
		people, err := b.Relations.MutedPeople(b.Ctx, ada.ID, cursor, 4)
		b.must(err)
		for _, user := range people.Users {
			if got[user.Name] {
				t.Errorf("%s is listed twice", user.Name)
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
			b.must(b.Reactions.Like(b.Ctx, fan, id))
		}
		for i, fan := range fans {
			switch i % 5 {
			case 0, 1:
				b.must(b.Relations.Block(b.Ctx, ada, fan, time.Time{}))
			case 2:
				b.must(b.Relations.Block(b.Ctx, fan, ada, time.Time{}))
			case 3:
				b.must(b.Relations.Mute(b.Ctx, ada, fan, time.Time{})) // stays on the lists
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
					b.must(err)
					for _, user := range people.Users {
						seen[user.Name] = true
					}
					if cursor = people.Next; cursor == "" {
						break
					}
				}
				if len(seen) != want {
					t.Errorf("%s: %q sees %d users, want %d", name, viewer.Name, len(seen), want)
				}
			}
		}
		latest, err := b.Users.LatestUsers(b.Ctx, b.viewer(ada), 5)
		if b.must(err); userNames(latest) != "fan29 fan28 fan24 fan23 fan19" {
			t.Errorf("latest users for ada: %s", userNames(latest))
		}
		latest, err = b.Users.LatestUsers(b.Ctx, b.viewer(bob), 3)
		if b.must(err); userNames(latest) != "fan29 fan28 fan27" {
			t.Errorf("latest users for bob: %s", userNames(latest))
		}
		b.must(b.Relations.Unblock(b.Ctx, ada, fans[0]))
		b.Connect(fans[0], ada)
		common, err := b.Follows.CommonFollowers(b.Ctx, b.viewer(ada), star.ID)
		if b.must(err); common.N != 13 {
			t.Errorf("%d common followers, want 13", common.N)
		}
		b.must(b.Relations.Block(b.Ctx, star, ada, time.Time{}))
		if common, err := b.Follows.CommonFollowers(b.Ctx, b.viewer(ada), star.ID); err != nil || common.N != 0 {
			t.Errorf("common followers of a user who has blocked the viewer: %v, %v; want none", common, err)
		}
		if people, err := b.Follows.Followers(b.Ctx, b.viewer(ada), star.ID, "", 5); err != nil || len(people.Users) != 0 {
			t.Errorf("followers of a user who has blocked the viewer: %v, %v; want none", people, err)
		}
	})
}
