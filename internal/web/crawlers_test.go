package web_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/moderation"
	siteinfo "retwis/internal/social/site"
)

// profilesInSitemap returns the usernames on the first page of the sitemap.
func (s *site) profilesInSitemap(v *visitor) []string {
	s.t.Helper()
	var page struct {
		XMLName  xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Profiles []string `xml:"url>loc"`
	}
	if err := xml.Unmarshal([]byte(v.get("/sitemap/1.xml").want(200).body), &page); err != nil {
		s.t.Fatal(err)
	}
	for i, address := range page.Profiles {
		page.Profiles[i] = strings.TrimPrefix(address, s.http.URL+"/u/")
	}
	return page.Profiles
}

// The sitemap has the profiles that strangers can see, whoever the viewer is.
func TestSitemap(t *testing.T) {
	t.Parallel()
	s := setup(t)
	index := s.visitor().get("/sitemap.xml").want(200, "<loc>"+s.http.URL+"/sitemap/1.xml</loc>").wantNot("/sitemap/2.xml")
	if got := index.header.Get("Cache-Control"); got != "public, no-cache" {
		t.Errorf("Cache-Control: %q", got)
	}
	for _, path := range []string{"/sitemap/2.xml", "/sitemap/0.xml", "/sitemap/1", "/sitemap/x.xml", "/sitemap/50001.xml"} {
		s.visitor().get(path).want(404)
	}
	ada := s.signedUp("ada")
	for _, name := range []string{"ben", "quiet", "spam", "limited"} {
		s.signedUp(name)
	}
	err := s.social.Profiles.Edit(t.Context(), s.user("quiet"), accounts.UserProfile{Unsearchable: true})
	if err == nil {
		err = s.social.Relations.Block(t.Context(), s.user("ada"), s.user("ben"), time.Time{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, standing := range map[string]social.Standing{"spam": social.Suspended, "limited": social.Limited} {
		err := s.social.Moderation.SetStanding(t.Context(), social.Operator, s.user(name).ID, moderation.StandingChange{Standing: standing})
		if err != nil {
			t.Fatal(err)
		}
	}
	for viewer, v := range map[string]*visitor{"a stranger": s.visitor(), "ada": ada} {
		if got := s.profilesInSitemap(v); !slices.Equal(got, []string{"ada", "ben"}) {
			t.Errorf("for %s the sitemap has %q, want ada and ben", viewer, got)
		}
	}
	// Caching does not delay a suspension.
	err = s.social.Moderation.SetStanding(t.Context(), social.Operator, s.user("ben").ID, moderation.StandingChange{Standing: social.Suspended})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.profilesInSitemap(s.visitor()); !slices.Equal(got, []string{"ada"}) {
		t.Errorf("after a suspension the sitemap has %q, want ada", got)
	}
}

// The pages of an unsearchable user have noindex, and so have all pages of a site with the setting
// NoIndex.
func TestNoIndex(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada").send("/post", "status", "one").want(303)
	v := s.visitor()
	check := func(path string, want bool) {
		t.Helper()
		a := v.get(path)
		if got := a.header.Get("X-Robots-Tag") == "noindex"; got != want {
			t.Errorf("%s: noindex %v, want %v", path, got, want)
		}
	}
	own := []string{"/u/ada", "/u/ada/replies", "/u/ada/followers", "/u/ada/1", "/u/ada/1/likes", "/u/ada.atom", "/u/ada.json"}
	others := []string{"/", "/timeline", "/explore", "/nothing", "/tag/go"}
	for _, path := range slices.Concat(own, others) {
		check(path, false)
	}
	if err := s.social.Profiles.Edit(t.Context(), s.user("ada"), accounts.UserProfile{Unsearchable: true}); err != nil {
		t.Fatal(err)
	}
	for _, path := range own {
		check(path, true)
	}
	for _, path := range others {
		check(path, false)
	}
	v.get("/robots.txt").want(200, "Disallow: /search\n", "Sitemap: "+s.http.URL+"/sitemap.xml\n").wantNot("Disallow: /\n")
	s.set(siteinfo.NoIndex, "on")
	for _, path := range slices.Concat(own, others) {
		if path != "/timeline" { // which is cached for a moment
			check(path, true)
		}
	}
	v.get("/robots.txt").want(200, "Disallow: /\n").wantNot("Sitemap")
	v.get("/sitemap.xml").want(404)
	v.get("/sitemap/1.xml").want(404)
	s.set(siteinfo.NoIndex, "off")
	check("/explore", false)
}

// Pages have metadata for link previews, except for the later pages of a list.
func TestCards(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.send("/post", "status", `a "text" & #go`).want(303)
	if err := s.social.Profiles.Edit(t.Context(), s.user("ada"), accounts.UserProfile{DisplayName: "Ada L", Bio: "writes <code>"}); err != nil {
		t.Fatal(err)
	}
	v := s.visitor()
	for path, want := range map[string][]string{
		"/u/ada/1": {
			`property="og:type" content="article"`, `property="og:description" content="a &#34;text&#34; &amp; #go"`,
			`property="og:title" content="Ada L (@ada)"`, `property="article:published_time" content="20`, `property="article:author" content="ada"`,
		},
		"/u/ada": {
			`property="og:type" content="profile"`, `property="og:description" content="writes &lt;code&gt;"`, `property="profile:username" content="ada"`,
		},
		"/tag/go": {`property="og:type" content="website"`, `property="og:title" content="#go"`},
	} {
		page := v.get(path).want(200, `<link rel="canonical" href="`+s.http.URL+path+`"`, `property="og:url" content="`+s.http.URL+path+`"`,
			`property="og:site_name" content="Retwis"`, `name="twitter:card" content="summary"`)
		page.want(200, want...)
		if strings.Count(page.body, "</head>") != 1 || strings.Index(page.body, "og:url") > strings.Index(page.body, "</head>") {
			t.Errorf("%s: the metadata is not in the head", path)
		}
	}
	v.get("/u/ada?before=1").want(200).wantNot("og:url", "canonical")
	v.get("/u/ada/replies").want(200).wantNot("og:url")
	s.signedUp("plain")
	v.get("/u/plain").want(200, `property="og:description" content="Posts by plain (@plain) on Retwis."`)
}

// jsonFeed is a feed as specified by https://jsonfeed.org/version/1.1.
type jsonFeed struct {
	Version  string `json:"version"`
	Title    string `json:"title"`
	HomePage string `json:"home_page_url"`
	Feed     string `json:"feed_url"`
	Authors  []struct{ Name, URL string }
	Items    []struct {
		ID, URL, Title string
		Content        string    `json:"content_html"`
		Published      time.Time `json:"date_published"`
		Modified       time.Time `json:"date_modified"`
		Authors        []struct{ Name, URL string }
		Tags           []string
	}
}

// A JSON feed has the same posts as the page's Atom feed.
func TestJSONFeeds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada").send("/post", "status", "one <b>& #Go\n@ben").want(303)
	s.signedUp("ben").send("/u/ada/1/repost").want(303)
	if err := s.social.Posts.Edit(t.Context(), s.user("ada"), 1, "two <b>& #Go\n@ben"); err != nil {
		t.Fatal(err)
	}
	for page, n := range map[string]int{"/timeline": 1, "/u/ada": 1, "/u/ben": 1, "/tag/go": 1, "/tag/none": 0} {
		if n > 0 {
			s.visitor().get(page).want(200, `<link rel="alternate" type="application/feed+json" href="`+page+`.json"`)
		}
		a := s.visitor().get(page + ".json").want(200)
		if got := a.header.Get("Content-Type"); got != "application/feed+json" {
			t.Errorf("%s: Content-Type %q", page, got)
		}
		var feed jsonFeed
		if err := json.Unmarshal([]byte(a.body), &feed); err != nil {
			t.Fatal(err)
		}
		atomFeed := s.feed(page + ".atom")
		if feed.Version != "https://jsonfeed.org/version/1.1" || feed.HomePage != s.http.URL+page || feed.Feed != s.http.URL+page+".json" ||
			feed.Title != atomFeed.Title || feed.Items == nil || len(feed.Items) != n || len(atomFeed.Entries) != n {
			t.Errorf("%s: feed %+v", page, feed)
		}
		for i, item := range feed.Items {
			entry := atomFeed.Entries[i]
			if item.ID != entry.ID || item.URL != entry.Links[0].Href || item.Content != entry.Content.Value || item.Authors[0].Name != "ada" ||
				!item.Published.Equal(*entry.PublishedParsed) || !slices.Equal(item.Tags, []string{"go"}) || item.Modified.Before(item.Published) {
				t.Errorf("%s: item %+v", page, item)
			}
			if want := map[bool]string{true: "Reposted @ada"}[page == "/u/ben"]; item.Title != want {
				t.Errorf("%s: title %q, want %q", page, item.Title, want)
			}
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+page+".json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("If-None-Match", a.header.Get("ETag"))
		s.visitor().do(request, nil).want(304)
	}
	s.visitor().get("/u/Ada.json").want(302, "\x00/u/ada.json")
	s.visitor().get("/u/nobody.json").want(404)
}
