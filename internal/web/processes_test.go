package web_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// What somebody does shows at once to them, on whichever process the next page is, and
// to others within about a second.
func TestActsShowOnAllProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	here, there := serving(t, reach(t, db.URL())), serving(t, reach(t, db.URL()))
	ada, ben := here.signedUp("ada"), here.signedUp("ben")
	path, id := ada.published("ada", "hello")
	benThere, adaThere, stranger := &visitor{site: there, http: ben.http}, &visitor{site: there, http: ada.http}, there.visitor()
	pages := []string{path, "/timeline", "/u/ada"}
	for _, page := range pages { // all processes have the post in memory
		for _, v := range []*visitor{ada, ben, benThere, adaThere, stranger} {
			v.get(page).want(200)
		}
	}
	likes := func(a *answer) string { return strings.Fields(a.want(200).counts(id))[2] }
	for round := range 6 {
		act, want := "like", "1"
		if round%2 == 1 {
			act, want = "unlike", "0"
		}
		ben.send(path + "/" + act).want(303)
		for _, page := range pages {
			if got := likes(benThere.get(page)); got != want {
				t.Errorf("round %d: %s says %s to the one who acted, want %s", round, page, got, want)
			}
			if on := strings.Contains(benThere.get(page).article(id), `formaction="`+path+`/unlike"`); on != (act == "like") {
				t.Errorf("round %d: %s has the wrong button", round, page)
			}
		}
		began := time.Now()
		for _, v := range []*visitor{stranger, adaThere, ada} {
			until(t, "others see it", func() bool { return likes(v.get("/timeline")) == want && likes(v.get("/u/ada")) == want })
		}
		if took := time.Since(began); took > 30*time.Second { // a minute without the server's report
			t.Errorf("others saw it after %v", took)
		}
	}
}

// What was changed by another process comes within a second even to those who read
// all the time.
func TestReadersDoNotKeepOldCounts(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	here, there := serving(t, reach(t, db.URL())), serving(t, reach(t, db.URL()))
	ada := here.signedUp("ada")
	path, id := ada.published("ada", "hello")
	reader := there.visitor()
	for i := range 5 {
		name := "fan" + strconv.Itoa(i)
		here.signedUp(name).send(path + "/like").want(303)
		want := "0 0 " + strconv.Itoa(i+1)
		until(t, "the count "+want, func() bool { return reader.get(path).want(200).counts(id) == want })
	}
}

// Whatever people write, none of it becomes markup, and no link leads to a script.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	const script = `<script>alert(1)</script>`
	ada.send("/settings/profile", "display_name", script, "bio", `"><img src=x onerror=alert(1)>`, "links", `javascript:alert(1)`)
	for _, text := range []string{
		script, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `https://x.example/"onmouseover="alert(1)`,
		`https://x.example/<script>`, `@ada"onclick=alert(1)`, `#tag"onclick=alert(1)`, `</p></article><script>alert(1)</script>`,
		`&lt;script&gt; https://x.example/?a=1&b=<i>`, "data:text/html,<script>alert(1)</script>", "HTTPS://x.example/'><svg onload=alert(1)>",
	} {
		ada.send("/post", "status", text).want(303)
		id := ada.get("/u/ada").posts()[0]
		path := "/u/ada/" + id
		ben.send(path+"/reply", "status", text).want(303)
		ben.send(path + "/repost").want(303)
		ada.send(path+"/edit", "status", text+".").want(303)
		for _, page := range []string{path, path + "/history", path + "/edit", path + "/delete", path + "/reposts", "/timeline", "/u/ada", "/u/ben", "/home", "/notifications"} {
			a := ada.get(page).want(200).wantNot("<script>alert", "<img src=x", "<svg onload", `href="javascript:`, `href="data:`)
			for _, attribute := range []string{"onmouseover", "onclick", "onerror"} {
				if strings.Contains(a.body, `"`+attribute) || strings.Contains(a.body, ` `+attribute+`="`) {
					t.Errorf("%s has an attribute %s for %q", page, attribute, text)
				}
			}
		}
	}
}
