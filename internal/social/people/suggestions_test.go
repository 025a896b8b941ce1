package people_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/load"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// Suggestions begin with the people who are followed by the most followees of the viewer, with
// these followees as the reason. People who have posted come next. The viewer's actions change the
// suggestions immediately.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			u := b.users("ada", "ben", "cem", "dan", "eve", "fay", "gus")
			ada, ben, cem, dan, eve, fay, gus := u[0], u[1], u[2], u[3], u[4], u[5], u[6]
			b.Publish(gus, "I write")
			want := func(name string, list ...string) {
				t.Helper()
				if got := b.suggested(ada); !slices.Equal(got, list) {
					t.Errorf("%s: %q, want %q", name, got, list)
				}
			}
			want("a newcomer", "gus")
			for _, from := range []social.User{ben, cem, dan} {
				b.Connect(from, eve)
				b.Connect(from, ada)
			}
			b.Connect(dan, fay)
			b.Connect(cem, fay)
			for _, to := range []social.User{ben, cem, dan} {
				b.Clock.Advance(time.Second)
				b.Connect(ada, to)
			}
			want("after three follows", "eve by dan of 3", "fay by dan,cem", "gus")
			b.must(b.Follows.Unfollow(b.Ctx, ada, dan))
			want("after an unfollow", "eve by cem,ben", "fay by cem", "gus")
			b.must(b.Suggestions.Dismiss(b.Ctx, ada, eve))
			want("after a dismissal", "fay by cem", "gus")
			b.must(b.Relations.Mute(b.Ctx, ada, cem, time.Time{}))
			want("after a mute of the followee", "gus")
			b.must(b.Relations.Unmute(b.Ctx, ada, cem))
			b.must(b.Relations.Block(b.Ctx, fay, ada, time.Time{}))
			want("after a block by the suggested user", "gus")
			b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, gus.ID, moderation.StandingChange{Standing: social.Limited}))
			want("after a limit")
			b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, gus.ID, moderation.StandingChange{}))
			want("after the end of the limit", "gus")
			if got := b.suggested(social.User{}); !slices.Equal(got, []string{"gus"}) {
				t.Errorf("suggestions for a stranger: %q, want gus", got)
			}
			b.Connect(ada, gus)
			want("after a follow")
			b.WantHealthy()
		})
	}
}

// The latest 200 dismissals are kept. Users cannot dismiss themselves or missing users.
func TestDismiss(t *testing.T) {
	t.Parallel()
	b := setups["watched"](t)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	var invalid *social.InvalidError
	if err := b.Suggestions.Dismiss(b.Ctx, ada, ada); !errors.As(err, &invalid) {
		t.Errorf("Dismiss of the viewer: %v, want InvalidError", err)
	}
	if err := b.Suggestions.Dismiss(b.Ctx, ada, social.User{ID: 99}); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Dismiss of a missing user: %v, want ErrNotFound", err)
	}
	b.must(b.Suggestions.Dismiss(b.Ctx, ada, ben))
	for i := range 200 {
		b.Redis("ZADD", storage.DismissedKey(ada.ID), fmt.Sprint(1_800_000_000+i), fmt.Sprint(1000+i))
	}
	cem := b.NewUser("cem")
	b.Clock.Advance(10 * 365 * 24 * time.Hour)
	b.must(b.Suggestions.Dismiss(b.Ctx, ada, cem))
	if n := b.Redis("ZCARD", storage.DismissedKey(ada.ID)); n != "200" {
		t.Errorf("%s dismissals, want 200", n)
	}
	if b.Redis("ZSCORE", storage.DismissedKey(ada.ID), storage.Itoa(ben.ID)) != "" {
		t.Error("the oldest dismissal was not removed")
	}
}

// The viewer's actions in one process change the suggestions in another process.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	first, second := &suggestionsBundle{socialtest.Watched(t, db.URL())}, &suggestionsBundle{socialtest.Watched(t, db.URL())}
	u := first.users("ada", "ben", "cem", "dan")
	first.Connect(u[0], u[1])
	first.Connect(u[1], u[2])
	first.Connect(u[1], u[3])
	ada, before := u[0], []string{"cem by ben", "dan by ben"}
	if got := second.suggested(ada); !slices.Equal(got, before) {
		t.Fatalf("first suggestions: %q, want %q", got, before)
	}
	first.Connect(ada, u[2])
	second.Eventually("the followed user to disappear", func() bool { return slices.Equal(second.suggested(ada), before[1:]) })
	first.must(first.Suggestions.Dismiss(first.Ctx, ada, u[3]))
	second.Eventually("the dismissed user to disappear", func() bool { return len(second.suggested(ada)) == 0 })
}

// A viewer who follows very many people never gets a suggestion of a person whom the viewer
// follows, however old the follow is.
func TestManyFollows(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ada := b.NewUser("ada")
			var people []load.NewUser
			for i := range 330 {
				people = append(people, load.NewUser{Name: fmt.Sprintf("p%d", i), PasswordHash: "x", Joined: b.Clock.Now()})
			}
			loader := load.New(b.App)
			users, err := loader.AddUsers(b.Ctx, people)
			b.must(err)
			var follows []load.NewFollow
			for i, user := range users[:300] {
				at := b.Clock.Now().Add(time.Duration(i) * time.Second)
				follows = append(follows, load.NewFollow{From: ada.ID, To: user.ID, Time: at},
					load.NewFollow{From: user.ID, To: users[(i+1)%300].ID, Time: at},
					load.NewFollow{From: user.ID, To: users[300+i%30].ID, Time: at})
			}
			b.must(loader.AddFollows(b.Ctx, follows))
			b.Publish(users[0], "by a followed user")
			b.Publish(users[1], "by another followed user")
			b.must(b.Suggestions.Dismiss(b.Ctx, ada, users[329])) // one of 30 candidates, so that authors of recent posts become candidates
			for _, text := range b.suggested(ada) {
				var n int
				if _, err := fmt.Sscanf(text, "p%d by p", &n); err != nil || n < 300 {
					t.Errorf("unexpected suggestion: %s", text)
				}
			}
			if n := len(b.suggested(ada)); n < 12 {
				t.Errorf("%d suggestions, want at least 12", n)
			}
		})
	}
}

// Active accounts are ranked by followers and posts. Silent, limited and deleted accounts are
// excluded, and accounts with one topic do not fill the list.
func TestActive(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			u := b.users("ada", "ben", "cem", "dan", "eve", "fay")
			active := func() string {
				b.must(b.Suggestions.Refresh(b.Ctx))
				var names []string
				for id := range strings.FieldsSeq(b.Redis("ZREVRANGE", storage.Active, "0", "-1")) {
					names = append(names, b.Redis("HGET", "user:"+id, "username"))
				}
				return strings.Join(names, " ")
			}
			if got := active(); got != "" {
				t.Errorf("active before any post: %q, want none", got)
			}
			b.Publish(u[5], "long ago")
			b.Clock.Advance(8 * 24 * time.Hour)
			b.Publish(u[0], "about #tea")
			b.Publish(u[1], "about #tea too")
			b.Publish(u[2], "about #lakes")
			b.Publish(u[3], "limited")
			for _, from := range u[2:] {
				b.Connect(from, u[0])
				b.Connect(from, u[1])
			}
			b.Connect(u[1], u[0])
			b.Connect(u[0], u[2])
			b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, u[3].ID, moderation.StandingChange{Standing: social.Limited}))
			if got := active(); got != "ada cem ben" {
				t.Errorf("active: %q, want %q", got, "ada cem ben")
			}
			b.Redis("DEL", storage.Timeline) // accounts stay active without the public timeline
			if got := active(); got != "ada cem ben" {
				t.Errorf("active without the public timeline: %q, want %q", got, "ada cem ben")
			}
			b.Redis("LPUSH", storage.Timeline, "1")
			b.Redis("ZADD", storage.Active, "99", "77") // a user who does not exist
			b.must(b.Suggestions.Forget(b.Ctx, u[2].ID))
			if got := active(); got != "ada ben" {
				t.Errorf("active after Forget: %q, want %q", got, "ada ben")
			}
			b.Clock.Advance(8 * 24 * time.Hour)
			if got := active(); got != "" {
				t.Errorf("active after a week without posts: %q, want none", got)
			}
		})
	}
}
