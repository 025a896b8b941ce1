package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// published publishes a text and returns the path and the ID of the post.
func (v *visitor) published(name, text string) (path, id string) {
	v.site.t.Helper()
	v.send("/post", "status", text).want(303)
	id = v.get("/u/" + name).want(200).posts()[0]
	return "/u/" + name + "/" + id, id
}

// counts returns the numbers on a post: replies, reposts, likes.
func (a *response) counts(id string) string {
	a.t.Helper()
	found := regexp.MustCompile(`data-id="` + id + `" data-replies="(\d+)" data-reposts="(\d+)" data-likes="(\d+)"`).FindStringSubmatch(a.body)
	if found == nil {
		a.t.Fatalf("post %s is not in %s", id, shorten(a.body))
	}
	return strings.Join(found[1:], " ")
}

// article returns the HTML of a post on a page.
func (a *response) article(id string) string {
	a.t.Helper()
	_, rest, ok := strings.Cut(a.body, `<article class="post" data-id="`+id+`"`)
	if !ok {
		a.t.Fatalf("post %s is not in %s", id, shorten(a.body))
	}
	text, _, _ := strings.Cut(rest, "</article>")
	return text
}

// from sends a form with a page of the site as its Referer, like a browser.
func (v *visitor) from(page, path string) *response {
	v.site.t.Helper()
	request, err := http.NewRequest(http.MethodPost, v.site.http.URL+path, http.NoBody)
	if err == nil {
		request.Header.Set("Referer", v.site.http.URL+page)
	}
	return v.do(request, err)
}

// The ID of a post redirects to its page; the ID of a repost leads to the original.
func TestPostByID(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, id := ada.published("ada", "hello")
	ben.send(path + "/repost").want(303)
	repost := ben.get("/u/ben").want(200).posts()[0]
	for _, id := range []string{id, repost} {
		s.visitor().get("/post/"+id).want(302, path)
	}
	for _, id := range []string{"0", "x", "12345", "01"} {
		s.visitor().get("/post/" + id).want(404)
	}
}

// Every action on a post is shown at once and can be undone.
func TestActs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, id := ada.published("ada", "hello")
	for _, act := range []struct{ do, undo, single, both string }{
		{"like", "unlike", "0 0 1", "0 0 2"},
		{"repost", "unrepost", "0 1 0", "0 2 0"},
		{"bookmark", "unbookmark", "0 0 0", "0 0 0"},
	} {
		t.Run(act.do, func(t *testing.T) {
			undo := `formaction="` + path + "/" + act.undo + `"`
			for range 2 { // repeating an action changes nothing
				ben.from("/timeline?before=99", path+"/"+act.do).want(303, "/timeline?before=99#p"+id)
				page := ben.get("/timeline").want(200, undo)
				if got := page.counts(id); got != act.single {
					t.Errorf("counts %q, want %q", got, act.single)
				}
			}
			ada.get("/timeline").want(200).wantNot(undo)
			ada.send(path+"/"+act.do).want(303, path+"#p"+id)
			if got := ada.get(path).want(200, undo).counts(id); got != act.both {
				t.Errorf("counts %q, want %q", got, act.both)
			}
			ben.send(path+"/"+act.undo, "back", "/home").want(303, "/home#p"+id)
			ada.send(path+"/"+act.undo, "back", "//evil").want(303, "/home#p"+id)
			for range 2 {
				if got := ben.get(path).want(200, `formaction="`+path+"/"+act.do+`"`).wantNot(undo).counts(id); got != "0 0 0" {
					t.Errorf("counts %q after the action is undone, want 0 0 0", got)
				}
				ben.send(path + "/" + act.undo).want(303)
			}
		})
	}
	t.Run("signed out", func(t *testing.T) {
		out := s.visitor()
		login := "/login?next=" + url.QueryEscape(path)
		out.get("/timeline").want(200, `href="`+login+`"`)
		for _, act := range []string{"like", "repost", "bookmark", "delete"} {
			out.send(path+"/"+act).want(303, login)
			out.send(path + "/un" + act).want(map[bool]int{true: 404, false: 303}[act == "delete"])
		}
		out.send(path+"/reply", "status", "my <reply>").want(403, ">my &lt;reply&gt;</textarea>", `action="/login"`)
		out.get(path+"/edit").want(303, "/login?next="+url.QueryEscape(path+"/edit"))
	})
	t.Run("forms of other sites", func(t *testing.T) {
		request, err := http.NewRequest(http.MethodPost, s.http.URL+path+"/like", http.NoBody)
		if err == nil {
			request.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		ben.do(request, err).want(403)
		request, err = http.NewRequest(http.MethodPost, s.http.URL+path+"/unlike", http.NoBody)
		if err == nil {
			request.Header.Set("Referer", "https://evil.example/home")
		}
		ben.do(request, err).want(303, path+"#p"+id)
	})
}

// A repost is on the reposter's profile, below a line that names them. Actions on it apply to the
// original.
func TestReposts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, id := ada.published("ada", "hello")
	ben.send(path + "/repost").want(303)
	page := ben.get("/u/ben").want(200, ">ben</a> reposted</span>", "hello")
	if ids := page.posts(); len(ids) != 1 || ids[0] != id {
		t.Fatalf("posts %v, want the original %s", ids, id)
	}
	ben.get(path+"/reposts").want(200, `href="/u/ben"`)
	entry := fmt.Sprint("/u/ben/", idAt([]string{id}, 0)+1)
	ada.get(entry).want(302, path)
	ada.get(entry+"/likes").want(302, path+"/likes")
	ada.send(entry + "/like").want(303)
	if got := ada.get(path).want(200).counts(id); got != "0 1 1" {
		t.Errorf("unexpected counts %q", got)
	}
	ada.send(path + "/delete").want(303)
	ben.get("/u/ben").want(200).wantNot("hello", "reposted")
	ben.get(entry).want(404)
}

// Replies too deep to be indented name the author they reply to.
func TestDeepReplies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	first, _ := ada.published("ada", "the beginning")
	paths := []string{first}
	const replies, indented = 14, 5
	for range replies {
		to := ada.send(paths[len(paths)-1]+"/reply", "status", "and so on").want(303).header.Get("Location")
		_, id, _ := strings.Cut(to, "#p")
		paths = append(paths, "/u/ada/"+id)
	}
	body := ada.get(first).want(200).body
	for class, want := range map[string]int{"at depth-": indented, "at beside depth-": replies - indented} {
		if got := strings.Count(body, `<div class="`+class); got != want {
			t.Errorf("%d replies have the class %q, want %d", got, class, want)
		}
	}
	_, rest, _ := strings.Cut(body, `class="at beside`)
	if want := `<span>Replying to <a href="` + paths[indented] + `">@ada</a>`; !strings.Contains(rest[:min(len(rest), 1000)], want) {
		t.Errorf("the first reply that is not indented does not name the author of its parent: %.1000s", rest)
	}
}

// A reply is in the conversation and on no public timeline.
func TestReplies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, id := ada.published("ada", "the question")
	to := ben.send(path+"/reply", "status", "the answer").want(303, path+"#p").header.Get("Location")
	_, reply, _ := strings.Cut(to, "#p")
	page := ada.get(path).want(200, "the question", "the answer", "Replying to", `aria-label="Replies"`)
	if got := page.counts(id); got != "1 0 0" {
		t.Errorf("unexpected counts %q", got)
	}
	ada.get("/timeline").want(200, "the question").wantNot("the answer")
	ben.get("/u/ben").want(200).wantNot("the answer")
	ada.get("/u/ben/"+reply).want(200, "the question", "the answer", `aria-label="In reply to"`)
	ada.send("/u/ben/"+reply+"/reply", "status", "thanks").want(303)
	ada.get(path).want(200, "thanks", "depth-1")

	long := strings.Repeat("x", 300)
	ben.send(path+"/reply", "status", long).want(422, long, "too long", `action="`+path+`/reply"`)
	ben.send(path+"/reply", "status", " ").want(422, "Write something first.")

	// A deleted post in the middle keeps its replies.
	ben.send("/u/ben/" + reply + "/delete").want(303)
	ada.get(path).want(200, "This post was deleted.", "thanks").wantNot("the answer")
	ada.get("/u/ben/" + reply).want(404)
	ben.send("/u/ben/"+reply+"/reply", "status", "too late").want(404, "too late")
}

// The author can edit and delete a post. Earlier texts stay visible until the deletion.
func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, id := ada.published("ada", "first <text>")
	ada.get(path).want(200, path+"/more")
	ada.get(path+"/more").want(200, path+"/edit", path+"/delete", path+"/pin").wantNot(path+"/report", "/u/ada/mute")
	ben.get(path+"/more").want(200, path+"/report", "/u/ada/mute", "/u/ada/block", "/u/ada/lists").wantNot(path+"/edit", "/moderation")
	s.visitor().get(path+"/more").want(200, path+"/report").wantNot(path+"/edit", "/u/ada/mute")
	if other := ben.get(path).article(id); strings.Contains(other, path+"/edit") || strings.Contains(other, path+"/delete") {
		t.Errorf("another user can edit or delete: %s", other)
	}
	ada.get(path+"/edit").want(200, ">first &lt;text&gt;</textarea>", `action="`+path+`/edit"`)
	ada.send(path+"/edit", "status", "second\ntext").want(303, path)
	ada.get(path).want(200, "second\ntext", "edited").wantNot("first")
	ben.get(path+"/history").want(200, "first &lt;text&gt;", "second")
	ada.send(path+"/edit", "status", "").want(422, "Write something first.", `action="`+path+`/edit"`)
	for _, form := range []string{"/edit", "/delete"} {
		ben.get(path + form).want(403)
		ben.send(path+form, "status", "mine now").want(403)
	}
	ada.get(path+"/delete").want(200, "second", `action="`+path+`/delete"`)
	ada.send(path+"/delete", "back", path+"/delete").want(303, "/u/ada")
	for _, page := range []string{"/u/ada", "/timeline", "/home"} {
		ada.get(page).want(200).wantNot("second")
	}
	for _, gone := range []string{"", "/edit", "/delete", "/history", "/likes", "/reposts"} {
		ada.get(path + gone).want(404)
	}
	for _, act := range []string{"like", "unlike", "repost", "unrepost", "bookmark", "unbookmark", "delete", "edit", "reply"} {
		ada.send(path+"/"+act, "status", "text").want(404)
	}
}

// A page of a post has one canonical address.
func TestAddressesOfPosts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	s.signedUp("ben")
	path, id := ada.published("ada", "say \"hello\"\nto all")
	out := s.visitor()
	out.get(path).want(200, `<link rel="canonical" href="`+s.http.URL+path+`"`,
		`<meta property="og:title" content="ada (@ada)"`, `<meta property="og:description" content="say &#34;hello&#34; to all"`, `<meta name="description" content="say &#34;hello&#34; to all"`)
	for _, wrong := range []string{"/u/ben/", "/u/ADA/", "/u/nobody/"} {
		out.get(wrong+id).want(302, path)
		out.get(wrong+id+"/likes").want(302, path+"/likes")
		ada.send(wrong + id + "/like").want(404)
	}
	for _, bad := range []string{"0", "-1", "01", "+1", "999", "9223372036854775808", "x", "%20", "1x"} {
		out.get("/u/ada/" + bad).want(404)
		ada.send("/u/ada/" + bad + "/like").want(404)
	}
	out.get(path + "?after=x").want(400)
	out.get(path + "?after=5").want(400) // not in this conversation
	for _, act := range []string{"like", "unlike", "repost", "unrepost", "bookmark", "unbookmark"} {
		out.get(path+"/"+act).want(303, path)
	}
}

// A form that is sent twice leads to the same post.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	path, id := ada.published("ada", "the text")
	ada.send("/post", "status", "the text").want(303, "/home")
	first := ada.send(path+"/reply", "status", "a reply").want(303, path+"#p")
	ada.send(path+"/reply", "status", "a reply").want(303, first.header.Get("Location"))
	if got := ada.get("/u/ada").want(200).counts(id); got != "1 0 0" {
		t.Errorf("the post has the counts %s, want 1 0 0", got)
	}
	if got := strings.Count(ada.get("/u/ada").body, "<article"); got != 1 {
		t.Errorf("the profile has %d posts, want 1", got)
	}
}
