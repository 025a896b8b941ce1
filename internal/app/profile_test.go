package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/storage"
)

func (b *bundle) profile(uid int64) accounts.UserProfile {
	b.T.Helper()
	profile, err := b.Profiles.Get(b.Ctx, uid)
	b.must(err)
	return profile
}

func TestEditProfile(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		id := b.Publish(ada, "hello")
		if got := b.item(bob, id).Post.Author.DisplayName; got != "" {
			t.Errorf("display name of a new user: %q", got)
		}
		edit := accounts.UserProfile{
			DisplayName: " Ada \u202e\n Lovelace\x00 ", Bio: "one\r\n\n\n\ntwo\u2066", Pinned: 99,
			Links: []string{"example.com/ada?x=1&y=<2>", "", " http://example.com ", "https://bücher.example/ä"},
		}
		for range 2 {
			b.must(b.Profiles.Edit(b.Ctx, ada, edit))
		}
		want := accounts.UserProfile{
			DisplayName: "Ada Lovelace", Bio: "one\n\ntwo",
			Links: []string{"https://example.com/ada?x=1&y=<2>", "http://example.com", "https://b%C3%BCcher.example/%C3%A4"},
		}
		got := b.profile(ada.ID)
		if got.DisplayName != want.DisplayName || got.Bio != want.Bio || got.Pinned != 0 || !slices.Equal(got.Links, want.Links) {
			t.Errorf("profile = %+v, want %+v", got, want)
		}
		b.Eventually("the other process to see the profile", func() bool { return other.profile(ada.ID).Bio == want.Bio })
		if got := b.item(bob, id).Post.Author.DisplayName; got != want.DisplayName {
			t.Errorf("display name on a post: %q, want %q", got, want.DisplayName)
		}
		user, err := b.Users.UserByName(b.Ctx, "ada")
		if b.must(err); user.DisplayName != want.DisplayName || user.Name != "ada" {
			t.Errorf("user = %+v", user)
		}
		if session, err := b.Auth.Login(b.Ctx, "ada", "correct horse"); err != nil || session.User.DisplayName != want.DisplayName {
			t.Errorf("session = %+v, %v", session, err)
		}
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "\u200b"}))
		if got := b.profile(ada.ID); got.DisplayName != "" || got.Bio != "" || len(got.Links) != 0 {
			t.Errorf("profile = %+v, want an empty one", got)
		}
		if fields := b.Redis("HKEYS", storage.UserKey(ada.ID)); strings.Contains(fields, "bio") || strings.Contains(fields, "display_name") {
			t.Errorf("fields are left: %s", fields)
		}
		b.WantHealthy()
	})
}

func TestEditProfileRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	full := accounts.UserProfile{
		DisplayName: strings.Repeat("é", accounts.MaxDisplayName), Bio: strings.Repeat("a\n", 9) + "a",
		Links: []string{"a.example", "b.example", "c.example", "", "d.example"},
	}
	b.must(b.Profiles.Edit(b.Ctx, ada, full))
	for want, profile := range map[string][]accounts.UserProfile{
		"display_name": {
			{DisplayName: strings.Repeat("é", accounts.MaxDisplayName+1)},
			{DisplayName: "a" + strings.Repeat("\u0301", 1000)}, // one character
			{DisplayName: strings.Repeat("a", 1<<20)},
			{DisplayName: "Moderator"},
			{DisplayName: "Retwis ✓"},
			{DisplayName: "★ R e t w i s ★"},
			{DisplayName: "Ｓｕｐｐｏｒｔ"},
		},
		"bio": {
			{Bio: strings.Repeat("é", accounts.MaxBio+1)},
			{Bio: strings.Repeat("a\n", 10) + "a"},
			{Bio: "a" + strings.Repeat("\u0301", 10_000)},
		},
		"links": {
			{Links: []string{"javascript:alert(1)"}},
			{Links: []string{"javascript://example.com/%0aalert(1)"}},
			{Links: []string{"ftp://example.com"}},
			{Links: []string{"mailto:ada@example.com"}},
			{Links: []string{"https://ada:secret@example.com"}},
			{Links: []string{"https://"}},
			{Links: []string{"localhost"}},
			{Links: []string{"/timeline"}},
			{Links: []string{"//example.com"}},
			{Links: []string{"https://example.com/a\nb"}},
			{Links: []string{"https://example.com/" + strings.Repeat("a", accounts.MaxLink)}},
			{Links: []string{"https://example.com/" + strings.Repeat("ä", accounts.MaxLink/3)}}, // too long when escaped
			{Links: []string{"a.example", "b.example", "c.example", "d.example", "e.example"}},
		},
	} {
		for i, p := range profile {
			err := b.Profiles.Edit(b.Ctx, ada, p)
			var invalid *social.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != want {
				t.Errorf("%s, case %d: %v, want an InvalidError of %s", want, i, err, want)
			}
		}
	}
	b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{Links: []string{"https://example.com/\u202egpj.exe"}}))
	if got := b.profile(ada.ID).Links; len(got) != 1 || strings.Contains(got[0], "\u202e") {
		t.Errorf("links = %q, want one with an escaped override", got)
	}
	b.must(b.Profiles.Edit(b.Ctx, ada, full))
	for _, blank := range []string{"\u3164", "\u2800 \u2800", "\u115f\u1160", "\uffa0\u200b"} {
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: blank, Bio: full.Bio, Links: full.Links}))
		if got := b.profile(ada.ID).DisplayName; got != "" {
			t.Errorf("an invisible display name is kept: %q", got)
		}
		if _, err := b.Posts.Post(b.Ctx, ada, blank); err == nil {
			t.Errorf("an invisible post is accepted: %q", blank)
		}
	}
	if got := b.profile(ada.ID); got.Bio != full.Bio || len(got.Links) != 4 {
		t.Errorf("a refused profile was written: %+v", got)
	}
	if err := b.Profiles.Edit(b.Ctx, social.User{ID: 77}, full); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("the profile of a missing user: %v, want ErrNotFound", err)
	}
	if _, err := b.Profiles.Get(b.Ctx, 77); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("the profile of a missing user: %v, want ErrNotFound", err)
	}
	// Values that another program wrote are shown only if they are safe.
	b.Redis("HSET", storage.UserKey(ada.ID), "links", "javascript:alert(1)\nhttps://example.com\nx y\n", "pinned", "-1")
	if got := b.profile(ada.ID); !slices.Equal(got.Links, []string{"https://example.com"}) || got.Pinned != 0 {
		t.Errorf("damaged fields are read as %+v", got)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		one, two, ofBob := b.Publish(ada, "one"), b.Publish(ada, "two"), b.Publish(bob, "three")
		b.repost(1000, one, ada)
		b.repost(1001, ofBob, ada)
		pinned := func(want int64) {
			t.Helper()
			if got := b.profile(ada.ID).Pinned; got != want {
				t.Errorf("pinned: %d, want %d", got, want)
			}
		}
		pinned(0)
		b.must(b.Profiles.Pin(b.Ctx, ada, two))
		pinned(two)
		b.must(b.Profiles.Pin(b.Ctx, ada, 1000))
		pinned(one)
		for id, want := range map[int64]error{77: social.ErrNotFound, ofBob: social.ErrNotAuthor, 1001: social.ErrNotAuthor} {
			if err := b.Profiles.Pin(b.Ctx, ada, id); !errors.Is(err, want) {
				t.Errorf("pin of %d: %v, want %v", id, err, want)
			}
		}
		b.must(b.Profiles.Unpin(b.Ctx, ada, two)) // not the pinned post
		pinned(one)
		b.Redis("HSET", storage.PostKey(one), "deleted", "1700000000")
		b.Eventually("the deleted post to be unpinned", func() bool {
			return b.profile(ada.ID).Pinned == 0 && other.profile(ada.ID).Pinned == 0
		})
		if err := b.Profiles.Pin(b.Ctx, ada, one); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("pin of a deleted post: %v, want ErrNotFound", err)
		}
		b.must(b.Profiles.Unpin(b.Ctx, ada, one))
		b.must(b.Profiles.Unpin(b.Ctx, ada, one))
		if b.Redis("HEXISTS", storage.UserKey(ada.ID), "pinned") != "0" {
			t.Error("the field pinned is left")
		}
		b.must(b.Profiles.Pin(b.Ctx, ada, two))
		b.must(b.Posts.Delete(b.Ctx, ada, two))
		if b.Redis("HEXISTS", storage.UserKey(ada.ID), "pinned") != "0" {
			t.Error("a deleted post stays pinned")
		}
		b.Redis("HSET", storage.UserKey(ada.ID), "pinned", storage.Itoa(ofBob))
		b.Eventually("the post of another user to be unpinned", func() bool { return b.profile(ada.ID).Pinned == 0 })
	})
}

// Cached posts show a new display name after about a minute. TestDisplayNameOnLists checks only
// that lists of people show the new name.
func TestDisplayNameOnLists(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		b.Connect(ada, bob)
		b.item(ada, b.Publish(bob, "hello"))
		if _, err := other.Users.LatestUsers(b.Ctx, &social.Viewer{}, 2); err != nil {
			t.Fatal(err)
		}
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada"}))
		b.Eventually("the followers to have the new name", func() bool {
			people, err := other.Follows.Followers(b.Ctx, &social.Viewer{}, bob.ID, "", 5)
			b.must(err)
			return people.Users[0].DisplayName == "Ada"
		})
		b.Clock.Advance(time.Second)
		b.NewUser("eve")
		latest, err := b.Users.LatestUsers(b.Ctx, &social.Viewer{}, 2)
		if b.must(err); latest[0].Name != "eve" {
			t.Errorf("latest = %+v", latest)
		}
	})
}
