package web_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/web"
)

// Spaces around a name and a leading @ are ignored, because keyboards and password managers add
// them.
func TestNamesAsTyped(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i, typed := range []string{"ada0 ", " ada1", "ada2\t", "ada3\u00a0", "@ada4", " \u200b@ada5"} {
		name := "ada" + string(rune('0'+i))
		v := s.visitor()
		v.send("/register", "username", typed, "password", password, "password2", password).want(303, "/home")
		v.get("/u/"+name).want(200, "@"+name)
		s.visitor().send("/login", "username", typed, "password", password).want(303, "/home")
	}
	s.visitor().send("/login", "username", "ada0", "password", password+" ").want(422)
}

// A search with more parts than the index supports is rejected with a message.
func TestTooManyPrefixes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	query := ""
	for _, first := range "abcdefghijklmnop" {
		text := ""
		for _, second := range "abcdefghijklmn" {
			text += " " + string([]rune{first, second, 'x'})
		}
		s.say("ada", text)
		query += string(first) + "* "
	}
	for _, in := range []string{"posts", "people"} {
		res := ada.get("/search?in=" + in + "&q=" + strings.ReplaceAll(query, " ", "+"))
		if res.status >= 500 {
			t.Errorf("in %s: status %d", in, res.status)
		}
	}
	ada.get("/search?q="+strings.ReplaceAll(query, " ", "+")).want(422, "This search has too many parts.")
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Error(s.log)
	}
}

// Parts of a search that cannot be parsed are reported along with the posts found.
func TestSearchNotes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	s.say("ada", "the date is after 1.11.2026")
	v := s.visitor()
	v.get("/search?q=after%3A1.11.2026").want(200, "“after:1.11.2026” isn&#39;t a date, so its words are searched for. Write after:2026-11-01.")
	v.get("/search?q=lang%3Ade").want(200, "“lang:de” isn&#39;t an operator, so it is searched for as words.")
	v.get("/search?q=from%3Aada").want(200, "the date is").wantNot("searched for as words")
	for _, in := range []string{"people", "tags"} {
		v.get("/search?in="+in+"&q=from%3Aada").want(200, "“from:ada” only works when searching posts")
		v.get("/search?in=" + in + "&q=ada").want(200).wantNot("only works when searching posts")
	}
}

// An invalid Host header does not cause a server error.
func TestOddHosts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, host := range []string{"[::1", "a b", "%zz", "a:b:c", "med", ""} {
		for _, path := range []string{"/login/passkey-options", "/timeline", "/timeline.atom", "/robots.txt"} {
			method := http.MethodGet
			if strings.HasSuffix(path, "options") {
				method = http.MethodPost
			}
			request, err := http.NewRequestWithContext(t.Context(), method, s.http.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			request.Header.Set("Sec-Fetch-Site", "same-origin")
			res, err := s.visitor().http.Do(request)
			if err != nil {
				continue // the client refuses the Host
			}
			res.Body.Close()
			if res.StatusCode >= 500 {
				t.Errorf("%s with Host %q: status %d", path, host, res.StatusCode)
			}
		}
	}
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Error(s.log)
	}
}

var feedID = regexp.MustCompile(`<id>[^<]*</id>|"id":"[^"]*"`)

// The IDs of feeds do not depend on the host name in the request. Canonical links use the
// configured address.
func TestFeedsByManyNames(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	plain, configured := on(t, client), with(t, client, web.Options{BaseURL: "https://social.example"})
	plain.signedUp("ada")
	plain.say("ada", "hello")
	for _, path := range []string{"/u/ada.atom", "/u/ada.json", "/timeline.atom", "/timeline.json"} {
		var first []string
		for _, s := range []*site{plain, configured} {
			for _, host := range []string{"", "www.example.com"} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				request.Host = host
				res := s.visitor().do(request, nil).want(200)
				ids := feedID.FindAllString(res.body, -1)
				if first == nil {
					first = ids
				}
				if len(ids) == 0 || !slices.Equal(ids, first) || slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(id, "urn:uuid:") }) {
					t.Errorf("%s with Host %q: ids %q, want %q", path, host, ids, first)
				}
				if s == configured && !strings.Contains(res.body, "https://social.example/u/ada/1") {
					t.Errorf("%s with Host %q does not link to the configured address:\n%s", path, host, res.body)
				}
			}
		}
	}
	configured.visitor().get("/u/ada/1").want(200, `<link rel="canonical" href="https://social.example/u/ada/1"`)
}
