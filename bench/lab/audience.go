package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/lab/history"
	"retwis/internal/social/layout"
	"retwis/internal/social/users"
)

// audience are accounts that follow the first two people from the beginning: so many that the
// posts of the first go to their home timelines in slices, and those of the second are merged
// when a home timeline is read. A few of them are read as pages, and every home timeline
// that follows the first is read whole from the database.
type audience struct {
	client  rueidis.Client
	ids     []int64 // of the accounts; the first ones follow both
	uids    [2]int64
	readers []*person
}

const (
	// followers is how many accounts follow the first.
	followers = 2500
	// merged is from how many followers on posts are merged: the second has more.
	merged = 2600
	// readers is how many of the followers read their pages in the end.
	readers = 3
)

// seed makes the accounts, before a process serves the site.
func seed(ctx context.Context, program string, c *cluster) (*audience, error) {
	a := &audience{}
	var fronts []string
	for _, n := range c.nodes {
		fronts = append(fronts, fmt.Sprintf("127.0.0.1:%d", n.front))
	}
	var err error
	a.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: fronts, DisableCache: true, PipelineMultiplex: -1, ConnWriteTimeout: 20 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "seed", "--users", strconv.Itoa(merged+1), "--follows", "0", "--posts", "0",
		"--password", password, "--redis", c.url())
	if out, err := cmd.CombinedOutput(); err != nil {
		return a, fmt.Errorf("seed: %w: %s", err, out)
	}
	last, err := a.client.Do(ctx, a.client.B().Get().Key("next_user_id").Build()).AsInt64()
	if err != nil {
		return a, fmt.Errorf("seed: %w", err)
	}
	for id := last - merged; id <= last; id++ {
		a.ids = append(a.ids, id)
	}
	return a, nil
}

func (a *audience) close() {
	if a != nil && a.client != nil {
		a.client.Close()
	}
}

// follow makes the accounts follow the first two people, and gives them home timelines: on a
// Cluster a post goes to those that exist.
func (a *audience) follow(ctx context.Context, c *crowd) error {
	b := a.client.B()
	for i := range a.uids {
		var err error
		if a.uids[i], err = a.uid(ctx, c.all[i].name); err != nil {
			return err
		}
	}
	start := c.rec.Now()
	since := float64(time.Now().Unix() - 60)
	var cmds rueidis.Commands
	for i, id := range a.ids {
		for j, uid := range a.uids {
			if j == 0 && i >= followers {
				continue
			}
			cmds = append(cmds,
				b.Zadd().Key(fmt.Sprint("followers:", uid)).ScoreMember().ScoreMember(since, fmt.Sprint(id)).Build(),
				b.Zadd().Key(fmt.Sprint("following:", id)).ScoreMember().ScoreMember(since, fmt.Sprint(uid)).Build())
		}
		cmds = append(cmds, b.Rpush().Key(fmt.Sprint("posts:", id)).Element("0").Build(),
			b.Expire().Key(fmt.Sprint("posts:", id)).Seconds(30*24*3600).Build())
	}
	for some := range slices.Chunk(cmds, 2000) {
		for _, res := range a.client.DoMulti(ctx, some...) {
			if err := res.Error(); err != nil {
				return fmt.Errorf("seed: %w", err)
			}
		}
	}
	for i := range readers {
		name, err := a.client.Do(ctx, b.Hget().Key(fmt.Sprint("user:", a.ids[i])).Field("username").Build()).ToString()
		if err != nil {
			return fmt.Errorf("seed: %w", err)
		}
		reader := c.newPerson(name, i)
		a.readers = append(a.readers, reader)
		for _, author := range c.all[:2] {
			c.rec.Op(history.Op{Person: name, Kind: history.Follow, Other: author.name, Start: start, End: c.rec.Now(), Outcome: history.OK})
		}
	}
	return nil
}

// uid returns the id of a person's account.
func (a *audience) uid(ctx context.Context, name string) (int64, error) {
	id, err := a.client.Do(ctx, a.client.B().Hget().Key(layout.BucketKey(users.Bucket(name))).Field(name).Build()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("the id of %s: %w", name, err)
	}
	return id, nil
}

// listsReport is what the home timelines of the audience have in the end.
type listsReport struct {
	Lists   int
	Posts   int // that must be on each
	Missing int // entries
	Twice   int
	First   []string
}

func (r listsReport) wrong() int { return r.Missing + r.Twice }

// read reads the home timelines of all who follow the first person.
func (a *audience) read(ctx context.Context, c *crowd) (listsReport, error) {
	var r listsReport
	for _, reader := range a.readers {
		reader.logIn(ctx)
		reader.whole(ctx, history.Op{Kind: history.Home, Process: rand.IntN(len(c.webs))}, "/home")
	}
	want, err := a.written(ctx, a.uids[0])
	if err != nil {
		return r, fmt.Errorf("the posts of %s: %w", c.all[0].name, err)
	}
	r.Posts = len(want)
	for some := range slices.Chunk(a.ids[:followers], 500) {
		var cmds rueidis.Commands
		for _, id := range some {
			cmds = append(cmds, a.client.B().Lrange().Key(fmt.Sprint("posts:", id)).Start(0).Stop(-1).Build())
		}
		for i, res := range a.client.DoMulti(ctx, cmds...) {
			list, err := res.AsStrSlice()
			if err != nil {
				return r, fmt.Errorf("the home timeline of user %d: %w", some[i], err)
			}
			if len(list) > 0 { // else it is made again when it is read
				r.judge(some[i], list, want)
			}
		}
	}
	return r, nil
}

// written returns what one of the two has written for the home timelines of all who follow both:
// posts, reposts, and replies to one of the two.
func (a *audience) written(ctx context.Context, uid int64) ([]string, error) {
	b := a.client.B()
	posts, err := a.client.Do(ctx, b.Zrange().Key(layout.ProfileKey(uid)).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	replies, err := a.client.Do(ctx, b.Zrange().Key(layout.ProfileRepliesKey(uid)).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	for _, id := range replies {
		to, err := a.client.Do(ctx, b.Hget().Key(layout.PostPrefix+id).Field("to").Build()).AsInt64()
		if err != nil {
			return nil, err
		}
		if slices.Contains(a.uids[:], to) {
			posts = append(posts, id)
		}
	}
	return posts, nil
}

// judge compares a list with what it must have. It can have more: pages leave that out.
func (r *listsReport) judge(user int64, list, want []string) {
	r.Lists++
	n := map[string]int{}
	for _, id := range list {
		n[id]++
	}
	var wrong []string
	for _, id := range want {
		if n[id] == 0 {
			r.Missing++
			wrong = append(wrong, id+" is missing")
		}
	}
	for id, times := range n { // "0" says that a list exists
		if times > 1 && id != "0" {
			r.Twice++
			wrong = append(wrong, id+" is there twice")
		}
	}
	if len(wrong) > 0 && len(r.First) < 5 {
		r.First = append(r.First, fmt.Sprintf("posts:%d: %s", user, strings.Join(wrong, ", ")))
	}
}
