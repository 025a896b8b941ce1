package social_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// 200 at once register, post, follow, unfollow, log in and out: afterwards
// every invariant between keys holds. So it does on a Cluster.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bundle{
		"single":  setup(t),
		"cluster": on(t, redistest.Cluster(t, 3).Client(t)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const people = 200
			var mu sync.Mutex
			var users []social.User
			var wg sync.WaitGroup
			for i := range people {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(i), 1))
					// Half of them want a name that another wants too.
					name := fmt.Sprintf("Person%d", i/2*2+i%2*rng.IntN(2))
					session, err := b.Register(b.ctx, name, password)
					if errors.Is(err, social.ErrTaken) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					users = append(users, session.User)
					mu.Unlock()
					for range 12 {
						mu.Lock()
						other := users[rng.IntN(len(users))]
						mu.Unlock()
						if err := b.live(rng, session.User, other); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
				})
			}
			wg.Wait()
			b.eventually("the fan-outs to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
			result := b.wantHealthy()
			if result.Leftovers != 0 || result.Users != int64(len(users)) || result.Posts == 0 || result.Follows == 0 {
				t.Errorf("check = %+v", result)
			}
		})
	}
}

// live does one of the things that people do.
func (b *bundle) live(rng *rand.Rand, me, other social.User) error {
	var err error
	switch rng.IntN(6) {
	case 0, 1:
		_, err = b.Post(b.ctx, me, fmt.Sprint("number ", rng.IntN(1000)))
	case 2:
		if err = b.Follow(b.ctx, me, other); errors.Is(err, social.ErrSelfFollow) {
			err = nil
		}
	case 3:
		err = b.Unfollow(b.ctx, me, other)
	case 4:
		_, err = b.Login(b.ctx, me.Name, password)
	case 5:
		err = b.Logout(b.ctx, me.ID)
	}
	return err
}

// The checker finds what is broken by hand.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for want, damage := range map[string]func(b *bundle){
		"belongs to user 9, who does not exist": func(b *bundle) { b.do("HSET", "users", "ghost", "9") },
		"whose name is":                         func(b *bundle) { b.do("HSET", "users", "ghost", "1") },
		"nobody finds this user":                func(b *bundle) { b.do("HDEL", "users", "ada") },
		"not among the users by time":           func(b *bundle) { b.do("ZREM", "users_by_time", "ada") },
		"the user does not know":                func(b *bundle) { b.do("HDEL", "user:1", "auth") },
		"knows a session that":                  func(b *bundle) { b.do("DEL", "auths") },
		"behind this id":                        func(b *bundle) { b.do("SET", "next_post_id", "1") },
		"not on the profile":                    func(b *bundle) { b.do("ZREM", "profile:1", "2") },
		"has no username":                       func(b *bundle) { b.do("HDEL", "user:1", "username") },
		"is not a post":                         func(b *bundle) { b.do("HDEL", "post:1", "user_id") },
		"stands there twice":                    func(b *bundle) { b.do("LPUSH", "timeline", "2") },
		"stands behind":                         func(b *bundle) { b.do("LPUSH", "timeline", "1") },
		"post:99 does not exist":                func(b *bundle) { b.do("LPUSH", "posts:2", "99") },
		"is by user":                            func(b *bundle) { b.do("ZADD", "profile:2", "1", "1") },
		`but "" in followers:1`:                 func(b *bundle) { b.do("DEL", "followers:1") },
		`but "" in following:2`:                 func(b *bundle) { b.do("DEL", "following:2") },
		"paired with themselves":                func(b *bundle) { b.do("ZADD", "following:1", "5", "1") },
		"is not a user id":                      func(b *bundle) { b.do("ZADD", "following:1", "5", "x") },
		"not on every timeline yet":             func(b *bundle) { b.do("ZADD", "fanouts", "5", "1") },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ada, ben := b.register("ada"), b.register("ben")
			b.follow(ben, ada)
			b.post(ada, "one")
			b.post(ada, "two")
			b.wantHealthy()
			damage(b)
			var found []string
			result, err := b.Check(b.ctx, func(p social.Problem) { found = append(found, p.String()) })
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), want) || result.Problems+result.Leftovers == 0 {
				t.Errorf("found %q, want %q", found, want)
			}
		})
	}
}
