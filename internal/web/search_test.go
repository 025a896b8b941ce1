package web_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The first page of a search shows people, tags and posts, each in its section.
func TestSearchAll(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	for _, name := range []string{"vera_one", "vera_two", "vera_three", "vera_four"} {
		s.signedUp(name)
	}
	other := s.signedUp("other")
	other.send("/settings/profile", "display_name", "Ida Holm").want(303)
	ada.send("/post", "status", "tea with milk #vera").want(303)
	s.visitor().get("/search?q=vera").want(200, `aria-current="page">All</a>`, `<a href="/search?q=vera&amp;in=people">More people</a>`,
		`action="/u/vera_one/follow"`, `<a class="button soft small-button" href="/tag/vera" dir="auto">#vera</a>`, "tea with milk")
	page := ada.get("/search?q=vera").want(200, "Save this search", `name="back" value="/search?q=vera"`)
	if n := strings.Count(page.body, `<ul class="card people">`); n != 1 || strings.Count(page.body, "/follow\"") < 3 {
		t.Errorf("%d lists of people", n)
	}
	ada.get("/search?q=holm").want(200, `href="/u/other"`, "No posts for “holm”. 1 person matches.").wantNot("Save this search", `in=people">More people`)
	ada.get("/search?q=%22holm%22").want(200).wantNot("/u/other") // a search for posts
	ada.get("/search?q=holm&in=posts").want(200, "No posts for “holm”.", `<a href="/search?q=holm&amp;in=people">1 person matches.</a>`).wantNot("Save this search")
	ada.get("/search?q=nothing").want(200, "No posts, people or tags for “nothing”.").wantNot("Save this search")
	ada.get("/search?q=nothing&in=people").want(200, "No people for “nothing”.")
	ada.get("/search?q=nothing&in=tags").want(200, "No tags for “nothing”.")
	ada.get("/search?q=milk&before=1").want(200, "No older posts.", `aria-current="page">Posts</a>`)

	// Queries with operators for posts find no people, and @ or # restricts a search to people or
	// tags.
	ada.get("/search?q=from%3Aada").want(200, "tea with").wantNot(`id="found-people"`)
	ada.get("/search?q=%40vera_two").want(200, `href="/u/vera_two"`).wantNot(`id="found-tags"`)
	ada.get("/search?q=%23vera").want(200, `id="found-tags"`).wantNot(`id="found-people"`)
	ada.get("/search?q=%22vera%22").want(200).wantNot(`id="found-people"`, `id="found-tags"`)

	// People hidden from the viewer are left out.
	s.loggedIn("other", "").send("/u/ada/block").want(303)
	ada.get("/search?q=holm").want(200, "No posts, people or tags").wantNot("/u/other")
}

// The fields below the search box stand for search operators.
func TestSearchOptions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.send("/post", "status", "kettle by ada").want(303)
	ben.send("/post", "status", "kettle by ben").want(303)
	v := s.visitor()
	v.get("/search?q=kettle").want(200, "kettle", "/u/ben", `form="search-form" id="option-from"`)
	v.get("/search?q=kettle&from=%40ada&after-day=&before-day=").want(200, `value="kettle from:ada"`, "by ada", `aria-current="page">Posts</a>`).wantNot("by ben")
	v.get("/search?q=kettle+from:ada&from=ada&pictures=yes").want(200, `value="kettle from:ada has:picture"`, "No posts for").wantNot("by ada", "searched for")
	v.get("/search?q=kettle&after-day=2001-01-01&before-day=2002-01-01&in=people").want(200, `value="kettle after:2001-01-01 before:2002-01-01"`, "No posts for")
	v.get("/search?q=kettle&after-day=yesterday").want(200, "“after:yesterday” isn&#39;t a date")
	v.get("/search?q=kettle&from=ada+OR+ben").want(200, `value="kettle from:ada"`)
	v.get("/search?q=kettle+-has%3Apicture").want(200, "by ada").wantNot("searched for")
	v.get("/search?q="+strings.Repeat("a", 500)+"&from=ada").want(422, "Your search is too long.")
}

// has:picture matches the current pictures of posts.
func TestSearchPictures(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	_, plain := ada.published("ada", "kettle, described")
	_, id := ada.published("ada", "kettle, seen")
	key := "post:" + id
	if err := s.client.Do(t.Context(), s.client.B().Hset().Key(key).FieldValue().FieldValue("media", `[{"id":"0123456789abcdef0123456789abcdef","w":10,"h":10}]`).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	want := func(query, want string) {
		t.Helper()
		until(t, query+" finds post "+want, func() bool {
			return slices.Equal(s.visitor().get("/search?q="+url.QueryEscape(query)).posts(), []string{want})
		})
	}
	want("kettle has:picture", id)
	want("kettle -has:picture", plain)
	want("kettle HAS:picture from:ada", id)
}

// The search box completes people, with their pictures, and tags. The box of a post completes only
// names.
func TestCompletionOfSearch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	s.signedUp("adam").send("/post", "status", "#adapters").want(303)
	var items []struct{ Text, Label, Face, To string }
	until(t, "three items are suggested", func() bool {
		items = nil
		if err := json.Unmarshal([]byte(ada.get("/suggest?in=search&q=ada").want(200).body), &items); err != nil {
			t.Fatal(err)
		}
		return len(items) == 3
	})
	if items[0].To != "/u/ada" || items[0].Face != "/drawn/ada.svg" || items[2].Text != "#adapters" || items[2].To != "/tag/adapters" || items[2].Face != "" {
		t.Errorf("suggested items: %+v", items)
	}
	ada.get("/suggest?q=%40adam").want(200, `"/drawn/adam.svg"`).wantNot(`"to"`)
	ada.get("/suggest?in=search&q=%40adam").want(200, `"to":"/u/adam"`)
	s.loggedIn("adam", "").send("/settings/profile", "display_name", "Adam Wong").want(303)
	for _, q := range []string{"won", "%40Won", "adam+w"} {
		ada.get("/suggest?in=search&q="+q).want(200, `"text":"@adam","label":"Adam Wong"`)
	}
	ada.get("/suggest?in=search&q=ong").want(200).wantNot("adam")
}

// The posts of a conversation are grouped on the home timeline and on a profile's list of replies.
func TestConversationsAtHome(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ben.send("/u/ada/follow").want(303)
	root, rootID := ada.published("ada", "the beginning")
	var replies []string
	for _, text := range []string{"first", "second", "third"} {
		ada.send(root+"/reply", "status", text).want(303)
		replies = append(replies, ada.get("/u/ada/replies").want(200).posts()[0])
	}
	_, later := ada.published("ada", "another thing")
	want := []string{later, rootID, replies[2]}
	page := ben.get("/home").want(200, `<div class="conversation"><article class="post" data-id="`+rootID+`"`,
		`<p class="folded"><a href="`+root+`">2 more replies</a></p></div>`).wantNot("first</p>", "second</p>")
	if got := page.posts(); !slices.Equal(got, want) {
		t.Errorf("home: %v, want %v", got, want)
	}
	// Without the first post, the link leads to the earliest post on the page.
	page = ben.get("/u/ada/replies").want(200, `<a href="/u/ada/`+replies[0]+`">2 more replies</a>`)
	if got := page.posts(); !slices.Equal(got, replies[2:]) {
		t.Errorf("replies: %v", got)
	}
	ada.send("/u/ada/" + replies[1] + "/delete").want(303)
	ben.get("/home").want(200, "1 more reply<")
	ada.send("/u/ada/" + replies[0] + "/delete").want(303)
	ben.get("/home").want(200, `<div class="conversation">`).wantNot("more repl")
	ada.send(root + "/delete").want(303)
	if got := ben.get("/home").want(200).wantNot("conversation", "more repl").posts(); !slices.Equal(got, []string{later, replies[2]}) {
		t.Errorf("without the first post: %v", got)
	}
}
