package check_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// damageEnv sets how many times TestRepairAfterRandomDamage damages a database, for a long run.
const damageEnv = "SOCIAL_DAMAGE_ROUNDS"

// repair calls Repair and returns its result.
func (b *bundle) repair() check.Result {
	b.T.Helper()
	result, err := check.Repair(b.Ctx, b.App, check.Options{Followers: 10_000})
	if err != nil {
		b.T.Fatal(err)
	}
	return result
}

// wantConsistent checks that Check finds no problems. Failures begin with name.
func (b *bundle) wantConsistent(name string) {
	b.T.Helper()
	result, err := b.Check(check.Options{Followers: 10_000, Report: func(p check.Problem) {
		b.T.Errorf("%s: %s", name, p)
	}})
	if err != nil {
		b.T.Fatal(err)
	}
	if result.Problems+result.Leftovers > 0 {
		b.T.Errorf("%s: check = %+v, want no problems", name, result)
	}
}

// network creates users who follow each other at random, and posts by these users.
func (b *bundle) network(people, posts int, rng *rand.Rand) []social.User {
	b.T.Helper()
	var users []social.User
	for i := range people {
		users = append(users, b.NewUser(fmt.Sprintf("user%d", i)))
	}
	for _, from := range users {
		for _, to := range users {
			if from != to && rng.IntN(3) == 0 {
				b.Connect(from, to)
			}
		}
	}
	b.Clock.Advance(time.Second)
	for i := range posts {
		b.Publish(users[rng.IntN(people)], fmt.Sprint("post ", i))
	}
	b.Eventually("the fan-outs to end", func() bool { return b.isIdle() })
	b.Clock.Advance(2 * time.Minute)
	return users
}

// damage changes one key in a way that Retwis never does, and returns the command.
func (b *bundle) damage(rng *rand.Rand, people, posts int) string {
	uid, other := fmt.Sprint(1+rng.IntN(people+2)), fmt.Sprint(1+rng.IntN(people+2))
	pid := fmt.Sprint(1 + rng.IntN(posts+2))
	list := []string{"timeline", "posts:" + uid}[rng.IntN(2)]
	set := []string{"following:", "followers:"}[rng.IntN(2)] + uid
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	commands := [][]string{
		{"DEL", pick("user:"+uid, "post:"+pid, "posts:"+uid, "profile:"+uid, set, "timeline")},
		{"DEL", pick("users", "users_by_time", "next_user_id", "next_post_id", "post:"+pid, "user:"+uid)},
		{"HDEL", "user:" + uid, pick("username", "auth", "joined")},
		{"HSET", "user:" + uid, "auth", strings.Repeat("a", 64)},
		{"HSET", "user:" + uid, "username", "somebody" + uid},
		{"HDEL", "users", "user" + uid},
		{"HSET", "users", pick("ghost", "user1"), pick(uid, "99", "x")},
		{"ZADD", "users_by_time", "5", "ghost"},
		{"ZREM", "users_by_time", "user" + uid},
		{"SET", pick("next_user_id", "next_post_id"), pick("1", "x", "")},
		{"HDEL", "post:" + pid, "user_id"},
		{"HSET", "post:" + pid, "user_id", pick(other, "99", "x")},
		{"LPUSH", list, pick(pid, "9999", "x")},
		{"RPUSH", list, pid},
		{"LREM", list, "0", pid},
		{"LTRIM", list, "2", "-1"},
		{"ZADD", "profile:" + uid, pick("5", pid), pick(pid, "9999", "x")},
		{"ZREM", "profile:" + uid, pid},
		{"ZADD", set, "1700000000", pick(other, uid, "99", "x")},
		{"ZREM", set, other},
		{"ZADD", "tasks", "1", pick("post:"+pid+":"+uid+":1", "post:x")},
	}
	words := commands[rng.IntN(len(commands))]
	if rng.IntN(8) == 0 { // the wrong type
		key := pick("posts:"+uid, "profile:"+uid, set, "timeline", "users", "users_by_time", "next_post_id")
		b.Redis("DEL", key)
		words = []string{pick("SADD", "PFADD"), key, "foreign"}
	}
	if err := b.DB.Do(b.Ctx, b.DB.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error(); err != nil {
		return fmt.Sprint(words, " (refused)")
	}
	return fmt.Sprint(words)
}

// Repair repairs random damage during concurrent posts, follows and log-ins.
func TestRepairAfterRandomDamage(t *testing.T) {
	t.Parallel()
	rounds := 8
	if text := os.Getenv(damageEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	cluster := redistest.Cluster(t, 2)
	for round := range rounds {
		seed := uint64(round)
		b := setup(t)
		if round%4 == 3 {
			b = on(t, cluster.Client(t))
			for _, node := range b.DB.Nodes() {
				if err := node.Do(b.Ctx, node.B().Flushall().Build()).Error(); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.damageAndRepair(rand.New(rand.NewPCG(seed, 2)), fmt.Sprint("round ", round))
		if t.Failed() {
			return
		}
	}
}

// damageAndRepair damages a new network at random and checks that Repair repairs all damage.
// Failures begin with name.
func (b *bundle) damageAndRepair(rng *rand.Rand, name string) {
	const people, posts = 12, 30
	users := b.network(people, posts, rng)
	b.wantConsistent(name + ": before")
	var done []string
	for range 1 + rng.IntN(12) {
		done = append(done, b.damage(rng, people, posts))
	}
	name += ": " + strings.Join(done, "\n\t")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 3 {
		rng := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b.actAs(rng, users)
			}
		})
	}
	first := b.repair()
	if first.Remaining > 0 {
		b.T.Errorf("%s\n%d problems remain: %+v", name, first.Remaining, first)
	}
	close(stop)
	wg.Wait()
	b.Eventually("the fan-outs to end", func() bool { // including the fan-outs of damaged posts
		b.Clock.Advance(time.Minute)
		return b.RetryTasks(b.Ctx) == nil && b.isIdle()
	})
	b.wantConsistent(name)
	// A new user can register and post.
	session, err := b.Accounts.Register(b.Ctx, "ghost", socialtest.Password)
	if err != nil {
		b.T.Errorf("%s: Register: %v", name, err)
		return
	}
	if _, err := b.Sessions.SessionUser(b.Ctx, session.Secret); err != nil {
		b.T.Errorf("%s: session of the new user: %v", name, err)
	}
	b.Publish(session.User, "hello")
	b.wantConsistent(name + ": later")
}

// actAs performs a random action as one of the users, unless the user no longer exists.
func (b *bundle) actAs(rng *rand.Rand, users []social.User) {
	ctx := social.WithFresh(b.Ctx)
	me, err := b.Users.UserByName(ctx, users[rng.IntN(len(users))].Name)
	if err != nil {
		return
	}
	other, err := b.Users.UserByName(ctx, users[rng.IntN(len(users))].Name)
	if err != nil || me.ID == other.ID {
		return
	}
	_ = b.act(rng, me, other) // fails if keys are damaged
}

// A failover with replication lag leaves the keys of a Cluster inconsistent. Check finds the
// inconsistencies, and Repair repairs them.
func TestRepairAfterLossyFailover(t *testing.T) {
	t.Parallel()
	c := socialtest.NewReplicated(t)
	b := on(t, c.DB)
	rng := rand.New(rand.NewPCG(1, 2))
	users := b.network(20, 60, rng)
	c.Cut()
	b.Eventually("a write without the replica", func() bool {
		_, err := b.Posts.Post(b.Ctx, users[0], "without the replica")
		if err != nil && !errors.Is(err, social.ErrUncertain) {
			t.Fatal(err)
		}
		return err == nil
	})
	for i := range 120 {
		if i%10 == 0 {
			users = append(users, b.NewUser(fmt.Sprintf("late%d", i)))
		}
		if err := b.act(rng, users[rng.IntN(len(users))], users[rng.IntN(len(users))]); err != nil {
			t.Fatal(err)
		}
	}
	b.Close() // otherwise b would write its latest posts again
	c.FailOver()
	other := on(t, c.DB) // a process without memory of the lost writes
	other.Clock.Unix.Store(b.Clock.Unix.Load() + 120)
	found, err := other.Check(check.Options{})
	if err != nil || found.Problems < 10 {
		t.Fatalf("check = %+v, %v; want at least 10 problems", found, err)
	}
	repaired := other.repair()
	t.Logf("%d problems, %d leftovers; %d repaired, %d remain", found.Problems, found.Leftovers, repaired.Repaired, repaired.Remaining)
	other.Eventually("the fan-outs to end", func() bool { return other.isIdle() })
	other.wantConsistent("lossy failover")
}

// Repair repairs a database in which hundreds of keys were lost or restored from an old state.
func TestRepairAfterKeysAreLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rng := rand.New(rand.NewPCG(1, 2))
	users := b.network(20, 60, rng)
	dumps := map[string]string{}
	for _, key := range strings.Fields(b.Redis("KEYS", "*")) {
		if rng.IntN(3) == 0 {
			dumps[key] = b.Redis("DUMP", key)
		}
	}
	for i := range 300 {
		if i%10 == 0 {
			users = append(users, b.NewUser(fmt.Sprintf("late%d", i)))
		}
		if err := b.act(rng, users[rng.IntN(len(users))], users[rng.IntN(len(users))]); err != nil {
			t.Fatal(err)
		}
	}
	for key, dump := range dumps {
		b.Redis("DEL", key)
		b.Redis("RESTORE", key, "0", dump)
	}
	for i, key := range strings.Fields(b.Redis("KEYS", "*")) {
		if _, old := dumps[key]; !old && i%3 == 0 && strings.Contains(key, ":") {
			b.Redis("DEL", key)
		}
	}
	other := on(t, b.DB)
	other.Clock.Unix.Store(b.Clock.Unix.Load() + 120)
	found, err := other.Check(check.Options{})
	if err != nil || found.Problems < 20 {
		t.Fatalf("check = %+v, %v; want at least 20 problems", found, err)
	}
	if repaired := other.repair(); repaired.Remaining > 0 {
		t.Errorf("repair = %+v", repaired)
	}
	other.wantConsistent("keys lost")
}

// Because a backup reads one master of a Cluster after another, a restored list can have posts of
// an author who is no longer followed while another post of that author is not on all lists.
func TestRepairRestored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	old := b.Publish(ada, "a post that bob does not follow")
	latest := b.Publish(ada, "a post that is not on all lists")
	b.Eventually("the fan-outs to end", func() bool { return b.isIdle() })
	b.Redis("RPUSH", storage.HomeKey(bob.ID), fmt.Sprint(old))
	at := b.Redis("HGET", storage.PostKey(latest), "time")
	b.Keep(posts.Member(latest, ada.ID, at))

	other := on(t, b.DB)
	other.Clock.Unix.Store(b.Clock.Unix.Load())
	repaired, err := check.Repair(other.Ctx, other.App, check.Options{Exclusive: true})
	if err != nil || repaired.Remaining > 0 {
		t.Fatalf("repair = %+v, %v", repaired, err)
	}
	other.wantConsistent("restored")
}
