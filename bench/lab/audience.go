package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/lab/check"
	"retwis/bench/lab/history"
	"retwis/bench/measure"
	"retwis/internal/app"
	"retwis/internal/sleep"
	"retwis/internal/social"
	socialcheck "retwis/internal/social/check"
	"retwis/internal/social/load"
	"retwis/internal/social/storage"
)

// audience are accounts that follow the first two people from the beginning: so many that the
// posts of the first go to their home timelines in slices, and those of the second are merged
// when a home timeline is read. A few of them are read as pages, and every home timeline
// that follows the first is read whole from the database.
type audience struct {
	database
	fans    []social.User // the first ones follow both
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

// database is the data of the site, for a process that does no work in the background.
type database struct {
	client  rueidis.Client
	service *app.App
}

func (c *cluster) open() (d database, err error) {
	d.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: c.fronts(), DisableCache: true, PipelineMultiplex: -1, ConnWriteTimeout: 20 * time.Second})
	if err != nil {
		return d, fmt.Errorf("open the database: %w", err)
	}
	d.service, err = app.New(d.client, app.Options{NoJobs: true, Logger: slog.New(slog.DiscardHandler)})
	return d, err
}

func (d database) close() {
	if d.service != nil {
		_ = d.service.Close()
	}
	if d.client != nil {
		d.client.Close()
	}
}

// seed makes the accounts, before a process serves the site. The caller closes what it returns, also
// with an error.
func seed(ctx context.Context, c *cluster) (a *audience, err error) {
	a = &audience{}
	if a.database, err = c.open(); err != nil {
		return a, err
	}
	hash, err := a.service.Auth.HashPassword(ctx, password)
	if err != nil {
		return a, fmt.Errorf("seed: %w", err)
	}
	accounts := make([]load.NewUser, merged+1)
	for i := range accounts {
		accounts[i] = load.NewUser{Name: fmt.Sprintf("fan%04d", i), PasswordHash: hash, Joined: time.Now()}
	}
	a.fans, err = load.New(a.service).AddUsers(ctx, accounts)
	return a, err
}

// follow makes the accounts follow the first two people, and gives them home timelines: on a
// Cluster a post goes to those that exist.
func (a *audience) follow(ctx context.Context, c *crowd) error {
	start, since := c.rec.Now(), time.Now().Add(-time.Minute)
	var follows []load.NewFollow
	for i, some := range [][]social.User{a.fans[:followers], a.fans} {
		author, err := a.service.Users.UserByName(ctx, c.all[i].name)
		if err != nil {
			return fmt.Errorf("the account of %s: %w", c.all[i].name, err)
		}
		a.uids[i] = author.ID
		for _, fan := range some {
			follows = append(follows, load.NewFollow{From: fan.ID, To: author.ID, Time: since})
		}
	}
	if err := load.New(a.service).AddFollows(ctx, follows); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	err := measure.Send(ctx, a.client, func(yield func(rueidis.Completed) bool) {
		b := a.client.B()
		for _, fan := range a.fans {
			key := storage.HomeKey(fan.ID)
			if !yield(b.Rpush().Key(key).Element("0").Build()) || !yield(b.Expire().Key(key).Seconds(30*24*3600).Build()) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	for i, fan := range a.fans[:readers] {
		a.readers = append(a.readers, c.newPerson(fan.Name, i))
		for _, author := range c.all[:2] {
			c.rec.Op(history.Op{Person: fan.Name, Kind: history.Follow, Other: author.name, Start: start, End: c.rec.Now(), Outcome: history.OK})
		}
	}
	return nil
}

// idle waits until no background work is left, and what is cached in the processes settles.
func (a *audience) idle(ctx context.Context) error {
	err := measure.Wait(ctx, check.Default.Recovery+clusterTimeout, "the end of the background work", func() bool {
		backlog, err := a.service.Backlog(ctx)
		return err == nil && backlog.Waiting == 0
	})
	sleep.For(ctx, check.Default.Quiet)
	return err
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
	for some := range slices.Chunk(a.fans[:followers], 500) {
		var cmds rueidis.Commands
		for _, fan := range some {
			cmds = append(cmds, a.client.B().Lrange().Key(storage.HomeKey(fan.ID)).Start(0).Stop(-1).Build())
		}
		for i, res := range a.client.DoMulti(ctx, cmds...) {
			list, err := res.AsStrSlice()
			if err != nil {
				return r, fmt.Errorf("the home timeline of %s: %w", some[i].Name, err)
			}
			if len(list) > 0 { // else it is made again when it is read
				r.judge(some[i].ID, list, want)
			}
		}
	}
	return r, nil
}

// written returns what one of the two has written for the home timelines of all who follow both:
// posts, reposts, and replies to one of the two.
func (a *audience) written(ctx context.Context, uid int64) ([]string, error) {
	b := a.client.B()
	posts, err := a.client.Do(ctx, b.Zrange().Key(storage.ProfileKey(uid)).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	replies, err := a.client.Do(ctx, b.Zrange().Key(storage.ProfileRepliesKey(uid)).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	for _, id := range replies {
		to, err := a.client.Do(ctx, b.Hget().Key(storage.PostPrefix+id).Field("to").Build()).AsInt64()
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
		r.First = append(r.First, fmt.Sprintf("%s: %s", storage.HomeKey(user), strings.Join(wrong, ", ")))
	}
}

// databaseReport is what a check of the database has found in the end.
type databaseReport struct {
	Ran       bool
	Problems  int64 // before a repair
	Leftovers int   // of follows, blocks and lists of posts, before a repair
	Left      int64 // problems after it
	First     []string
}

// lasting are the keys in which a leftover stays: nothing looks at it any more when all work
// is done.
var lasting = []string{
	storage.FollowersPrefix, storage.FollowingPrefix, storage.BlockedPrefix, storage.BlockersPrefix,
	storage.ProfilePrefix, storage.ProfileRepliesPrefix, storage.HomePrefix, storage.Timeline,
}

// check does what retwis check does, and a repair if it finds problems.
func (c *cluster) check(ctx context.Context) (databaseReport, error) {
	r := databaseReport{Ran: true}
	d, err := c.open() // an older client does not know which nodes are masters now
	defer d.close()
	if err != nil {
		return r, err
	}
	found, err := socialcheck.Verify(ctx, d.service, socialcheck.Options{Report: func(p socialcheck.Problem) {
		if p.Leftover {
			if !slices.ContainsFunc(lasting, func(prefix string) bool { return strings.HasPrefix(p.Key, prefix) }) {
				return
			}
			r.Leftovers++
		}
		if len(r.First) < 20 {
			r.First = append(r.First, p.String())
		}
	}})
	r.Problems = found.Problems
	if err != nil || r.Problems == 0 {
		return r, err
	}
	if _, err := socialcheck.Repair(ctx, d.service, socialcheck.Options{}); err != nil {
		return r, err
	}
	after, err := socialcheck.Verify(ctx, d.service, socialcheck.Options{})
	r.Left = after.Problems
	return r, err
}
