package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// Three processes act on the same posts concurrently. In the end no key contradicts another, and
// every home timeline has the posts that belong there.
func TestActingTogether(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string][]rueidis.Client{"single": threeClients(t, false), "cluster": threeClients(t, true)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actTogether(t, clients)
		})
	}
}

// threeClients returns three connections to the same database.
func threeClients(t *testing.T, cluster bool) []rueidis.Client {
	if cluster {
		c := redistest.Cluster(t, 3)
		return []rueidis.Client{c.Client(t), c.Client(t), c.Client(t)}
	}
	db := redistest.DB(t)
	return []rueidis.Client{db.Client(t), db.Client(t), db.Client(t)}
}

func actTogether(t *testing.T, clients []rueidis.Client) {
	var processes []*bundle
	for _, client := range clients {
		processes = append(processes, on(t, client))
	}
	b := processes[0]
	var users []social.User
	for i := range 4 {
		users = append(users, b.NewUser(fmt.Sprint("user", i)))
		b.home(users[i]) // on a Cluster this creates the timeline
	}
	var posts []int64
	for i := range 6 {
		posts = append(posts, b.Publish(users[i%4], "number #n"+strconv.Itoa(i%2)))
	}
	var wg sync.WaitGroup
	for p, process := range processes {
		for worker := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(p), uint64(worker)))
				for range 40 {
					user, other := users[rng.IntN(4)], users[rng.IntN(4)]
					post := posts[rng.IntN(len(posts))]
					var err error
					switch rng.IntN(12) {
					case 0, 1, 2:
						_, err = process.Posts.Reply(b.Ctx, user, post, "an answer #n0")
					case 3, 4:
						_, err = process.Posts.Repost(b.Ctx, user, post)
					case 5:
						err = process.Posts.Unrepost(b.Ctx, user, post)
					case 6, 7:
						err = process.Follows.Follow(b.Ctx, user, other)
					case 8, 9:
						err = process.Follows.Unfollow(b.Ctx, user, other)
					case 10:
						err = process.Posts.Edit(b.Ctx, user, post, "other words #n"+strconv.Itoa(rng.IntN(2)))
					case 11: // a recent post of anybody
						id, _ := strconv.ParseInt(b.Redis("GET", "next_post_id"), 10, 64)
						err = process.Posts.Delete(b.Ctx, user, id-rng.Int64N(5))
					}
					switch {
					case err == nil, errors.Is(err, social.ErrNotFound), errors.Is(err, social.ErrNotAuthor), errors.Is(err, social.ErrSelfFollow):
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	b.Eventually("the background tasks to end", func() bool {
		return b.Redis("EXISTS", "tasks") == "0"
	})
	b.WantHealthy()
	for _, u := range users {
		b.wantHome(u)
	}
}

// wantHome fails if the home timeline of a user shows a deleted post, or a post of someone the user
// does not follow, or if the list lacks one of the latest posts and reposts of the people the user
// follows.
func (b *bundle) wantHome(u social.User) {
	b.T.Helper()
	home := strings.Fields(b.home(u))
	follows := strings.Fields(b.Redis("ZRANGE", fmt.Sprintf("following:%d", u.ID), "0", "-1"))
	follows = append(follows, fmt.Sprint(u.ID))
	for _, id := range home {
		if b.Redis("HEXISTS", "post:"+id, "deleted") == "1" {
			b.T.Errorf("the home timeline of %s has the deleted post %s", u.Name, id)
		}
		if author := b.Redis("HGET", "post:"+id, "user_id"); !slices.Contains(follows, author) {
			b.T.Errorf("the home timeline of %s has post %s of user %s, who is not followed", u.Name, id, author)
		}
	}
	list := strings.Fields(b.Redis("LRANGE", fmt.Sprintf("posts:%d", u.ID), "0", "-1"))
	for _, uid := range follows {
		for _, id := range strings.Fields(b.Redis("ZREVRANGE", "profile:"+uid, "0", "99")) {
			if !slices.Contains(list, id) {
				b.T.Errorf("the home list of %s lacks post %s of user %s", u.Name, id, uid)
			}
		}
	}
}
