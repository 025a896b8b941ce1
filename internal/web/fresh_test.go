package web_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redistest"
)

// After publishing a post, its author sees it on every page, under load and on other machines
// (read-your-writes).
func TestOwnPostsShow(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	posts := redistest.Cases(3, 25)
	for name, machines := range map[string][2]*site{
		"one machine":  func() [2]*site { s := on(t, db.Client(t)); return [2]*site{s, s} }(),
		"two machines": {on(t, db.Client(t)), on(t, db.Client(t))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					user := fmt.Sprintf("%c%d", name[0], i)
					v := machines[0].signedUp(user)
					remote := &visitor{site: machines[1], http: v.http}
					for n := range posts {
						text := fmt.Sprintf("post %d of %s", n, user)
						v.send("/post", "status", text).want(303)
						reader := remote
						if n%2 == 0 {
							reader = v
						}
						// Meanwhile other posts may have filled the first public page.
						own := newest(reader.get("/u/"+user).want(200, text))
						reader.get("/home").want(200, text)
						if page := reader.get("/timeline").want(200); !strings.Contains(page.body, text) && oldest(page) <= own {
							s := shorten(page.body)
							t.Errorf("post %d is not on /timeline, which goes back to %d: %s", own, oldest(page), s)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// newest and oldest return the IDs of the first and last posts on a page, or 0 if the page is
// empty.
func newest(a *response) int64 { return idAt(a.posts(), 0) }

func oldest(a *response) int64 { return idAt(a.posts(), len(a.posts())-1) }

func idAt(ids []string, i int) int64 {
	if len(ids) == 0 {
		return 0
	}
	id, _ := strconv.ParseInt(ids[i], 10, 64)
	return id
}

// A reply that is not on the first page of a long conversation is shown on its own page. No page
// offers new replies that it would not show.
func TestReplyInLongConversation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	root, _ := ada.published("ada", "hello")
	ada.get(root).want(200, `data-live="thread:1"`)
	ada.send(root+"/reply", "status", "a reply").want(303, root+"#p2")
	ada.get("/u/ada/2").want(200).wantNot("data-live")
	for i := range 100 {
		if _, err := s.social.Posts.Reply(t.Context(), s.user("ada"), 1, fmt.Sprint("reply ", i)); err != nil {
			t.Fatal(err)
		}
	}
	ada.send(root+"/reply", "status", "the last").want(303, "/u/ada/103")
	ada.get(root).want(200).wantNot("the last", "data-live")
	ada.get("/u/ada/103").want(200, "the last", "hello")
}
