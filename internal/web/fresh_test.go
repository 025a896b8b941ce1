package web_test

import (
	"fmt"
	"sync"
	"testing"

	"retwis/internal/redistest"
)

// The page after your own post shows the post: always, under load, on every
// page, and on another machine than the one that took the post.
func TestOwnPostsShow(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
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
					for n := range 25 {
						text := fmt.Sprintf("post %d of %s", n, user)
						v.send("/post", "status", text).want(303)
						for _, path := range []string{"/home", "/timeline", "/u/" + user} {
							reader := elsewhere
							if n%2 == 0 {
								reader = v
							}
							if page := reader.get(path).want(200); path != "/timeline" || n < 5 {
								page.want(200, text)
							}
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
