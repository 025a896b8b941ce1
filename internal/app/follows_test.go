package app_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/social"
	"retwis/internal/social/load"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.NewUser("one"), b.NewUser("two")
	for range 2 {
		b.Connect(one, two)
		b.Clock.Advance(1e9) // following again does not change the time
		for _, key := range []string{"following:1", "followers:2"} {
			if got := b.Redis("ZCARD", key); got != "1" {
				t.Errorf("%s has %s entries, want 1", key, got)
			}
		}
		if got := b.Redis("ZCOUNT", "followers:2", "1700000000", "1700000000"); got != "1" {
			t.Error("repeating the follow changed its time")
		}
	}
	if err := b.Follows.Follow(b.Ctx, one, one); !errors.Is(err, social.ErrSelfFollow) {
		t.Errorf("following oneself: %v, want ErrSelfFollow", err)
	}
	if err := b.Follows.Follow(b.Ctx, one, social.User{ID: 77}); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("following a missing user: %v, want ErrNotFound", err)
	}
	b.WantHealthy()
	for range 2 {
		if err := b.Follows.Unfollow(b.Ctx, one, two); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.Redis("EXISTS", "following:1") + b.Redis("EXISTS", "followers:2"); n != "00" {
		t.Errorf("keys are left: EXISTS = %s, want 00", n)
	}
}

// An unfollow also hides posts that are missing from their author's list.
func TestUnfollowWithDamagedProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.NewUser("one"), b.NewUser("two")
	b.Connect(one, two)
	lost, kept := b.Publish(two, "lost"), b.Publish(one, "my own")
	b.Redis("ZREM", storage.ProfileKey(two.ID), storage.Itoa(lost))
	if err := b.Follows.Unfollow(b.Ctx, one, two); err != nil {
		t.Fatal(err)
	}
	b.wantOnHome("after the unfollow", one, kept)
}

// Follows and unfollows in any order give the same result as a model.
func TestFollowProperty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	followProperty(t, b)
}

func followProperty(t *testing.T, b *bundle) {
	var people []social.User
	for i := range 5 {
		people = append(people, b.NewUser(fmt.Sprintf("p%d", i)))
	}
	model := map[[2]int]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			from := rapid.IntRange(0, 4).Draw(rt, "from")
			to := rapid.IntRange(0, 4).Draw(rt, "to")
			if from == to {
				continue
			}
			if rapid.Bool().Draw(rt, "follow") {
				model[[2]int{from, to}] = true
				b.Connect(people[from], people[to])
			} else {
				delete(model, [2]int{from, to})
				if err := b.Follows.Unfollow(b.Ctx, people[from], people[to]); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for i, user := range people {
			var followers, following []string
			for pair := range model {
				if pair[1] == i {
					followers = append(followers, people[pair[0]].Name)
				}
				if pair[0] == i {
					following = append(following, people[pair[1]].Name)
				}
			}
			sameNames(rt, user.Name+"'s followers", b.allPeople(b.Follows.Followers, user.ID, 2), followers)
			sameNames(rt, user.Name+" follows", b.allPeople(b.Follows.Following, user.ID, 3), following)
			counts, err := b.Follows.Counts(b.Ctx, user.ID)
			if err != nil || counts.Followers != int64(len(followers)) || counts.Following != int64(len(following)) {
				rt.Fatalf("counts of %s = %+v, %v; want %d followers, %d following", user.Name, counts, err, len(followers), len(following))
			}
		}
	})
	b.WantHealthy()
}

func sameNames(rt *rapid.T, what string, got, want []string) {
	rt.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("%s: %v, want %v", what, got, want)
	}
}

type peopleFunc = func(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error)

// allPeople returns the names on all pages of a list.
func (b *bundle) allPeople(list peopleFunc, uid int64, limit int) []string {
	b.T.Helper()
	var names []string
	for cursor := ""; ; {
		people, err := list(b.Ctx, &social.Viewer{}, uid, cursor, limit)
		if err != nil {
			b.T.Fatal(err)
		}
		for _, user := range people.Users {
			names = append(names, user.Name)
		}
		if cursor = people.Next; cursor == "" {
			return names
		}
	}
}

// After concurrent follows and unfollows, both directions of the follow agree. On a Cluster no
// script can change both.
func TestFollowAtOnce(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		one, two := b.NewUser("one"), b.NewUser("two")
		for range 20 {
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					change := b.Follows.Follow
					if i%2 == 0 {
						change = b.Follows.Unfollow
					}
					if err := change(b.Ctx, one, two); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b.WantHealthy()
		}
	})
}

func TestPeoplePaging(t *testing.T) {
	t.Parallel()
	b := setup(t)
	star := b.NewUser("star")
	want := map[string]bool{}
	for i := range 60 {
		fan := b.NewUser(fmt.Sprintf("fan%d", i))
		b.Connect(fan, star)
		want[fan.Name] = true
		if i%7 == 0 {
			b.Clock.Advance(1e9) // several follows have the same time
		}
	}
	// The last user of each page unfollows before the next page is read.
	seen := map[string]bool{}
	for cursor := ""; ; {
		people, err := b.Follows.Followers(b.Ctx, &social.Viewer{}, star.ID, cursor, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, user := range people.Users {
			if seen[user.Name] {
				t.Errorf("%s is listed twice", user.Name)
			}
			seen[user.Name] = true
		}
		if cursor = people.Next; cursor == "" {
			break
		}
		if err := b.Follows.Unfollow(b.Ctx, people.Users[len(people.Users)-1], star); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(seen, want) {
		t.Errorf("saw %d people, want %d", len(seen), len(want))
	}
	for _, cursor := range []string{"x", "1-", "-1", "1-2-3", "nan-1", "1e9-1", "(1-2", "+inf-1", "1-1.5"} {
		var invalid *social.InvalidError
		if _, err := b.Follows.Followers(b.Ctx, &social.Viewer{}, star.ID, cursor, 7); !errors.As(err, &invalid) {
			t.Errorf("cursor %q: %v, want an InvalidError", cursor, err)
		}
	}
}

func TestCommonFollowers(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		one, two := b.NewUser("one"), b.NewUser("two")
		if common, err := b.Follows.CommonFollowers(b.Ctx, &social.Viewer{User: one}, two.ID); err != nil || common != (people.Common{}) {
			t.Errorf("common = %+v, %v", common, err)
		}
		var follows []load.NewFollow
		for id := int64(100); id < 1700; id++ {
			if id%2 == 0 {
				follows = append(follows, load.NewFollow{From: id, To: one.ID, Time: b.Clock.Now()})
			}
			if id%3 == 0 {
				follows = append(follows, load.NewFollow{From: id, To: two.ID, Time: b.Clock.Now()})
			}
		}
		if err := load.New(b.App).AddFollows(b.Ctx, follows); err != nil {
			t.Fatal(err)
		}
		common, err := b.Follows.CommonFollowers(b.Ctx, &social.Viewer{User: one}, two.ID)
		if err != nil || common != (people.Common{N: 267}) {
			t.Errorf("common = %+v, %v, want 267", common, err)
		}
	})
}

// FuzzPeopleCursor checks that a cursor is either accepted or refused with an InvalidError.
func FuzzPeopleCursor(f *testing.F) {
	for _, cursor := range []string{"", "1700000000-12", "1.5-2", "-", "+inf-0"} {
		f.Add(cursor)
	}
	b := setup(f)
	star := b.NewUser("star")
	b.Connect(b.NewUser("fan"), star)
	f.Fuzz(func(t *testing.T, cursor string) {
		_, err := b.Follows.Followers(b.Ctx, &social.Viewer{}, star.ID, cursor, 5)
		var invalid *social.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	})
}

// Many pending tasks of other kinds do not prevent the completion of an unfollow.
func TestUnfollowAmongTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.must(b.Follows.Follow(b.Ctx, ada, ben))
	var others []string
	for i := range 2000 {
		others = append(others, fmt.Sprint("mail:", i))
	}
	b.Keep(others...)
	b.must(b.Follows.Unfollow(b.Ctx, ada, ben))
	b.Eventually("the unfollow to end", func() bool { return b.Redis("ZCARD", storage.Tasks) == "2000" })
}
