package web_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mmcdole/gofeed/atom"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
)

// feedOf reads a feed with a third-party parser. It also checks requirements of RFC 4287 that the
// parser does not enforce.
func feedOf(t *testing.T, a *response) *atom.Feed {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/atom+xml; charset=utf-8" {
		t.Errorf("Content-Type: %q", got)
	}
	if err := xml.Unmarshal([]byte(a.body), new(struct{})); err != nil {
		t.Fatal(err)
	}
	feed, err := new(atom.Parser).Parse(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	absolute := func(what, address string) {
		t.Helper()
		if u, err := url.Parse(address); err != nil || !u.IsAbs() || u.Host == "" {
			t.Errorf("%s: %q is not an absolute URL", what, address)
		}
	}
	permanent := func(what, id string) {
		t.Helper()
		if !strings.HasPrefix(id, "urn:uuid:") {
			t.Errorf("%s: %q is not a permanent ID", what, id)
		}
	}
	permanent("feed", feed.ID)
	if feed.Title == "" || feed.UpdatedParsed == nil || len(feed.Links) != 2 || feed.Links[0].Rel != "self" {
		t.Errorf("feed: %+v", feed)
	}
	absolute("feed", feed.Links[0].Href)
	absolute("feed", feed.Links[1].Href)
	if len(feed.Entries) == 0 && len(feed.Authors) == 0 {
		t.Error("the feed has no author")
	}
	ids := map[string]bool{}
	for _, e := range feed.Entries {
		permanent("entry", e.ID)
		absolute("entry", e.Links[0].Href)
		absolute("author", e.Authors[0].URI)
		if ids[e.ID] || e.Title == "" || e.UpdatedParsed == nil || e.PublishedParsed == nil || e.Content.Type != "html" || e.Authors[0].Name == "" {
			t.Errorf("entry: %+v", e)
		}
		ids[e.ID] = true
	}
	return feed
}

func (s *site) feed(path string) *atom.Feed {
	s.t.Helper()
	return feedOf(s.t.(*testing.T), s.visitor().get(path).want(200))
}

func TestFeeds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	empty := s.feed("/timeline.atom")
	if len(empty.Entries) != 0 {
		t.Errorf("entries of an empty feed: %v", empty.Entries)
	}
	ada, ben := s.signedUp("ada"), s.signedUp("Ben")
	ada.send("/post", "status", "one <b>& two\nsee https://example.com/?a=b&c \x0b @Ben #Go").want(303)
	ben.send("/post", "status", "by ben").want(303)
	if got := s.feed("/u/Ben.atom"); len(got.Entries) != 1 || got.Title != "Ben (@Ben)" || got.Authors[0].Name != "Ben" || got.Links[1].Href != s.http.URL+"/u/Ben" {
		t.Errorf("feed of Ben: %+v", got)
	}
	s.visitor().get("/u/ben.atom").want(302, "\x00/u/Ben.atom")
	if got := s.feed("/tag/go.atom"); len(got.Entries) != 1 || got.Title != "#go" || got.Links[1].Href != s.http.URL+"/tag/go" {
		t.Errorf("feed of #go: %+v", got)
	}
	s.visitor().get("/tag/Go.atom").want(302, "\x00/tag/go.atom")
	for _, path := range []string{"/timeline", "/u/Ben", "/tag/go"} { // feed readers look for these links
		s.visitor().get(path).want(200, `<link rel="alternate" type="application/atom+xml" href="`+path+`.atom"`)
	}
	entry := s.feed("/u/ada.atom").Entries[0]
	want := "one &lt;b&gt;&amp; two<br>\nsee <a href=\"https://example.com/?a=b&amp;c\" rel=\"nofollow noopener ugc\">example.com/?a=b&amp;c</a>  " +
		"<a href=\"" + s.http.URL + "/u/Ben\" rel=\"nofollow noopener ugc\">@Ben</a> <a href=\"" + s.http.URL + "/tag/go\" rel=\"nofollow noopener ugc\">#Go</a>"
	if entry.Content.Value != want || entry.Links[0].Href != s.http.URL+"/u/ada/1" {
		t.Errorf("entry %+v\ncontent %s\nwant %s", entry, entry.Content.Value, want)
	}
	if got := s.feed("/timeline.atom"); len(got.Entries) != 2 || got.Entries[0].Title != "by ben" {
		t.Errorf("feed of the timeline: %+v", got)
	}
	for _, path := range []string{"/u/nobody.atom", "/u/.atom", "/tag/12.atom"} {
		s.visitor().get(path).want(404)
	}
	user, err := s.social.Users.UserByName(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.social.Users.UserByName(t.Context(), "ben")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.social.Relations.Block(t.Context(), user, other, time.Time{}); err != nil {
		t.Fatal(err)
	}
	ben.get("/u/ada.atom").want(404)
	if got := feedOf(t, ben.get("/timeline.atom").want(200)); len(got.Entries) != 1 {
		t.Errorf("a blocked user sees %+v", got)
	}
	// A deleted post disappears; a repost names its author.
	s.signedUp("carl")
	if _, err := s.social.Posts.Repost(t.Context(), s.user("carl"), 2); err != nil {
		t.Fatal(err)
	}
	if got := s.feed("/u/carl.atom").Entries[0]; got.Title != "Reposted @Ben: by ben" || got.Links[0].Href != s.http.URL+"/u/Ben/2" || got.ID == s.http.URL+"/u/Ben/2" {
		t.Errorf("entry of a repost: %+v", got)
	}
	if err := s.social.Posts.Delete(t.Context(), user, 1); err != nil {
		t.Fatal(err)
	}
	if got := s.feed("/u/ada.atom"); len(got.Entries) != 0 {
		t.Errorf("feed after the deletion: %+v, want no entries", got)
	}
}

// An unchanged feed is not sent again.
func TestFeedNotModified(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.send("/post", "status", "one").want(303)
	first := s.visitor().get("/u/ada.atom").want(200)
	tag := first.header.Get("ETag")
	ask := func(want int, header ...string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), "GET", s.http.URL+"/u/ada.atom", nil)
		if err == nil {
			for i := 0; i < len(header); i += 2 {
				request.Header.Add(header[i], header[i+1])
			}
		}
		if got := s.visitor().do(request, err); got.status != want || want == 304 && got.body != "" {
			t.Errorf("%q: status %d, body %q; want %d", header, got.status, got.body, want)
		}
	}
	ask(304, "If-None-Match", tag)
	ask(304, "If-None-Match", `"x", W/`+tag)
	ask(304, "If-None-Match", "*")
	ask(200, "If-None-Match", `"x"`)
	if err := s.social.Posts.Edit(t.Context(), social.User{ID: 1, Name: "ada"}, 1, "two"); err != nil {
		t.Fatal(err)
	}
	ask(200, "If-None-Match", tag)
	// A deletion changes the feed although no entry in it is newer.
	if err := s.social.Posts.Delete(t.Context(), social.User{ID: 1, Name: "ada"}, 1); err != nil {
		t.Fatal(err)
	}
	ask(200, "If-Modified-Since", time.Now().UTC().Format(http.TimeFormat))
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	s.signedUp("Adam").send("/post", "status", "#redis #Recipe").want(303)
	list := func(v *visitor, status int, q string) []string {
		t.Helper()
		a := v.get("/suggest?q=" + url.QueryEscape(q)).want(status)
		var items []struct{ Text, Label string }
		if err := json.Unmarshal([]byte(a.body), &items); err != nil || items == nil {
			t.Fatalf("%q: %v", a.body, err)
		}
		var texts []string
		for _, item := range items {
			texts = append(texts, strings.TrimSpace(item.Text+" "+item.Label))
		}
		return texts
	}
	user, err := s.social.Users.UserByName(t.Context(), "adam")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.social.Profiles.Edit(t.Context(), user, accounts.UserProfile{DisplayName: "<Zed>"}); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string][]string{
		"@ad": {"@ada", "@Adam <Zed>"}, "@<z": {"@Adam <Zed>"}, "#RE": {"#recipe", "#redis"}, "＃red": {"#redis"},
		"": nil, "ad": nil, "@": nil, "#": nil, "@" + strings.Repeat("a", 300): nil, "@\xff": nil,
	} {
		if got := list(ada, 200, q); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
	if got := list(s.visitor(), 200, "@ad"); got != nil {
		t.Errorf("a visitor gets %q, want none", got)
	}
}
