package social_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/social"
)

// Whatever is posted while a user reads page after page, each post that existed at
// the beginning is seen exactly once.
func TestPagingProperty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		author := b.NewUser(fmt.Sprintf("author%d", n))
		before := rapid.IntRange(0, 40).Draw(rt, "posts before")
		limit := rapid.IntRange(1, 12).Draw(rt, "page size")
		profile := rapid.Bool().Draw(rt, "profile")
		var want []int64
		for range before {
			want = append(want, b.Publish(author, "before"))
		}
		slices.Reverse(want)
		turn := b.Home
		if profile {
			turn = b.Profile
		}
		var got []int64
		for cursor := int64(0); ; {
			page, err := turn(b.Ctx, author.ID, cursor, limit)
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, page.IDs...)
			if len(page.IDs) > limit {
				rt.Fatalf("a page of %d, want %d at most", len(page.IDs), limit)
			}
			if cursor = page.Next; cursor == 0 {
				break
			}
			for range rapid.IntRange(0, 5).Draw(rt, "posts meanwhile") {
				b.Publish(author, "meanwhile")
			}
			if rapid.Bool().Draw(rt, "the last one seen goes") {
				b.Redis("LREM", fmt.Sprintf("posts:%d", author.ID), "0", fmt.Sprint(cursor))
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("saw %v, want %v", got, want)
		}
	})
}

func TestProfileShowsOwnPostsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.NewUser("one"), b.NewUser("two")
	b.Connect(one, two)
	mine := b.Publish(one, "mine")
	theirs := b.Publish(two, "theirs")
	profile, err := b.Profile(b.Ctx, one.ID, 0, 10)
	if err != nil || !slices.Equal(profile.IDs, []int64{mine}) {
		t.Errorf("profile = %v, %v", profile, err)
	}
	home, err := b.Home(b.Ctx, one.ID, 0, 10)
	if err != nil || !slices.Equal(home.IDs, []int64{theirs, mine}) {
		t.Errorf("home = %v, %v", home, err)
	}
	all, err := b.Everybody(b.Ctx, 0, 1)
	if err != nil || !slices.Equal(all.IDs, []int64{theirs}) || all.Next != theirs {
		t.Errorf("everybody = %v, %v", all, err)
	}
	counts, err := b.Counts(b.Ctx, one.ID)
	if err != nil || counts != (social.Counts{Followers: 0, Following: 1, Posts: 1}) {
		t.Errorf("counts = %+v, %v", counts, err)
	}
}

// A read that begins after a write has returned sees it, although reads are
// answered from memory.
func TestReadsSeeOwnWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, other := b.NewUser("author"), b.NewUser("other")
	for i := range 300 {
		pid := b.Publish(author, "again")
		for name, read := range map[string]func() (social.Page, error){
			"home":      func() (social.Page, error) { return b.Home(b.Ctx, author.ID, 0, 10) },
			"profile":   func() (social.Page, error) { return b.Profile(b.Ctx, author.ID, 0, 10) },
			"everybody": func() (social.Page, error) { return b.Everybody(b.Ctx, 0, 50) },
		} {
			if page, err := read(); err != nil || page.IDs[0] != pid {
				t.Fatalf("round %d: %s begins with %v, want %d (%v)", i, name, page.IDs, pid, err)
			}
		}
		change, want := b.Follow, true
		if i%2 == 1 {
			change, want = b.Unfollow, false
		}
		if err := change(b.Ctx, author, other); err != nil {
			t.Fatal(err)
		}
		if got, err := b.IsFollowing(b.Ctx, author.ID, other.ID); err != nil || got != want {
			t.Fatalf("round %d: following = %t, want %t (%v)", i, got, want, err)
		}
	}
}

// A read in another process that must not depend on invalidation does not.
func TestWithFresh(t *testing.T) {
	t.Parallel()
	db := setup(t)
	elsewhere := on(t, db.DB)
	author := db.NewUser("author")
	for range 100 {
		pid := db.Publish(author, "fresh")
		page, err := elsewhere.Home(social.WithFresh(db.Ctx), author.ID, 0, 10)
		if err != nil || page.IDs[0] != pid {
			t.Fatalf("home begins with %v, want %d (%v)", page.IDs, pid, err)
		}
	}
}
