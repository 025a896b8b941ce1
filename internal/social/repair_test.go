package social_test

import (
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
)

// damageEnv is how many times TestRepairAfterRandomDamage damages a database,
// for a long run.
const damageEnv = "SOCIAL_DAMAGE_ROUNDS"

// repair repairs, and returns what a check finds afterwards.
func (b *bundle) repair() social.CheckResult {
	b.t.Helper()
	b.SessionGrace(0)
	result, err := b.CheckWith(b.ctx, social.CheckOptions{Repair: true, Followers: 10_000})
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func (b *bundle) wantWhole(what string) {
	b.t.Helper()
	result, err := b.CheckWith(b.ctx, social.CheckOptions{Followers: 10_000, Report: func(p social.Problem) {
		b.t.Errorf("%s: after the repair: %s", what, p)
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	if result.Problems+result.Leftovers > 0 {
		b.t.Errorf("%s: check = %+v", what, result)
	}
}

// network is some users who follow each other and have posted.
func (b *bundle) network(people, posts int, rng *rand.Rand) []social.User {
	b.t.Helper()
	var users []social.User
	for i := range people {
		users = append(users, b.register(fmt.Sprintf("user%d", i)))
	}
	for _, from := range users {
		for _, to := range users {
			if from != to && rng.IntN(3) == 0 {
				b.follow(from, to)
			}
		}
	}
	b.clock.advance(time.Second)
	for i := range posts {
		b.post(users[rng.IntN(people)], fmt.Sprint("post ", i))
	}
	b.eventually("the fan-outs to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
	b.clock.advance(2 * time.Minute)
	return users
}

// damage does something to one key that no program of ours does, and says what.
func (b *bundle) damage(rng *rand.Rand, people, posts int) string {
	uid, other := fmt.Sprint(1+rng.IntN(people+2)), fmt.Sprint(1+rng.IntN(people+2))
	pid := fmt.Sprint(1 + rng.IntN(posts+2))
	list := []string{"timeline", "posts:" + uid}[rng.IntN(2)]
	set := []string{"following:", "followers:"}[rng.IntN(2)] + uid
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	commands := [][]string{
		{"DEL", pick("user:"+uid, "post:"+pid, "posts:"+uid, "profile:"+uid, set, "timeline")},
		{"DEL", pick("users", "users_by_time", "auths", "next_user_id", "next_post_id", "post:"+pid, "user:"+uid)},
		{"HDEL", "user:" + uid, pick("username", "auth", "joined")},
		{"HSET", "user:" + uid, "auth", strings.Repeat("a", 64)},
		{"HSET", "user:" + uid, "username", "somebody" + uid},
		{"HDEL", "users", "user" + uid},
		{"HSET", "users", pick("ghost", "user1"), pick(uid, "99", "x")},
		{"ZADD", "users_by_time", "5", "ghost"},
		{"ZREM", "users_by_time", "user" + uid},
		{"HSET", "auths", strings.Repeat("b", 64), uid},
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
		{"ZADD", "fanouts", "1", pick(pid, "9999", "x")},
	}
	words := commands[rng.IntN(len(commands))]
	if rng.IntN(8) == 0 { // another type
		key := pick("posts:"+uid, "profile:"+uid, set, "timeline", "users", "users_by_time", "auths", "next_post_id", "fanouts")
		b.do("DEL", key)
		words = []string{pick("SADD", "PFADD"), key, "foreign"}
	}
	if err := b.client.Do(b.ctx, b.client.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error(); err != nil {
		return fmt.Sprint(words, " (refused)")
	}
	return fmt.Sprint(words)
}

// Whatever is done to keys, a check finds it and a repair repairs it, while
// others go on to post, follow and log in.
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
			for _, node := range b.client.Nodes() {
				if err := node.Do(b.ctx, node.B().Flushall().Build()).Error(); err != nil {
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

func (b *bundle) damageAndRepair(rng *rand.Rand, what string) {
	const people, posts = 12, 30
	users := b.network(people, posts, rng)
	b.wantWhole(what + ": before")
	var done []string
	for range 1 + rng.IntN(12) {
		done = append(done, b.damage(rng, people, posts))
	}
	what += ": " + strings.Join(done, "\n\t")
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
				b.liveAmong(rng, users)
			}
		})
	}
	first := b.repair()
	if first.Remaining > 0 {
		b.t.Errorf("%s\n%d problems remain: %+v", what, first.Remaining, first)
	}
	close(stop)
	wg.Wait()
	b.eventually("the fan-outs to end", func() bool { // of posts for which keys were damaged, those too
		b.clock.advance(time.Minute)
		return b.ResumeFanOuts(b.ctx) == nil && b.do("EXISTS", "fanouts") == "0"
	})
	b.wantWhole(what)
	// Who comes now gets what is free, and everything works.
	session, err := b.Register(b.ctx, "ghost", password)
	if err != nil {
		b.t.Errorf("%s: register: %v", what, err)
		return
	}
	if _, err := b.SessionUser(b.ctx, session.Secret); err != nil {
		b.t.Errorf("%s: the session of a new user: %v", what, err)
	}
	b.post(session.User, "hello")
	b.wantWhole(what + ": later")
}

// liveAmong does one of the things that people do whose account is there.
func (b *bundle) liveAmong(rng *rand.Rand, users []social.User) {
	ctx := social.WithFresh(b.ctx)
	me, err := b.UserByName(ctx, users[rng.IntN(len(users))].Name)
	if err != nil {
		return
	}
	other, err := b.UserByName(ctx, users[rng.IntN(len(users))].Name)
	if err != nil || me.ID == other.ID {
		return
	}
	_ = b.live(rng, me, other) // damaged keys may refuse
}

// A failover with lag leaves the keys of a Cluster in different states. A check
// finds that, and a repair makes them agree again.
func TestRepairAfterLossyFailover(t *testing.T) {
	t.Parallel()
	c := newReplicated(t)
	b := on(t, c.client)
	rng := rand.New(rand.NewPCG(1, 2))
	users := b.network(20, 60, rng)
	c.cut()
	for i := range 300 {
		if i%10 == 0 {
			users = append(users, b.register(fmt.Sprintf("late%d", i)))
		}
		if err := b.live(rng, users[rng.IntN(len(users))], users[rng.IntN(len(users))]); err != nil {
			t.Fatal(err)
		}
	}
	b.Close() // it would write its latest posts again
	c.failOver()
	other := on(t, c.client) // a process that remembers nothing
	other.clock.unix.Store(b.clock.unix.Load() + 120)
	found, err := other.Check(b.ctx, func(social.Problem) {})
	if err != nil || found.Problems < 10 {
		t.Fatalf("check = %+v, %v", found, err)
	}
	repaired := other.repair()
	t.Logf("%d problems, %d leftovers; %d repaired, %d remain", found.Problems, found.Leftovers, repaired.Repaired, repaired.Remaining)
	other.eventually("the fan-outs to end", func() bool { return other.do("EXISTS", "fanouts") == "0" })
	other.wantWhole("lossy failover")
}

// Keys that are lost, or are what they were a while ago, by the hundred.
func TestRepairAfterKeysAreLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rng := rand.New(rand.NewPCG(1, 2))
	users := b.network(20, 60, rng)
	dumps := map[string]string{}
	for _, key := range strings.Fields(b.do("KEYS", "*")) {
		if rng.IntN(3) == 0 {
			dumps[key] = b.do("DUMP", key)
		}
	}
	for i := range 300 {
		if i%10 == 0 {
			users = append(users, b.register(fmt.Sprintf("late%d", i)))
		}
		if err := b.live(rng, users[rng.IntN(len(users))], users[rng.IntN(len(users))]); err != nil {
			t.Fatal(err)
		}
	}
	for key, dump := range dumps {
		b.do("DEL", key)
		b.do("RESTORE", key, "0", dump)
	}
	for i, key := range strings.Fields(b.do("KEYS", "*")) {
		if _, old := dumps[key]; !old && i%3 == 0 && strings.Contains(key, ":") {
			b.do("DEL", key)
		}
	}
	other := on(t, b.client)
	other.clock.unix.Store(b.clock.unix.Load() + 120)
	found, err := other.Check(b.ctx, func(social.Problem) {})
	if err != nil || found.Problems < 20 {
		t.Fatalf("check = %+v, %v", found, err)
	}
	if repaired := other.repair(); repaired.Remaining > 0 {
		t.Errorf("repair = %+v", repaired)
	}
	other.wantWhole("keys lost")
}
