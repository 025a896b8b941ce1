package web_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/social"
)

// No page fails because of a key of the wrong type, written by another program or by a restore: the
// page lacks the content of the key. Users, sessions and blocks are exceptions, because access
// checks depend on them.
func TestKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader := s.signedUp("author"), s.signedUp("reader")
	reader.send("/u/author/follow").want(303)
	first, second := s.say("author", "the first #walk"), s.say("author", "the second #walk of @reader")
	s.reply("reader", first, "an answer")
	post := fmt.Sprintf("/u/author/%d", first)
	for _, act := range []string{"like", "repost", "bookmark"} {
		reader.send(post + "/" + act).want(303)
	}
	reader.send("/tag/walk/follow").want(303)
	reader.send("/u/author/mute", "for", "week").want(303)
	reader.send("/u/author/unmute").want(303)
	author.send(fmt.Sprintf("/u/author/%d/edit", second), "status", "edited #walk").want(303)
	author.send(post + "/pin").want(303)
	reader.send(post+"/report", "kind", "spam").want(200)
	s.role("author", social.Moderator)

	pages := []string{
		"/timeline", "/explore", "/explore/people", "/search?q=walk", "/search?q=auth&in=people", "/tag/walk", "/timeline.atom", "/sitemap.xml",
		"/u/author", "/u/author/replies", "/u/author/likes", "/u/author/followers", "/u/author/following", "/suggest?q=%40auth", "/suggest?q=%23wa",
		post, post + "/likes", post + "/reposts", fmt.Sprintf("/u/author/%d/history", second),
	}
	own := []string{
		"/home", "/notifications", "/bookmarks", "/lists", "/settings/profile", "/settings/muted", "/settings/blocked", "/settings/data",
		"/settings/security", "/settings/notifications", "/moderation", "/u/author/lists",
	}
	client := s.client
	number := regexp.MustCompile(`\d+`)
	for _, key := range s.oneOfEachKind(number) {
		dump, err := client.Do(t.Context(), client.B().Dump().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := client.Do(t.Context(), client.B().Type().Key(key).Build()).ToString()
		s.do("DEL", key)
		if kind == "string" {
			s.do("LPUSH", key, "damage")
		} else {
			s.do("SET", key, "damage")
		}
		for v, paths := range map[*visitor][]string{s.visitor(): pages, author: slices.Concat(pages, own), reader: slices.Concat(pages, own)} {
			for _, path := range paths {
				if got := v.get(path); got.status >= 500 {
					t.Errorf("%s with key %s of the wrong type: %d: %s", path, key, got.status, got.log[max(0, strings.LastIndex(got.log, "level=ERROR")):])
				}
			}
		}
		s.do("DEL", key)
		if err := client.Do(t.Context(), client.B().Restore().Key(key).Ttl(0).SerializedValue(dump).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// guarding lists prefixes of keys without which a page must fail, because it could reveal hidden
// content.
var guarding = []string{"user:", "users", "auths", "session", "blocklist", "staff", "standings", "muted:", "blocked:", "blockers:", "{"}

// oneOfEachKind returns one key of each kind in the database, except guarding keys. Keys that
// differ only in the matches of number are of one kind.
func (s *site) oneOfEachKind(number *regexp.Regexp) []string {
	s.t.Helper()
	keys, err := s.client.Do(s.t.Context(), s.client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(keys)
	kinds := map[string]string{}
	for _, key := range keys {
		kind := number.ReplaceAllString(key, "N")
		if _, ok := kinds[kind]; !ok && !slices.ContainsFunc(guarding, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			kinds[kind] = key
		}
	}
	return slices.Sorted(maps.Values(kinds))
}

func (s *site) do(args ...string) {
	s.t.Helper()
	if err := s.client.Do(s.t.Context(), s.client.B().Arbitrary(args...).Build()).Error(); err != nil {
		s.t.Fatal(err)
	}
}
