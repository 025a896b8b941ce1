package search_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// Moderators can block and pin tags.
func TestRules(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		crowd := b.crowd(8)
		for _, user := range crowd {
			b.Publish(user, "#one #two")
		}
		b.Publish(crowd[0], "#few")
		moderator := crowd[7]
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, moderator.ID, social.Moderator, ""))
		set := func(actor social.Actor, tag string, state search.State, want bool) {
			t.Helper()
			changed, err := b.TrendRules.Set(b.Ctx, actor, tag, state, "why")
			if err != nil || changed != want {
				t.Errorf("Set(%s, %q) = %v, %v; want %v", tag, state, changed, err, want)
			}
		}
		set(moderator.Actor(), " #TWO", search.Blocked, true)
		set(moderator.Actor(), "two", search.Blocked, false)
		set(social.Operator, "few", search.Pinned, true)
		if got := tags(b.top(social.User{})); got != "few 0 pinned, one 8" {
			t.Errorf("tags: %s", got)
		}
		set(social.Operator, "one", search.Pinned, true)
		if got := tags(b.see(social.User{})); got != "few 0 pinned, one 8 pinned" {
			t.Errorf("before the next merge: %s", got)
		}
		set(social.Operator, "few", search.Usual, true)
		set(social.Operator, "two", search.Usual, true)
		set(social.Operator, "one", search.Blocked, true)
		if got := tags(b.top(social.User{})); got != "two 8" {
			t.Errorf("after all changes: %s", got)
		}
		log, err := b.Audit.Read(b.Ctx, audit.Filter{Target: storage.TagKey("two")}, "", 10)
		b.must(err)
		if len(log.Entries) != 2 || log.Entries[0].Action != "unblock-tag" || log.Entries[1].Action != "block-tag" ||
			log.Entries[1].Actor != moderator.Actor() || log.Entries[1].Note != "why" {
			t.Errorf("audit log: %+v", log.Entries)
		}
	})
}

// After a word or domain is blocked, the next merge removes its trends.
func TestBlocklist(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		for _, user := range b.crowd(5) {
			b.Publish(user, "#go https://spam.example/a https://example.com/a")
			b.Publish(user, "#cheap https://www.spam.example/b")
		}
		if top := b.top(social.User{}); len(top.Links) != 3 || tags(top) != "cheap 5, go 5" {
			t.Fatalf("before: %s, %v", tags(top), top.Links)
		}
		for _, block := range []blocklist.Block{{Kind: blocklist.Word, Value: "cheap"}, {Kind: blocklist.Domain, Value: "spam.example"}} {
			_, err := b.Blocklist.Add(b.Ctx, social.Operator, block, 0)
			b.must(err)
		}
		top := b.top(social.User{})
		if got := tags(top); got != "go 5" {
			t.Errorf("tags: %s", got)
		}
		if want := []search.Trend{{Name: "https://example.com/a", People: 5}}; !slices.Equal(top.Links, want) {
			t.Errorf("links: %v, want %v", top.Links, want)
		}
	})
}

func TestRulesRefuse(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.New(t)}
	ada := b.NewUser("ada")
	for name, c := range map[string]struct {
		actor     social.Actor
		tag, note string
		want      error
	}{
		"a member":     {ada.Actor(), "go", "", social.ErrForbidden},
		"nobody":       {0, "go", "", social.ErrForbidden},
		"no tag":       {social.Operator, "1 2", "", social.ErrNotFound},
		"a long note":  {social.Operator, "long", strings.Repeat("a", social.MaxNote+1), &social.InvalidError{}},
		"a long tag":   {social.Operator, strings.Repeat("日", 50), "", nil},
		"the same tag": {social.Operator, "#GO", "", nil},
	} {
		if _, err := b.TrendRules.Set(b.Ctx, c.actor, c.tag, search.Blocked, c.note); !isLike(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// isLike reports whether err is want. Any InvalidError is like any other.
func isLike(err, want error) bool {
	var invalid *social.InvalidError
	if errors.As(want, &invalid) {
		return errors.As(err, &invalid)
	}
	return errors.Is(err, want)
}
