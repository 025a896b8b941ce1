package modeltest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// crowd is the number of people.
const crowd = 6

// network is a database of Retwis with processes and the model.
type network struct {
	t       *testing.T
	url     string
	rng     *rand.Rand
	model   *model
	local   []*localProcess
	cluster bool
	history []string
}

// celebrity is the minimum number of followers of a person whose posts are merged into home
// timelines on a Cluster.
const celebrity = 2

func newNetwork(t *testing.T, url string, seed uint64, processes int) *network {
	t.Helper()
	n := &network{t: t, url: url, rng: rand.New(rand.NewPCG(seed, 16)), model: newModel(crowd)}
	for range processes {
		n.local = append(n.local, n.open())
	}
	n.model.now = n.local[0].Clock.Unix.Load()
	n.cluster = n.local[0].DB.Mode() == rueidis.ClientModeCluster
	for _, person := range n.model.people {
		person.expired = n.cluster
	}
	return n
}

// open returns a new application, as in a new process.
func (n *network) open() *localProcess {
	n.t.Helper()
	p := &localProcess{Bundle: socialtest.Watched(n.t, n.url, func(opt *app.Options) { opt.CelebrityFollowers = celebrity })}
	for _, name := range names(crowd) {
		user, err := p.Users.UserByName(p.Ctx, name)
		if err != nil {
			user = p.NewUser(name)
		}
		p.people = append(p.people, user)
	}
	return p
}

// draw draws a random action. Common actions are more frequent.
func (n *network) draw() action {
	kinds := []string{
		"post", "post", "post", "reply", "reply", "reply", "reply", "repost", "repost", "unrepost", "like", "like", "like", "unlike",
		"bookmark", "unbookmark", "edit", "edit", "delete", "follow", "follow", "follow", "unfollow", "follow tag", "unfollow tag",
		"mute", "unmute", "block", "unblock", "unblock", "hide", "unhide",
	}
	n.model.now++
	a := action{Kind: kinds[n.rng.IntN(len(kinds))], At: n.model.now, User: n.rng.IntN(crowd)}
	a.Other = (a.User + 1 + n.rng.IntN(crowd-1)) % crowd
	switch a.Kind {
	case "post", "reply", "edit":
		a.Text = n.text()
	case "follow tag", "unfollow tag":
		a.Text = tags[n.rng.IntN(len(tags))]
	case "mute", "block":
		if n.rng.IntN(2) == 0 {
			a.Until = a.At + 1 + n.rng.Int64N(20)
		}
	}
	switch a.Kind {
	case "reply", "repost", "unrepost", "like", "unlike", "bookmark", "unbookmark", "hide", "unhide":
		a.Post = n.post(func(*entry) bool { return true })
	case "edit", "delete":
		a.Post = n.post(func(p *entry) bool { return p.author == a.User || n.rng.IntN(20) == 0 })
	}
	return a
}

func (n *network) text() string {
	text := fmt.Sprint("text ", n.rng.IntN(1000))
	if n.rng.IntN(2) == 0 { // frequent, so that an edit can restore a tag
		text += " #" + tags[n.rng.IntN(len(tags))]
	}
	if n.rng.IntN(4) == 0 {
		text += fmt.Sprint(" @person", n.rng.IntN(crowd))
	}
	return text
}

// post draws the ID of a post for which ok returns true. Recent posts are more frequent than old
// posts. Sometimes the post is deleted or has never existed.
func (n *network) post(ok func(p *entry) bool) int64 {
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(n.model.posts)) { // sorted, so that a seed always draws the same posts
		if p := n.model.posts[id]; ok(p) && (!p.deleted || n.rng.IntN(20) == 0) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || n.rng.IntN(100) == 0 {
		return 1_000_000
	}
	if n.rng.IntN(2) == 0 {
		return ids[len(ids)-1-n.rng.IntN(min(len(ids), 5))]
	}
	return ids[n.rng.IntN(len(ids))]
}

// act performs an action in a process and in the model.
func (n *network) act(p process, a action) {
	n.t.Helper()
	if n.cluster && n.rng.IntN(6) == 0 {
		n.expire(n.rng.IntN(crowd))
	}
	n.history = append(n.history, a.String())
	got, err := p.do(a)
	if err != nil {
		n.t.Fatalf("%s: %v", a, err)
	}
	if want := n.model.expect(a); got.Error != want {
		n.fatalf("%s: %q, want %q", a, got.Error, want)
	}
	if got.Error == "" {
		n.model.apply(a, got.ID, true)
		n.history[len(n.history)-1] += fmt.Sprintf(" id=%d", got.ID)
	}
}

// expire removes a home timeline, as if it had expired.
func (n *network) expire(user int) {
	n.t.Helper()
	n.history = append(n.history, fmt.Sprintf("the home timeline of person %d expires", user))
	n.local[0].Redis("DEL", storage.HomeKey(n.local[0].people[user].ID))
	n.model.people[user].expired = true
}

func (n *network) fatalf(format string, args ...any) {
	n.t.Helper()
	n.t.Fatalf("after\n%s\n%s", strings.Join(n.history, "\n"), fmt.Sprintf(format, args...))
}

// verify compares a new process with the model and checks the database.
func (n *network) verify() {
	n.t.Helper()
	p := n.open()
	p.Clock.Unix.Store(n.model.now)
	n.compare(p)
	found := 0
	if _, err := p.Check(check.Options{Followers: 1000, Report: func(problem check.Problem) {
		found++
		n.t.Error(problem)
	}}); err != nil {
		n.t.Fatal(err)
	}
	if found > 0 {
		n.fatalf("check found %d problems", found)
	}
}

func (n *network) compare(p *localProcess) {
	n.t.Helper()
	wrong, err := n.model.differences(p.Ctx, p.App, p.people)
	if err != nil {
		n.t.Fatal(err)
	}
	if len(wrong) > 0 {
		n.fatalf("%s", strings.Join(wrong, "\n"))
	}
}

// After every few actions in a single process without kills, all viewers see the lists of the
// model.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	forEachSeed(t, redistest.Cases(100, 1000), func(t *testing.T, seed uint64) {
		n := newNetwork(t, redistest.DB(t).URL(), seed, 1)
		for range 10 {
			for range 15 {
				n.act(n.local[0], n.draw())
			}
			n.local[0].Clock.Unix.Store(n.model.now)
			n.compare(n.local[0])
		}
		n.verify()
	})
}
