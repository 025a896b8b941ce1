package web_test

import (
	"regexp"
	"testing"
)

var listLink = regexp.MustCompile(`/lists/([a-z0-9]+)`)

// Lists work with forms alone, and only for their owner.
func TestLists(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben, cem := s.signedUp("ada"), s.signedUp("ben"), s.signedUp("cem")
	ben.send("/post", "status", "written by ben").want(303)
	cem.send("/post", "status", "written by cem").want(303)
	ada.send("/u/ben/follow").want(303)
	ada.get("/lists").want(200, "You don&#39;t follow any tags yet.", "No saved searches.")
	ada.get("/u/ben/lists").want(200, "No lists yet.")
	ada.send("/lists", "name", " ").want(422, "Give the list a name.")
	ada.send("/lists", "name", "Close <friends>").want(303)
	path := "/lists/" + listLink.FindStringSubmatch(ada.get("/lists").want(200, "Close &lt;friends&gt;", "0 people").body)[1]
	ada.send("/lists", "name", "close <FRIENDS>").want(422, "You already have a list with that name.", `aria-invalid="true"`)

	ada.send(path+"/add", "member", "@nobody1").want(422, "There is no account with that name.", `value="nobody1"`)
	ada.send(path+"/add", "member", "@Ben").want(303, path+"/edit")
	ada.get(path).want(200, "written by ben", "<title>Close &lt;friends&gt; · Retwis</title>").wantNot("written by cem")
	id := listLink.FindStringSubmatch(path)[1]
	ada.get("/u/cem").want(200, `href="/u/cem/lists"`)
	ada.send("/u/cem/lists", "list", id).want(303, "/u/cem")
	ada.get("/u/cem/lists").want(200, `value="`+id+`" checked`)
	ada.get(path).want(200, "written by ben", "written by cem")
	ada.send("/u/cem/lists").want(303)
	ada.get(path).want(200).wantNot("written by cem")

	for _, page := range []string{path, path + "/edit"} {
		ben.get(page).want(404, "This list doesn&#39;t exist")
		s.visitor().get(page).want(303, "/login")
	}
	for _, act := range []string{"/edit", "/add", "/remove"} {
		ben.send(path+act, "name", "Mine", "member", "ben").want(404)
	}
	ben.send(path + "/delete").want(303)

	ada.get("/home").want(200, "written by ben")
	ada.send(path+"/edit", "name", "Work", "left_out", "yes").want(303, path)
	ada.get("/home").want(200).wantNot("written by ben")
	ada.get(path).want(200, "written by ben")
	ada.get("/lists").want(200, "Work", "1 person", "Hidden from Home")
	ada.send(path+"/edit", "name", "Work").want(303, path)
	ada.get("/home").want(200, "written by ben")

	ben.send("/u/ada/block").want(303)
	ada.get(path + "/edit").want(200).wantNot("@ben")
	ada.get("/lists").want(200, "0 people")
	ada.send(path+"/add", "member", "ben").want(422, "There is no account with that name.")
	ada.send(path+"/delete").want(303, "/lists")
	ada.get(path).want(404)
	ada.get("/lists").want(200).wantNot("Work")

	ada.send("/tag/lakes/follow").want(303)
	ada.get("/search?q=from%3Acem").want(200, "Save this search")
	s.visitor().get("/search?q=from%3Acem").want(200).wantNot("Save this search")
	ada.get("/search?q=nothing").want(200).wantNot("Save this search")
	ada.send("/searches", "q", "from:ben").want(303, "/lists")
	ada.get("/lists").want(200, "#lakes", `href="/search?q=from%3Aben"`)
	ada.send("/searches/delete", "q", "from:ben").want(303)
	ada.get("/lists").want(200, "No saved searches.")
}
