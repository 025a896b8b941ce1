package web_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redistest"
)

// The page after a post shows the post: always, under load, on every page, and on
// another machine (read-your-writes).
func TestOwnPostsShow(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	posts := 6
	if os.Getenv("TEST_LONG") != "" {
		posts = 25
	}
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
					elsewhere := &visitor{site: machines[1], http: v.http}
					for n := range posts {
						text := fmt.Sprintf("post %d of %s", n, user)
						v.send("/post", "status", text).want(303)
						reader := elsewhere
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

// newest and oldest are the ids of the first and the last post on a page, 0 for an
// empty page.
func newest(a *response) int64 { return number(a.posts(), 0) }

func oldest(a *response) int64 { return number(a.posts(), len(a.posts())-1) }

func number(ids []string, i int) int64 {
	if len(ids) == 0 {
		return 0
	}
	id, _ := strconv.ParseInt(ids[i], 10, 64)
	return id
}
