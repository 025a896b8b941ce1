package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/load"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
)

func (b *bundle) names(viewer social.User, prefix string, n int) []string {
	b.T.Helper()
	users, err := b.Completions.CompleteNames(b.Ctx, b.viewer(viewer), prefix, n)
	if err != nil {
		b.T.Fatal(err)
	}
	var names []string
	for _, user := range users {
		names = append(names, user.Name)
	}
	return names
}

func (b *bundle) wantMissing(missing ...string) {
	b.T.Helper()
	var got []string
	for term, err := range b.Completions.Completion().Missing(b.Ctx) {
		if err != nil {
			b.T.Fatal(err)
		}
		got = append(got, term)
	}
	if slices.Sort(got); !slices.Equal(got, missing) {
		b.T.Errorf("missing %q, want %q", got, missing)
	}
}

func TestCompleteNames(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, adam, al, bob := b.NewUser("ada"), b.NewUser("Adam_1"), b.NewUser("al"), b.NewUser("bob")
		want := func(viewer social.User, prefix string, n int, names ...string) {
			t.Helper()
			if got := b.names(viewer, prefix, n); !slices.Equal(got, names) {
				t.Errorf("%q: %q, want %q", prefix, got, names)
			}
		}
		want(bob, "@AD", 10, "ada", "Adam_1")
		want(social.User{}, "adam_", 10, "Adam_1")
		want(bob, "", 10)
		want(bob, "@", 10)
		want(bob, "nobody", 10)
		want(bob, "\xff", 10)
		b.Connect(bob, adam)
		b.Eventually("the follow to change the rank", func() bool { return slices.Equal(b.names(bob, "a", 10), []string{"Adam_1", "ada", "al"}) })
		want(bob, "a", 1, "Adam_1")
		b.must(b.Follows.Unfollow(b.Ctx, bob, adam))
		b.Eventually("the unfollow to change the rank", func() bool { return slices.Equal(b.names(bob, "a", 1), []string{"ada"}) })

		b.must(b.Profiles.Edit(b.Ctx, al, accounts.UserProfile{DisplayName: "Ádalbert the 1st"}))
		want(bob, "adalb", 10, "al")
		want(bob, "ada", 10, "ada", "al", "Adam_1")
		al, err := b.Users.UserByName(b.Ctx, "al")
		b.must(err)
		b.must(b.Profiles.Edit(b.Ctx, al, accounts.UserProfile{DisplayName: "Zoe"}))
		want(bob, "adalb", 10)
		want(bob, "zo", 10, "al")
		want(bob, "al", 10, "al")

		b.must(b.Relations.Block(b.Ctx, ada, bob, time.Time{}))
		want(bob, "ad", 10, "Adam_1")
		want(ada, "b", 10)
		b.must(b.Relations.Mute(b.Ctx, bob, adam, time.Time{}))
		want(bob, "ad", 10, "Adam_1")
		b.must(b.Completions.Completion().Build(b.Ctx))
		b.wantMissing()
	})
}

// Hidden users, and users found by both username and display name, do not shorten the result.
func TestCompleteBeyondHidden(t *testing.T) {
	t.Parallel()
	b := setup(t)
	viewer := b.NewUser("viewer")
	for i := range 40 {
		user := b.NewUser(fmt.Sprintf("ax%02d", i))
		b.must(b.Profiles.Edit(b.Ctx, user, accounts.UserProfile{DisplayName: "a " + user.Name}))
		if i < 25 {
			b.must(b.Relations.Block(b.Ctx, viewer, user, time.Time{}))
		}
	}
	if got := b.names(viewer, "a", 8); len(got) != 8 {
		t.Errorf("names = %q, want 8", got)
	}
}

// People are completed by each of the first four words of their display name.
func TestCompleteWordsOfNames(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		flora, eve := b.NewUser("flora"), b.NewUser("eve")
		index := b.Completions.Completion()
		rename := func(user social.User, display string) {
			t.Helper()
			user, err := b.Users.UserByName(b.Ctx, user.Name)
			b.must(err)
			b.must(b.Profiles.Edit(b.Ctx, user, accounts.UserProfile{DisplayName: display}))
		}
		want := func(prefix string, names ...string) {
			t.Helper()
			if got := b.names(social.User{}, prefix, 10); !slices.Equal(got, names) {
				t.Errorf("%q: %q, want %q", prefix, got, names)
			}
		}
		wantIndexed := func(prefix string, names ...search.Name) {
			t.Helper()
			if got, err := index.Names(b.Ctx, prefix, 10); err != nil || !slices.Equal(got, names) {
				t.Errorf("Names(%q) = %+v, %v; want %+v", prefix, got, err, names)
			}
		}
		rename(flora, "Flora María de Wong Tse")
		rename(eve, "Eve Wong")
		want("wong", "eve", "flora")
		want("WÓNG T", "flora")
		want("maria de", "flora")
		want("flora", "flora") // matches with both names
		want("tse")            // the fifth word
		want("ong")
		b.Connect(eve, flora)
		b.Eventually("the follow to change the rank", func() bool { return slices.Equal(b.names(social.User{}, "wong", 10), []string{"flora", "eve"}) })
		b.must(index.Build(b.Ctx))

		// The new name keeps the tails that it shares with the old one, also in another spelling.
		rename(flora, "Vera de WONG Tse")
		wantIndexed("maria")
		wantIndexed("de", search.Name{Username: "flora", Display: "de WONG Tse"})
		wantIndexed("tse", search.Name{Username: "flora", Display: "Tse"})
		want("vera", "flora")
		want("wong t", "flora")
		b.wantMissing()

		// A change that has been undone keeps the name.
		current, err := b.Users.UserByName(b.Ctx, "flora")
		b.must(err)
		b.must(b.Completions.Renamed(b.Ctx, current, func() error { return nil }, "Nora Tse"))
		b.wantMissing()
		want("vera", "flora")
		want("de w", "flora")
		want("nora")

		rename(eve, "")
		wantIndexed("eve", search.Name{Username: "eve"})
		want("wong", "flora")
	})
}

// Build indexes the words of display names. Missing finds a lost word, and Restore adds it.
func TestLostWord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	flora := b.NewUser("flora")
	// Written directly, since a new name would also be indexed in the background.
	b.Redis("HSET", storage.UserKey(flora.ID), "display_name", "Flora Maria de Wong Tse Li")
	b.Redis("DEL", storage.Completions)
	index := b.Completions.Completion()
	b.wantMissing()
	b.must(index.Build(b.Ctx))
	b.wantMissing()
	b.must(index.RemoveName(b.Ctx, search.Name{Username: "flora", Display: "Wong Tse Li"}))
	b.wantMissing("@Wong Tse Li @flora")
	b.must(index.Restore(b.Ctx, "@Wong Tse Li @flora"))
	b.wantMissing()
	for prefix, want := range map[string][]search.Name{"wong": {{Username: "flora", Display: "Wong Tse Li"}}, "tse": nil} {
		if got, err := index.Names(b.Ctx, prefix, 5); err != nil || !slices.Equal(got, want) {
			t.Errorf("Names(%q) = %+v, %v; want %+v", prefix, got, err, want)
		}
	}
}

// Users found by many words of their display names do not shorten the result.
func TestCompleteRepeatedWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("ar%02d", i)
		b.must(b.Profiles.Edit(b.Ctx, b.NewUser(name), accounts.UserProfile{DisplayName: strings.Repeat(name+" ", 4)}))
		want = append(want, name)
	}
	if got := b.names(social.User{}, "ar", 8); !slices.Equal(got, want[:8]) {
		t.Errorf("names = %q, want %q", got, want[:8])
	}
}

func TestCompleteTags(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada := b.NewUser("ada")
		want := func(prefix string, tags ...string) {
			t.Helper()
			b.Eventually(fmt.Sprintf("%q to complete to %q", prefix, tags), func() bool {
				got, err := b.Completions.CompleteTags(b.Ctx, prefix, 10)
				b.must(err)
				return slices.Equal(got, tags)
			})
		}
		b.Publish(ada, "#redis #Recipe #École #日本語")
		second := b.Publish(ada, "#recipe")
		want("#re", "recipe", "redis")
		want("＃ec", "école")
		want("日", "日本語")
		want("")
		err := b.Posts.Edit(b.Ctx, ada, second, "#relay now")
		b.must(err)
		b.Publish(ada, "#redis")
		want("re", "redis", "recipe", "relay")
		b.must(b.Posts.Delete(b.Ctx, ada, second))
		want("rel")
		b.Publish(ada, "#relay again")
		want("rel", "relay")
		_, err = b.TrendRules.Set(b.Ctx, social.Operator, "redis", search.Blocked, "")
		b.must(err)
		want("re", "recipe", "relay")
		want("redis")
		_, err = b.TrendRules.Set(b.Ctx, social.Operator, "redis", search.Usual, "")
		b.must(err)
		want("redis", "redis")
		b.must(b.Completions.Completion().Build(b.Ctx))
		b.wantMissing()
	})
}

// Build creates missing completion indexes and can be repeated after an interruption. Missing
// entries are found, and Rebuild repairs them.
func TestCompletionsAreBuilt(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	b := on(t, db.Client(t))
	loader := load.New(b.App)
	var users []load.NewUser
	for i := range 1200 {
		users = append(users, load.NewUser{Name: fmt.Sprintf("user_%d", i), Joined: b.Clock.Now(), PasswordHash: "x"})
	}
	added, err := loader.AddUsers(b.Ctx, users)
	b.must(err)
	b.Redis("SADD", "user:7777", "not a hash")
	b.Redis("HSET", "users", "odd", "7777")
	b.Redis("ZADD", "tag:hello", "7", "7") // as another version would
	b.must(loader.AddFollows(b.Ctx, []load.NewFollow{{From: added[0].ID, To: added[700].ID, Time: b.Clock.Now()}}))

	cut, cancel := context.WithCancel(b.Ctx)
	cancel()
	if err := b.Completions.Completion().Build(cut); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.must(b.Completions.Completion().Build(b.Ctx))
	if got := b.names(social.User{}, "user", 2); !slices.Equal(got, []string{"user_700", "user_0"}) {
		t.Errorf("names = %q, want user_700 and user_0", got)
	}
	if tags, err := b.Completions.Completion().Tags(b.Ctx, "he", 5); err != nil || !slices.Equal(tags, []string{"hello"}) {
		t.Errorf("tags = %q, %v; want hello", tags, err)
	}
	b.wantMissing()
	b.Redis("HDEL", "{names}.content", "user_3")
	b.Redis("ZREM", "{names}", "user_3\t1")
	b.Redis("DEL", "{tags}", "{tags}.content")
	b.wantMissing("#hello", "@user_3")
	b.must(b.Completions.Completion().Rebuild(b.Ctx))
	b.wantMissing()
}
