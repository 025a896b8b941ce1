package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
)

// find returns the IDs of the posts that a search of a user finds.
func (b *bundle) find(user social.User, typed string) string {
	b.T.Helper()
	q, err := search.Parse(typed)
	b.must(err)
	page, err := b.Search.Posts(b.Ctx, b.viewer(user), q, 0, 50)
	if err != nil {
		b.T.Errorf("%s: %v", typed, err)
	}
	var ids []int64
	for _, item := range page.Items {
		ids = append(ids, item.Entry.ID)
	}
	return strings.Trim(fmt.Sprint(ids), "[]")
}

func (b *bundle) wantFound(user social.User, typed string, want ...int64) {
	b.T.Helper()
	slices.Sort(want)
	slices.Reverse(want)
	if got, want := b.find(user, typed), strings.Trim(fmt.Sprint(want), "[]"); got != want {
		b.T.Errorf("%q finds %q, want %q", typed, got, want)
	}
}

func TestSearchPosts(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		day := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
		at := func(days int) { b.Clock.Unix.Store(day.AddDate(0, 0, days).Unix()) }
		at(-1)
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		first := b.Publish(ada, "The quick brown Fuchs jumps over Ünïcode #Lakes")
		at(0)
		second := b.Publish(bob, "quick thoughts for @Ada: https://example.com/path")
		reply := b.reply(bob, first, "a reply about brown bears")
		at(1)
		third := b.Publish(ada, "東京都の天気 is quick")
		deleted := b.Publish(ada, "quick regret")
		b.must(b.Posts.Delete(b.Ctx, ada, deleted))
		edited := b.Publish(ada, "tpyo quick #lakes")
		err := b.Posts.Edit(b.Ctx, ada, edited, "typo fixed #rivers")
		b.must(err)
		_, err = b.Posts.Repost(b.Ctx, bob, first)
		b.must(err)

		for typed, want := range map[string][]int64{
			"quick":                       {first, second, third},
			"QUICK brown":                 {first},
			"quick -brown":                {second, third},
			"brown OR typo":               {first, reply, edited},
			`"quick brown"`:               {first},
			`"brown quick"`:               {},
			"unicode":                     {first},
			"東京":                          {third},
			"tho*":                        {second},
			"tpyo":                        {},
			"#lakes":                      {first},
			"#Rivers":                     {edited},
			"tag:rivers":                  {edited},
			"-#rivers from:ada":           {first, third},
			"from:ADA quick":              {first, third},
			"from:me":                     {second, reply},
			"from:@bob -is:reply":         {second},
			"to:ada":                      {second, reply},
			"@ada":                        {second},
			"has:link":                    {second},
			"is:reply":                    {reply},
			"(brown OR thoughts) from:me": {second, reply},
			"quick before:2026-10-01":     {first},
			"quick before:2026-10-02":     {first, second},
			"quick after:2026-09-30":      {second, third},
			"quick after:2026-10-01":      {third},
			"quick after:2026-09-30 before:2026-10-02": {second},
			"example.com":      {second},
			"has:nothing":      {},
			"before:yesterday": {},
			"colon:word":       {},
			"is:quick":         {third},
		} {
			b.wantFound(bob, typed, want...)
		}
		other.wantFound(social.User{}, "quick", first, second, third)
		socialtest.WantIndexRight(b.Bundle)

		for typed, want := range map[string]string{
			"":                          "Add a word",
			"before:2026-10-01":         "Add a word",
			"-quick":                    "only excludes",
			"(quick":                    "without a )",
			`"quick`:                    "closing quote",
			"from:nobody":               "There is no user @nobody",
			strings.Repeat("word ", 33): "32 words",
		} {
			q, err := search.Parse(typed)
			b.must(err)
			if _, err = b.Search.Posts(b.Ctx, b.viewer(bob), q, 0, 10); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", typed, err, want)
			}
		}
		var invalid *social.InvalidError
		if _, err := search.Parse(strings.Repeat("ä", search.MaxQuery+1)); !errors.As(err, &invalid) {
			t.Errorf("a search that is too long: %v", err)
		}
		b.WantHealthy()
	})
}

// An operator that cannot be parsed is searched for as words, and a note explains how to write it.
func TestNotesOnOperators(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"after:1.11.2026 a":        "“after:1.11.2026” isn't a date, so its words are searched for. Write after:2026-11-01.",
		"after:2026-13-01":         "“after:2026-13-01” isn't a date, so its words are searched for. Write after:2026-11-01.",
		"Before:yesterday":         "“Before:yesterday” isn't a date, so its words are searched for. Write before:2026-11-01.",
		"after: 2026-11-01":        "“after:” is searched for as words: write the day as in after:2026-11-01, without a space.",
		"-after:2026-11-01":        "“-after:2026-11-01” is searched for as words: write before: without the minus.",
		"since:2026-11-01":         "“since:2026-11-01” is searched for as words: write after:2026-11-01.",
		"has:pictures":             "“has:pictures” is searched for as words: only has:link and has:picture are supported.",
		"has:picture -has:picture": "",
		"is:quick":                 "“is:quick” is searched for as words: only is:reply is supported.",
		"lang:de":                  "“lang:de” isn't an operator, so it is searched for as words.",
		"tag:!":                    "“tag:!” is searched for as words: write tag:redis.",
		"from:ada has:link":        "",
		"after:2026-11-01":         "",
		"-is:reply tag:ruby":       "",
		"#tag @ada 12:30 https://example.com colon:word in://x": "",
		`"lang:de"`: "",
	} {
		q, err := search.Parse(typed)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, note := range q.Notes() {
			notes = append(notes, note.String())
		}
		if got := strings.Join(notes, "\n"); got != want {
			t.Errorf("%q: %s; want %s", typed, got, want)
		}
	}
}

// Posts of unsearchable users are found only by moderators and by the users themselves.
func TestUnsearchable(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob, staff := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("the_staff")
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, staff.ID, social.Moderator, ""))
		staff.Role = social.Moderator
		post := b.Publish(ada, "a secret garden")
		other.wantFound(bob, "garden", post)
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{Unsearchable: true}))
		b.wantFound(ada, "garden", post)
		other.Eventually("the setting to take effect", func() bool { return other.find(bob, "garden") == "" })
		other.wantFound(staff, "garden", post)
		other.wantFound(social.User{}, "garden")
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{}))
		other.Eventually("the setting to take effect", func() bool { return other.find(bob, "garden") != "" })
	})
}

// A page of search results continues where the previous page ended, even if most results are
// hidden.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	var want []int64
	for i := range 60 {
		author := ada
		if i%3 != 0 {
			author = bob
		}
		if id := b.Publish(author, fmt.Sprintf("word %d", i)); author == ada {
			want = append([]int64{id}, want...)
		}
	}
	b.must(b.Relations.Mute(b.Ctx, eve, bob, time.Time{}))
	q, err := search.Parse("word")
	b.must(err)
	var got []int64
	for before, pages := int64(0), 0; ; pages++ {
		page, err := b.Search.Posts(b.Ctx, b.viewer(eve), q, before, 7)
		b.must(err)
		for _, item := range page.Items {
			got = append(got, item.Entry.ID)
		}
		if before = page.Next; before == 0 || pages > 20 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// Posts hidden from the viewer cause no empty or short pages, and no link to older posts.
func TestSearchAmongHiddenPosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	first := b.Publish(ada, "the word of ada")
	for i := range 120 {
		b.Publish(bob, fmt.Sprintf("word %d", i))
	}
	b.must(b.Relations.Block(b.Ctx, bob, eve, time.Time{}))
	for typed, want := range map[string][]int64{"word": {first}, "word -ada": nil} {
		q, err := search.Parse(typed)
		b.must(err)
		page, err := b.Search.Posts(b.Ctx, b.viewer(eve), q, 0, 10)
		b.must(err)
		var got []int64
		for _, item := range page.Items {
			got = append(got, item.Entry.ID)
		}
		if !slices.Equal(got, want) || page.Next != 0 {
			t.Errorf("%q finds %v, next page before %d; want %v, no next page", typed, got, page.Next, want)
		}
	}
}

func TestSearchPeople(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada Lovelace", Bio: "Engines and poems"}))
		b.must(b.Profiles.Edit(b.Ctx, bob, accounts.UserProfile{DisplayName: "Engine driver"}))
		b.must(b.Profiles.Edit(b.Ctx, eve, accounts.UserProfile{Bio: "poems, only poems"}))
		b.Connect(bob, eve)
		find := func(typed string) string {
			t.Helper()
			users, err := other.Search.People(b.Ctx, other.viewer(social.User{}), typed)
			b.must(err)
			var names []string
			for _, user := range users {
				names = append(names, user.Name)
			}
			return strings.Join(names, " ")
		}
		want := func(typed, want string) {
			t.Helper()
			if got := find(typed); got != want {
				t.Errorf("%q finds %q, want %q", typed, got, want)
			}
		}
		want("poems", "eve ada") // eve has a follower
		want("lovelace", "ada")
		want("ada", "ada")
		want("@ad", "ada")
		want("engine", "bob")
		want("engines poems", "ada")
		want("nobody", "")
		b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada Lovelace", Bio: "Only prose"}))
		want("poems", "eve")
		want("prose", "ada")
		socialtest.WantIndexRight(b.Bundle)
		b.must(b.Leaving.DeleteAccount(b.Ctx, eve.ID))
		b.Clock.Advance(time.Minute)
		b.must(b.Leaving.FinishRemoval(b.Ctx, eve.ID))
		want("poems", "")
		socialtest.WantIndexRight(b.Bundle)
	})
}
