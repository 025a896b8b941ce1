package check_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
)

// All invariants hold after 200 users have registered, posted, followed, unfollowed, logged in and
// logged out concurrently, also on a Cluster.
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
					// Half of the users compete with another user for a name.
					name := fmt.Sprintf("Person%d", i/2*2+i%2*rng.IntN(2))
					session, err := b.Accounts.Register(b.Ctx, name, socialtest.Password)
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
						if err := b.act(rng, session.User, other); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
				})
			}
			wg.Wait()
			b.Eventually("the fan-outs to end", func() bool { return b.isIdle() })
			result := b.WantHealthy()
			if result.Leftovers != 0 || result.Users != int64(len(users)) || result.Posts == 0 || result.Follows == 0 {
				t.Errorf("check = %+v", result)
			}
		})
	}
}

// act performs a random action as the user me.
func (b *bundle) act(rng *rand.Rand, me, other social.User) error {
	var err error
	switch rng.IntN(6) {
	case 0, 1:
		_, err = b.Posts.Post(b.Ctx, me, fmt.Sprint("number ", rng.IntN(1000)))
	case 2:
		if err = b.Follows.Follow(b.Ctx, me, other); errors.Is(err, social.ErrSelfFollow) {
			err = nil
		}
	case 3:
		err = b.Follows.Unfollow(b.Ctx, me, other)
	case 4:
		_, err = b.Auth.Login(b.Ctx, me.Name, socialtest.Password)
	case 5:
		err = b.Sessions.LogoutEverywhere(b.Ctx, me.ID)
	}
	return err
}

// Check finds damage, and Repair repairs the damage.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for want, damage := range map[string]func(b *bundle){
		"belongs to user 9, who does not exist":  func(b *bundle) { b.Redis("HSET", "users", "ghost", "9") },
		"whose name is":                          func(b *bundle) { b.Redis("HSET", "users", "ghost", "1") },
		"does not lead to this user":             func(b *bundle) { b.Redis("HDEL", "users", "ada") },
		"is not in users_by_time":                func(b *bundle) { b.Redis("ZREM", "users_by_time", "ada") },
		"which is not open":                      func(b *bundle) { b.Redis("HDEL", "user:1", "auth") },
		"1 is below post:2":                      func(b *bundle) { b.Redis("SET", "next_post_id", "1") },
		"is not in profile:1":                    func(b *bundle) { b.Redis("ZREM", "profile:1", "2") },
		"has no username":                        func(b *bundle) { b.Redis("HDEL", "user:1", "username") },
		"is not a post":                          func(b *bundle) { b.Redis("HDEL", "post:1", "user_id") },
		"is listed twice":                        func(b *bundle) { b.Redis("LPUSH", "timeline", "2") },
		"comes after":                            func(b *bundle) { b.Redis("LPUSH", "timeline", "1") },
		"post:99 does not exist":                 func(b *bundle) { b.Redis("LPUSH", "timeline", "99") },
		"profile:2: post 1 does not belong here": func(b *bundle) { b.Redis("ZADD", "profile:2", "1", "1") },
		`but "" in followers:1`:                  func(b *bundle) { b.Redis("DEL", "followers:1") },
		`but "" in following:2`:                  func(b *bundle) { b.Redis("DEL", "following:2") },
		"follows themselves":                     func(b *bundle) { b.Redis("ZADD", "following:1", "5", "1") },
		"is not a user id":                       func(b *bundle) { b.Redis("ZADD", "following:1", "5", "x") },
		"is not finished yet":                    func(b *bundle) { b.Leave("post:1:1:1") },
		"who has no username":                    func(b *bundle) { b.Redis("HDEL", "user:1", "username") },
		"is not the name of a user":              func(b *bundle) { b.Redis("ZADD", "users_by_time", "5", "ghost") },
		"is by user 2, who does not exist":       func(b *bundle) { b.Redis("HSET", "post:1", "user_id", "2"); b.Redis("DEL", "user:2") },
		"posts:2: user 2 does not exist":         func(b *bundle) { b.Redis("DEL", "user:2") },
		"followers:1: user:2 does not exist":     func(b *bundle) { b.Redis("DEL", "user:2") },
		"posts:2: lacks post 2":                  func(b *bundle) { b.Redis("LREM", "posts:2", "0", "2") },
		"posts:2: lacks post 1":                  func(b *bundle) { b.Redis("DEL", "posts:2") },
		"timeline: lacks post 2":                 func(b *bundle) { b.Redis("LPOP", "timeline") },
		`timeline: "x" is not a post id`:         func(b *bundle) { b.Redis("LPUSH", "timeline", "x") },
		"profile:1: post 2 has the score 7":      func(b *bundle) { b.Redis("ZADD", "profile:1", "7", "2") },
		`next_post_id: "x" is not a number`:      func(b *bundle) { b.Redis("SET", "next_post_id", "x") },
		"users: a string, but Retwis":            func(b *bundle) { b.Redis("DEL", "users"); b.Redis("SET", "users", "x") },
		"users_by_time: a list, but Retwis":      func(b *bundle) { b.Redis("DEL", "users_by_time"); b.Redis("LPUSH", "users_by_time", "x") },
		"timeline: a set, but Retwis":            func(b *bundle) { b.Redis("DEL", "timeline"); b.Redis("SADD", "timeline", "x") },
		"post:1:1:5 is not finished yet":         func(b *bundle) { b.Leave("post:1:1:5") },
		"tasks: a set, but Retwis":               func(b *bundle) { b.Redis("SADD", "tasks", "x") },
		"next_user_id: a set, but Retwis":        func(b *bundle) { b.Redis("DEL", "next_user_id"); b.Redis("SADD", "next_user_id", "x") },
		"posts:2: a string, but Retwis":          func(b *bundle) { b.Redis("DEL", "posts:2"); b.Redis("SET", "posts:2", "x") },
		"profile:1: a string, but Retwis":        func(b *bundle) { b.Redis("DEL", "profile:1"); b.Redis("SET", "profile:1", "x") },
		"following:2: a string, but Retwis":      func(b *bundle) { b.Redis("DEL", "following:2"); b.Redis("SET", "following:2", "x") },
		"followers:1: a string, but Retwis":      func(b *bundle) { b.Redis("DEL", "followers:1"); b.Redis("SET", "followers:1", "x") },
		"1102 posts, more than 1100": func(b *bundle) {
			for range 11 {
				b.Redis(append([]string{"RPUSH", "timeline"}, strings.Split(strings.Repeat("1 ", 100)[:199], " ")...)...)
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := on(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.NoJobs = true })
			ada, ben := b.NewUser("ada"), b.NewUser("ben")
			b.Connect(ben, ada)
			b.Clock.Advance(time.Minute)
			b.Publish(ada, "one")
			b.Publish(ada, "two")
			b.Clock.Advance(time.Minute)
			b.WantHealthy()
			damage(b)
			var found []string
			result, err := b.Check(check.Options{Report: func(p check.Problem) { found = append(found, p.String()) }})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), want) || result.Problems+result.Leftovers == 0 {
				t.Errorf("found %q, want %q", found, want)
			}
			if result.Repaired != 0 || result.Remaining != result.Problems {
				t.Errorf("check = %+v", result)
			}
			if repaired := b.repair(); repaired.Repaired == 0 || repaired.Remaining != 0 {
				t.Errorf("repair = %+v", repaired)
			}
			b.wantConsistent(want)
		})
	}
}

// Repair changes neither keys that may belong to another program nor ambiguous problems.
func TestRepairLeavesAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.NewUser("ada")
	b.NewUser("ben")
	b.Redis("SET", "post:7", "another program's")
	b.Redis("SET", "user:7", "another program's")
	b.Redis("HSET", "post:8", "title", "another program's")
	b.Redis("HSET", "user:2", "username", "Ada") // two users with one name
	b.Redis("HDEL", "users", "ben")
	before := b.Redis("DUMP", "post:7") + b.Redis("DUMP", "user:7") + b.Redis("DUMP", "post:8") + b.Redis("DUMP", "user:2")
	if result := b.repair(); result.Remaining != 4 {
		t.Errorf("repair = %+v, want 4 remaining problems", result)
	}
	if after := b.Redis("DUMP", "post:7") + b.Redis("DUMP", "user:7") + b.Redis("DUMP", "post:8") + b.Redis("DUMP", "user:2"); after != before {
		t.Error("Repair changed a key that may belong to another program")
	}
}

// Repair renames a key of the wrong type and keeps its contents, even if the key is damaged
// repeatedly.
func TestRepairSetsAside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.NewUser("ada")
	for _, text := range []string{"one", "two"} {
		b.Redis("DEL", "posts:1")
		b.Redis("SET", "posts:1", text)
		b.repair()
	}
	if got := b.Redis("GET", "damaged:{posts:1}") + " " + b.Redis("GET", "damaged:{posts:1}:2"); got != "one two" {
		t.Errorf("contents of the renamed keys: %q, want %q", got, "one two")
	}
	b.wantConsistent("set aside")
}
