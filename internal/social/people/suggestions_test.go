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

// People followed by the most followees of the viewer come first, with the reason, then those who
// have posted. The viewer's actions change the list immediately.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			u := b.users("ada", "ben", "cem", "dan", "eve", "fay", "gus")
			ada, ben, cem, dan, eve, fay, gus := u[0], u[1], u[2], u[3], u[4], u[5], u[6]
			b.Publish(gus, "I write")
			want := func(what string, list ...string) {
				t.Helper()
				if got := b.suggested(ada); !slices.Equal(got, list) {
					t.Errorf("%s: %q, want %q", what, got, list)
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
			want("of three", "eve by dan of 3", "fay by dan,cem", "gus")
			b.do(b.Follows.Unfollow(b.Ctx, ada, dan))
			want("after the end of a follow", "eve by cem,ben", "fay by cem", "gus")
			b.do(b.Suggestions.Dismiss(b.Ctx, ada, eve))
			want("after a dismissal", "fay by cem", "gus")
			b.do(b.Relations.Mute(b.Ctx, ada, cem, time.Time{}))
			want("after a mute of the one who follows", "gus")
			b.do(b.Relations.Unmute(b.Ctx, ada, cem))
			b.do(b.Relations.Block(b.Ctx, fay, ada, time.Time{}))
			want("after a block by another", "gus")
			b.do(b.Moderation.SetStanding(b.Ctx, social.Operator, gus.ID, moderation.StandingChange{Standing: social.Limited}))
			want("after a limit")
			b.do(b.Moderation.SetStanding(b.Ctx, social.Operator, gus.ID, moderation.StandingChange{}))
			want("after its end", "gus")
			if got := b.suggested(social.User{}); !slices.Equal(got, []string{"gus"}) {
				t.Errorf("a stranger gets %q", got)
			}
			b.Connect(ada, gus)
			want("after a follow")
			b.WantHealthy()
		})
	}
}

// The latest 200 dismissals count; dismissing oneself or a missing user fails.
func TestDismiss(t *testing.T) {
	t.Parallel()
	b := setups["watched"](t)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	var invalid *social.InvalidError
	if err := b.Suggestions.Dismiss(b.Ctx, ada, ada); !errors.As(err, &invalid) {
		t.Errorf("oneself: %v", err)
	}
	if err := b.Suggestions.Dismiss(b.Ctx, ada, social.User{ID: 99}); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	b.do(b.Suggestions.Dismiss(b.Ctx, ada, ben))
	for i := range 200 {
		b.Redis("ZADD", storage.DismissedKey(ada.ID), fmt.Sprint(1_800_000_000+i), fmt.Sprint(1000+i))
	}
	cem := b.NewUser("cem")
	b.Clock.Advance(10 * 365 * 24 * time.Hour)
	b.do(b.Suggestions.Dismiss(b.Ctx, ada, cem))
	if n := b.Redis("ZCARD", storage.DismissedKey(ada.ID)); n != "200" {
		t.Errorf("%s are dismissed", n)
	}
	if b.Redis("ZSCORE", storage.DismissedKey(ada.ID), storage.Itoa(ben.ID)) != "" {
		t.Error("the oldest dismissal has not left")
	}
}

// The viewer's actions through one process change the list in another one.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	here, there := &suggestionsBundle{socialtest.Watched(t, db.URL())}, &suggestionsBundle{socialtest.Watched(t, db.URL())}
	u := here.users("ada", "ben", "cem", "dan")
	here.Connect(u[0], u[1])
	here.Connect(u[1], u[2])
	here.Connect(u[1], u[3])
	ada, before := u[0], []string{"cem by ben", "dan by ben"}
	if got := there.suggested(ada); !slices.Equal(got, before) {
		t.Fatalf("at first: %q", got)
	}
	here.Connect(ada, u[2])
	there.Eventually("the one who is followed to go", func() bool { return slices.Equal(there.suggested(ada), before[1:]) })
	here.do(here.Suggestions.Dismiss(here.Ctx, ada, u[3]))
	there.Eventually("the one who is dismissed to go", func() bool { return len(there.suggested(ada)) == 0 })
}

// A viewer who follows very many people never gets somebody they already follow, however long ago
// that began.
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
			b.do(err)
			var follows []load.NewFollow
			for i, user := range users[:300] {
				at := b.Clock.Now().Add(time.Duration(i) * time.Second)
				follows = append(follows, load.NewFollow{From: ada.ID, To: user.ID, Time: at},
					load.NewFollow{From: user.ID, To: users[(i+1)%300].ID, Time: at},
					load.NewFollow{From: user.ID, To: users[300+i%30].ID, Time: at})
			}
			b.do(loader.AddFollows(b.Ctx, follows))
			b.Publish(users[0], "by one who is followed")
			b.Publish(users[1], "by another one")
			b.do(b.Suggestions.Dismiss(b.Ctx, ada, users[329])) // of 30, so that authors of recent posts become candidates too
			for _, text := range b.suggested(ada) {
				var n int
				if _, err := fmt.Sscanf(text, "p%d by p", &n); err != nil || n < 300 {
					t.Errorf("suggested: %s", text)
				}
			}
			if n := len(b.suggested(ada)); n < 12 {
				t.Errorf("%d suggestions", n)
			}
		})
	}
}

// The active accounts are ranked by followers and posts; silent, limited and deleted ones are
// excluded, and one topic does not fill the list.
func TestActive(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			u := b.users("ada", "ben", "cem", "dan", "eve", "fay")
			active := func() string {
				b.do(b.Suggestions.Refresh(b.Ctx))
				var names []string
				for id := range strings.FieldsSeq(b.Redis("ZREVRANGE", storage.Active, "0", "-1")) {
					names = append(names, b.Redis("HGET", "user:"+id, "username"))
				}
				return strings.Join(names, " ")
			}
			if got := active(); got != "" {
				t.Errorf("before any post: %s", got)
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
			b.do(b.Moderation.SetStanding(b.Ctx, social.Operator, u[3].ID, moderation.StandingChange{Standing: social.Limited}))
			if got := active(); got != "ada cem ben" {
				t.Errorf("active: %s", got)
			}
			b.Redis("DEL", storage.Timeline) // an account stays active without being on it
			if got := active(); got != "ada cem ben" {
				t.Errorf("active, of those who were: %s", got)
			}
			b.Redis("LPUSH", storage.Timeline, "1")
			b.Redis("ZADD", storage.Active, "99", "77") // a user who does not exist
			b.do(b.Suggestions.Forget(b.Ctx, u[2].ID))
			if got := active(); got != "ada ben" {
				t.Errorf("active, after one has left: %s", got)
			}
			b.Clock.Advance(8 * 24 * time.Hour)
			if got := active(); got != "" {
				t.Errorf("after a week of silence: %s", got)
			}
		})
	}
}
