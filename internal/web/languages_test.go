package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"retwis/internal/app"
	"retwis/internal/social"
)

// in gets a path with an Accept-Language header.
func (v *visitor) in(language, path string) *response {
	v.site.t.Helper()
	request, err := http.NewRequest(http.MethodGet, v.site.http.URL+path, http.NoBody)
	if err == nil {
		request.Header.Set("Accept-Language", language)
	}
	return v.do(request, err)
}

// No page in German contains text of the English page, except names and texts of users.
func TestNoEnglishLeft(t *testing.T) {
	t.Parallel()
	s, mails := mailing(t, app.Options{})
	adam, bob := s.signedUp("adam"), s.signedUp("bob")
	adam.confirmAddress(mails, "adam@example.net")
	id := fill(t, s, adam, bob)
	s.role("adam", social.Owner)

	same := sameInBoth(t)
	reported := map[string]bool{}
	for _, path := range pagesToRead(s, id) {
		for _, v := range []*visitor{s.visitor(), bob, adam} {
			english, german := v.in("en", path), v.in("de", path)
			if english.status != german.status {
				t.Errorf("%s: status %d in English, %d in German", path, english.status, german.status)
			}
			if !strings.HasPrefix(german.header.Get("Content-Type"), "text/html") || german.status == http.StatusSeeOther {
				continue
			}
			german.want(german.status, `<html lang="de" dir="ltr"`)
			before := texts(t, english.body)
			for text, where := range texts(t, german.body) {
				if before[text] != "" && !same[text] && !reported[text] {
					reported[text] = true
					t.Errorf("%s, %s: %q is the same in both languages", path, where, text)
				}
			}
		}
	}
}

// fill creates the content that pages show, and returns the ID of a post.
func fill(t *testing.T, s *site, adam, bob *visitor) string {
	t.Helper()
	bob.send("/u/adam/follow").want(303)
	adam.send("/u/bob/follow").want(303)
	bob.send("/post", "status", "Lorem @adam #ipsum").want(303)
	id := bob.get("/u/bob").posts()[0]
	adam.send("/u/bob/"+id+"/reply", "status", "Dolor @bob").want(303)
	adam.send("/u/bob/" + id + "/like").want(303)
	adam.send("/u/bob/" + id + "/repost").want(303)
	adam.send("/u/bob/" + id + "/bookmark").want(303)
	bob.send("/u/bob/"+id+"/edit", "status", "Lorem @adam #ipsum sit").want(303)
	bob.send("/settings/profile", "display_name", "", "bio", "Amet", "links", "https://amet.example").want(303)
	adam.send("/lists", "name", "Amici").want(303)
	adam.send("/tag/ipsum/follow").want(303)
	for _, name := range []string{"carl", "dora", "emil"} {
		v := s.signedUp(name)
		v.send("/post", "status", "Lorem #ipsum").want(303)
		v.send("/u/bob/"+id+"/report", "kind", "spam", "text", "Elit").want(200)
		v.send("/u/adam/follow").want(303)
	}
	adam.send("/u/carl/mute").want(303)
	adam.send("/u/dora/block").want(303)
	return id
}

// pagesToRead returns the paths of all pages.
func pagesToRead(s *site, id string) []string {
	paths := map[string]bool{
		"/": true, "/home": true, "/u/adam": true, "/u/bob": true, "/u/bob/" + id: true, "/u/bob/" + id + "/history": true, "/u/bob/" + id + "/likes": true,
		"/u/bob/" + id + "/edit": true, "/u/bob/" + id + "/report": true, "/u/bob/report": true, "/tag/ipsum": true, "/tag/nihil": true,
		"/search?q=lorem": true, "/search?q=lorem&in=posts": true, "/search?q=adam&in=people": true, "/search?q=(": true, "/search?q=nihil": true, "/search?q=from:x&in=posts": true,
		"/notifications?only=mentions": true, "/u/bob/mute": true, "/u/bob/block": true, "/u/nobody": true, "/invite/none": true, "/reset/1.x": true,
		"/moderation/case?of=post:" + id: true, "/moderation/users?q=bob": true, "/timeline?before=1": true, "/home?before=1": true,
	}
	for route, w := range walks {
		if path, isGet := strings.CutPrefix(route, "GET "); isGet && w.path != "" && !strings.Contains(path, "{token}") {
			paths[strings.NewReplacer("{id}", id, "/author", "/bob").Replace(w.path)] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// sameInBoth returns the texts that are the same in English and German, and the name Retwis.
func sameInBoth(t *testing.T) map[string]bool {
	t.Helper()
	same := map[string]bool{"Retwis": true}
	body, err := os.ReadFile("../i18n/messages/de.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	for id, text := range all {
		if shown, _, _ := strings.Cut(id, "|"); shown == text {
			same[shown] = true
		}
	}
	return same
}

// readOut lists the attributes that browsers show or read out.
var readOut = []string{"aria-label", "title", "placeholder", "alt"}

// texts returns the texts of a page that contain a letter, with their positions. It leaves out
// texts of users: names, tags, links and the bodies of posts.
func texts(t *testing.T, page string) map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	add := func(text, where string) {
		text = strings.Join(strings.Fields(text), " ")
		if strings.ContainsAny(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz") && !isWritten(text) {
			found[text] = where
		}
	}
	var walk func(n *html.Node, where string)
	walk = func(n *html.Node, where string) {
		if n.Type == html.TextNode {
			add(n.Data, where)
		}
		if n.Type == html.ElementNode {
			if slices.Contains([]string{"script", "style", "kbd", "code", "pre"}, n.Data) {
				return
			}
			where = n.Data
			for _, a := range n.Attr {
				if a.Key == "class" {
					where += "." + strings.ReplaceAll(a.Val, " ", ".")
				}
				if a.Key == "lang" && n.Data != "html" {
					return // text in another language
				}
				if slices.Contains(readOut, a.Key) {
					add(a.Val, where+" "+a.Key)
				}
			}
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child, where)
		}
	}
	walk(root, "")
	return found
}

// isWritten reports whether a text is a name or was written by a user.
func isWritten(text string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') }) {
		if !slices.Contains([]string{"adam", "bob", "carl", "dora", "emil", "lorem", "ipsum", "dolor", "sit", "amet", "elit", "amici", "example", "net", "https", "retwis", "alt", "utc", "dev", "mb", "link", "user", "owner", "nihil", "walk", "english", "deutsch"}, word) && strings.Trim(word, "0123456789") != "" {
			return false
		}
	}
	return true
}

// The language is the one that the user has chosen, or else the browser's.
func TestLanguage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	v.get("/timeline").want(200, `<html lang="en" dir="ltr"`, "Log in")
	v.in("de-CH,fr;q=0.5", "/timeline").want(200, `<html lang="de" dir="ltr"`, "Anmelden")
	v.in("en", "/timeline").want(200, `<html lang="en" dir="ltr"`) // the page of visitors is cached
	v.send("/language", "language", "de", "back", "/explore").want(303, "/explore")
	v.in("en", "/timeline").want(200, `<html lang="de" dir="ltr"`, "Anmelden")
	v.send("/language", "language", "tlh", "back", "//elsewhere.example").want(303, "/")
	v.in("en", "/timeline").want(200, `<html lang="en" dir="ltr"`)

	ada := s.signedUp("ada")
	ada.send("/settings/appearance", "language", "de", "theme", "dark").want(303)
	ada.get("/home").want(200, `<html lang="de" dir="ltr" data-theme="dark"`)
	ada.send("/post", "status", " ").want(422, "Schreib zuerst etwas.")
	ada.get("/u/nobody").want(404, "<h1>Dieses Konto gibt es nicht</h1>")
	ada.send("/language", "language", "en").want(303)
	ada.get("/home").want(200, `<html lang="en" dir="ltr" data-theme="dark"`)
}

// A post is shown in each language, before and after a change.
func TestPostInLanguages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.send("/post", "status", "Lorem").want(303)
	path := "/u/ada/" + ada.get("/u/ada").posts()[0]
	for range 2 {
		ada.in("en", path).want(200, `aria-label="Like, 0 likes"`)
		ada.in("de", path).want(200, `aria-label="Gefällt mir, 0 Mal"`)
	}
	ada.send(path + "/like").want(303)
	ada.in("de", path).want(200, `aria-label="„Gefällt mir“ zurücknehmen, 1 Mal"`)
	ada.in("en", path).want(200, `aria-label="Undo like, 1 like"`)
}

// Emails are in the language that the user had when setting the address.
func TestMailInLanguage(t *testing.T) {
	t.Parallel()
	s, mails := mailing(t, app.Options{})
	ada := s.signedUp("ada")
	ada.send("/language", "language", "de").want(303)
	ada.send("/settings/email", "address", adaAt, "current", password).want(303)
	ada.send("/language", "language", "en").want(303)
	confirm := mails.Wait(t, 1)
	if !strings.Contains(confirm.Text, "Das Konto ada auf") {
		t.Error(confirm.Text)
	}
	s.visitor().send(confirm.Link("/confirm/")).want(200, "Email address confirmed")
	n := len(mails.Mails())
	s.visitor().send("/forgot", "account", "ada").want(303)
	if mail := mails.Wait(t, n+1); !strings.Contains(mail.Text, "Konto ada auf") {
		t.Error(mail.Text)
	}
}
