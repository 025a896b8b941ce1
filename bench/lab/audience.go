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

// audience is a set of accounts that follow the first two people from the start. Posts of the first
// person are fanned out in slices. The second person has more followers, so that their posts are
// merged when a home timeline is read. At the end, a few of the accounts read their pages, and the
// home timelines of all followers of the first person are read from the database.
type audience struct {
	database
	fans    []social.User // all follow the second person; the first `followers` of them follow both people
	uids    [2]int64      // the IDs of the first two people
	readers []*person
}

const (
	// followers is the number of accounts that follow the first person.
	followers = 2500
	// merged is the value of --celebrity-followers: posts of authors with more followers are merged.
	merged = 2600
	// readers is the number of followers who read their pages at the end.
	readers = 3
)

// database gives access to the data of the site, without background work.
type database struct {
	client  rueidis.Client
	service *app.App
}

func (c *cluster) open() (d database, err error) {
	d.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: c.proxyAddrs(), DisableCache: true, PipelineMultiplex: -1, ConnWriteTimeout: 20 * time.Second})
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

// seed creates the accounts before the site is served. The caller must close the audience, even
// after an error.
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

// follow makes the accounts follow the first two people and creates their home timelines. On a
// Cluster, a post is written only to home timelines that exist.
func (a *audience) follow(ctx context.Context, c *crowd) error {
	start, since := c.rec.Now(), time.Now().Add(-time.Minute)
	var follows []load.NewFollow
	for i, fans := range [][]social.User{a.fans[:followers], a.fans} {
		author, err := a.service.Users.UserByName(ctx, c.all[i].name)
		if err != nil {
			return fmt.Errorf("the account of %s: %w", c.all[i].name, err)
		}
		a.uids[i] = author.ID
		for _, fan := range fans {
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

// waitIdle waits until the background work is done and the caches of the processes are up to date.
func (a *audience) waitIdle(ctx context.Context) error {
	err := measure.Wait(ctx, check.Default.Recovery+clusterTimeout, "the background work to finish", func() bool {
		backlog, err := a.service.Backlog(ctx)
		return err == nil && backlog.Waiting == 0
	})
	sleep.For(ctx, check.Default.Quiet)
	return err
}

// listsReport summarizes the home timelines of the audience at the end.
type listsReport struct {
	Lists   int
	Posts   int // the number of posts that each list must have
	Missing int // entries
	Twice   int // entries
	First   []string
}

func (r listsReport) wrong() int { return r.Missing + r.Twice }

// read checks the home timelines of all followers of the first person.
func (a *audience) read(ctx context.Context, c *crowd) (listsReport, error) {
	var r listsReport
	for _, reader := range a.readers {
		reader.logIn(ctx)
		reader.readAll(ctx, history.Op{Kind: history.Home, Process: rand.IntN(len(c.webs))}, "/home")
	}
	want, err := a.postsBy(ctx, a.uids[0])
	if err != nil {
		return r, fmt.Errorf("the posts of %s: %w", c.all[0].name, err)
	}
	r.Posts = len(want)
	for fans := range slices.Chunk(a.fans[:followers], 500) {
		var cmds rueidis.Commands
		for _, fan := range fans {
			cmds = append(cmds, a.client.B().Lrange().Key(storage.HomeKey(fan.ID)).Start(0).Stop(-1).Build())
		}
		for i, res := range a.client.DoMulti(ctx, cmds...) {
			list, err := res.AsStrSlice()
			if err != nil {
				return r, fmt.Errorf("the home timeline of %s: %w", fans[i].Name, err)
			}
			if len(list) > 0 { // an expired list is rebuilt on the next read
				r.compare(fans[i].ID, list, want)
			}
		}
	}
	return r, nil
}

// postsBy returns the posts of one of the first two people that belong on the home timelines of
// accounts that follow both people: posts, reposts, and replies to either person.
func (a *audience) postsBy(ctx context.Context, uid int64) ([]string, error) {
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

// compare checks that a list has the wanted posts. The list can have other posts, which pages omit.
func (r *listsReport) compare(user int64, list, want []string) {
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
	for id, times := range n { // "0" marks a list that exists
		if times > 1 && id != "0" {
			r.Twice++
			wrong = append(wrong, id+" is duplicated")
		}
	}
	if len(wrong) > 0 && len(r.First) < 5 {
		r.First = append(r.First, fmt.Sprintf("%s: %s", storage.HomeKey(user), strings.Join(wrong, ", ")))
	}
}

// databaseReport is the result of the final check of the database.
type databaseReport struct {
	Ran       bool
	Problems  int64 // before the repair
	Leftovers int   // in lastingPrefixes, before the repair
	Left      int64 // problems after the repair
	First     []string
}

// lastingPrefixes are the prefixes of keys whose leftovers are not removed by later work.
var lastingPrefixes = []string{
	storage.FollowersPrefix, storage.FollowingPrefix, storage.BlockedPrefix, storage.BlockersPrefix,
	storage.ProfilePrefix, storage.ProfileRepliesPrefix, storage.HomePrefix, storage.Timeline,
}

// check checks the database like "retwis check", and repairs it if there are problems.
func (c *cluster) check(ctx context.Context) (databaseReport, error) {
	r := databaseReport{Ran: true}
	d, err := c.open() // the slot map of an existing client may be stale
	defer d.close()
	if err != nil {
		return r, err
	}
	found, err := socialcheck.Verify(ctx, d.service, socialcheck.Options{Report: func(p socialcheck.Problem) {
		if p.Leftover {
			if !slices.ContainsFunc(lastingPrefixes, func(prefix string) bool { return strings.HasPrefix(p.Key, prefix) }) {
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
