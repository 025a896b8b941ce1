package modeltest

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/storage"
)

// forEachSeed runs a test with n seeds. More cases mean more networks, not longer ones, because the
// model does not cover the limit on the length of timelines.
func forEachSeed(t *testing.T, n int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range uint64(n) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { run(t, seed) })
	}
}

// After actions in several processes, all viewers see the lists of the model, immediately in a new
// process and a moment later in the old processes.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	forEachSeed(t, redistest.Cases(2, 100), func(t *testing.T, seed uint64) {
		newNetwork(t, redistest.DB(t).URL(), 1000+seed, 3).actInLocalProcesses(8, 20)
	})
}

// TestCluster is like TestSeveralProcesses, on a Cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	forEachSeed(t, redistest.Cases(1, 50), func(t *testing.T, seed uint64) {
		newNetwork(t, redistest.Cluster(t, 3).URL(), 2000+seed, 2).actInLocalProcesses(3, 20)
	})
}

// actInLocalProcesses performs sequential and concurrent actions in all local processes and
// compares the processes with the model.
func (n *network) actInLocalProcesses(rounds, actions int) {
	n.t.Helper()
	for range rounds {
		for range actions {
			n.act(n.local[n.rng.IntN(len(n.local))], n.draw())
		}
		n.actConcurrently()
		n.verify()
		for _, p := range n.local {
			n.eventually(p)
		}
	}
}

// eventually waits until a process that has been running since the start agrees with the model.
// Counts can be up to a second old.
func (n *network) eventually(p *localProcess) {
	n.t.Helper()
	p.Clock.Unix.Store(n.model.now)
	for {
		wrong, err := n.model.differences(p.Ctx, p.App, p.people)
		if err != nil {
			n.t.Fatal(err)
		}
		if len(wrong) == 0 {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.Ctx.Done():
			n.fatalf("in a process that has been running since the start: %s", strings.Join(wrong, "\n"))
		}
	}
}

// actConcurrently performs one action of each person concurrently. The results of the actions do
// not depend on their order.
func (n *network) actConcurrently() {
	n.t.Helper()
	n.model.now++
	commutes := map[string]bool{"post": true, "reply": true, "repost": true, "like": true, "unlike": true, "bookmark": true}
	var actions []action
	for user := range crowd {
		a := n.draw()
		for !commutes[a.Kind] || a.User != user {
			a = n.draw()
		}
		actions = append(actions, a)
	}
	want, got := make([]string, crowd), make([]outcome, crowd)
	for i := range actions {
		actions[i].At = n.model.now
		want[i] = n.model.expect(actions[i])
		n.history = append(n.history, "at once: "+actions[i].String())
	}
	var wg sync.WaitGroup
	for i, a := range actions {
		p := n.local[i%len(n.local)]
		p.Clock.Unix.Store(n.model.now)
		wg.Go(func() { got[i] = perform(p.Ctx, p.App, p.people, a) })
	}
	wg.Wait()
	for i, a := range actions {
		if got[i].Error != want[i] {
			n.fatalf("%s: %q, want %q", a, got[i].Error, want[i])
		}
		if want[i] == "" {
			n.model.apply(a, got[i].ID, true)
		}
	}
}

// Processes are killed while they act. After another process has finished the pending tasks, an
// interrupted action has happened either completely or not at all.
//
// Timing decides what a kill interrupts, so no two runs are the same. TestKilledAtEveryStep of
// package posts kills after each command.
func TestKilled(t *testing.T) {
	t.Parallel()
	forEachSeed(t, redistest.Cases(2, 100), func(t *testing.T, seed uint64) {
		newNetwork(t, redistest.DB(t).URL(), 3000+seed, 1).actInChildProcesses(3, 12)
	})
}

func TestKilledOnCluster(t *testing.T) {
	t.Parallel()
	forEachSeed(t, redistest.Cases(1, 50), func(t *testing.T, seed uint64) {
		newNetwork(t, redistest.Cluster(t, 3).URL(), 4000+seed, 1).actInChildProcesses(2, 8)
	})
}

// maxLife is the maximum time after which an acting process is killed.
const maxLife = 3 * time.Millisecond

func (n *network) actInChildProcesses(processes, kills int) {
	n.t.Helper()
	children := make([]*childProcess, processes)
	for i := range children {
		children[i] = startChild(n.t, n.url)
	}
	happened, lost, done := 0, 0, 0
	for kill := range kills {
		for range 10 {
			n.act(children[n.rng.IntN(processes)], n.draw())
		}
		i := n.rng.IntN(processes)
		a := n.draw()
		for n.model.expect(a) != "" || a.isDecision() { // nothing shows whether a decision's notification was written
			a = n.draw()
		}
		n.act(children[i], action{Kind: "unlike", At: a.At, User: a.User, Other: a.Other, Post: 1_000_000}) // a no-op that lets the new child connect and load the people
		n.history = append(n.history, "killed: "+a.String())
		got, err := children[i].doAndDie(a, time.Duration(n.rng.Int64N(int64(maxLife))))
		children[i] = startChild(n.t, n.url)
		if err == nil {
			done++
			n.model.apply(a, got.ID, true)
			continue
		}
		if n.recover(a) {
			happened++
		} else {
			lost++
		}
		if kill%4 == 3 {
			n.verify()
		}
	}
	n.verify()
	n.t.Logf("%d kills: %d actions ended before the kill, %d happened nevertheless, %d did not happen", kills, done, happened, lost)
}

// recover finishes the tasks of a killed process, and reports whether the action of the process has
// happened.
func (n *network) recover(a action) bool {
	n.t.Helper()
	p := n.local[0]
	n.model.now += 600 // the claims of the killed process are stale
	p.Clock.Unix.Store(n.model.now)
	p.Eventually("the pending tasks to end", func() bool {
		if err := p.RetryTasks(p.Ctx); err != nil {
			n.fatalf("%s: RetryTasks: %v", a, err)
		}
		return p.Redis("EXISTS", "tasks") == "0"
	})
	id, ok := n.happened(p, a)
	n.history = append(n.history, fmt.Sprintf("the action has happened: %v id=%d", ok, id))
	if ok {
		homes := [2]map[int64]bool{maps.Clone(n.model.people[a.User].home), maps.Clone(n.model.people[a.Other].home)}
		followed := [2]bool{n.model.people[a.User].following[a.Other], n.model.people[a.Other].following[a.User]}
		followedTag := n.model.people[a.User].tags[a.Text]
		now := n.model.now
		n.model.apply(a, id, false)
		n.model.now = now
		if a.Kind == "unfollow" || a.Kind == "block" {
			n.keepPosts(p, a, a.User, a.Other, followed[0], homes[0])
			n.keepPosts(p, a, a.Other, a.User, followed[1], homes[1])
		}
		// If the tag was not followed, nothing shows whether the action has begun.
		if a.Kind == "unfollow tag" && !followedTag {
			n.keepPosts(p, a, a.User, a.Other, false, homes[0])
		}
	}
	if a.Kind == "edit" && !ok {
		n.addTagged(p, about(n.model, a))
	}
	if a.Kind == "follow" || a.Kind == "unfollow" || a.Kind == "block" || a.Kind == "unblock" {
		n.removeCleared(p, a.User, a.Other)
		n.removeCleared(p, a.Other, a.User)
	}
	return ok
}

// keepPosts restores in the model what an interrupted unfollow or block may leave: a follow, if the
// block had ended when another process took over, and, without a follow, posts that were on the
// home timeline because of a tag or because of the author of the parent post.
func (n *network) keepPosts(p *localProcess, a action, from, to int, followed bool, home map[int64]bool) {
	reader := n.model.people[from]
	if followed {
		if a.Kind != "block" || end(a) > n.model.now ||
			p.Redis("ZSCORE", storage.FollowingKey(p.people[from].ID), storage.Itoa(p.people[to].ID)) == "" {
			return
		}
		reader.following[to], n.model.people[to].followers[from] = true, true
	}
	current := n.home(p, from)
	for id := range home {
		if !n.model.posts[id].deleted && (followed || current[id]) {
			reader.home[id] = true
		}
	}
}

// about returns the post that an action is about: the original of a repost, unless the action
// deletes the repost.
func about(m *model, a action) *entry {
	p := m.posts[a.Post]
	if p != nil && p.repostOf != 0 && a.Kind != "delete" {
		p = m.posts[p.repostOf]
	}
	return p
}

// addTagged adds a post to the home timelines of the model if the database has the post on the
// timeline and the reader follows one of its tags. A retried edit that did not change the post
// still delivers the post to people who have followed the tag in the meantime.
func (n *network) addTagged(p *localProcess, post *entry) {
	for reader := range n.model.people {
		if n.model.isTagged(reader, post) && n.home(p, reader)[post.id] {
			n.model.people[reader].home[post.id] = true
		}
	}
}

// home reads the IDs of the posts on a home timeline.
func (n *network) home(p *localProcess, reader int) map[int64]bool {
	ids := map[int64]bool{}
	for text := range strings.FieldsSeq(p.Redis("LRANGE", storage.HomeKey(p.people[reader].ID), "0", "-1")) {
		id, _ := strconv.ParseInt(text, 10, 64)
		ids[id] = true
	}
	return ids
}

// removeCleared removes posts from a home timeline of the model if a task has removed the posts
// although its action has not happened. Only untagged posts of an author whom the person does not
// follow are removed.
func (n *network) removeCleared(p *localProcess, from, to int) {
	if n.model.people[from].following[to] {
		return
	}
	home := n.home(p, from)
	for id := range n.model.people[from].home {
		if post := n.model.posts[id]; post.author == to && !n.model.isTagged(from, post) && !home[id] {
			delete(n.model.people[from].home, id)
		}
	}
}

// happened reads from the database whether an action has happened, and the ID of its post.
func (n *network) happened(p *localProcess, a action) (int64, bool) {
	n.t.Helper()
	me, other := p.people[a.User].ID, p.people[a.Other].ID
	user, target, post := storage.Itoa(me), storage.Itoa(other), a.Post
	if original := about(n.model, a); original != nil {
		post = original.id
	}
	switch a.Kind {
	case "post", "reply", "repost":
		last, _ := strconv.ParseInt(p.Redis("GET", storage.NextPostID), 10, 64)
		for id := last; id > 0 && n.model.posts[id] == nil; id-- {
			if p.Redis("HGET", storage.PostKey(id), "user_id") == user && p.Redis("HEXISTS", storage.PostKey(id), "deleted") == "0" {
				return id, true
			}
		}
		entry, existed := int64(0), false
		if a.Kind == "repost" {
			entry, existed = n.model.posts[post].reposters[a.User]
		}
		return entry, existed // a repost that existed before
	case "unrepost":
		return 0, p.Redis("ZSCORE", storage.RepostersKey(post), user) == ""
	case "edit":
		return 0, p.Redis("HGET", storage.PostKey(post), "body") == a.Text
	case "delete":
		return 0, p.Redis("HEXISTS", storage.PostKey(post), "deleted") == "1"
	case "like":
		return 0, p.Redis("ZSCORE", storage.LikersKey(post), user) != ""
	case "unlike":
		return 0, p.Redis("ZSCORE", storage.LikersKey(post), user) == ""
	case "bookmark":
		return 0, p.Redis("ZSCORE", storage.BookmarksKey(me), storage.Itoa(post)) != ""
	case "unbookmark":
		return 0, p.Redis("ZSCORE", storage.BookmarksKey(me), storage.Itoa(post)) == ""
	case "follow":
		return 0, p.Redis("ZSCORE", storage.FollowingKey(me), target) != ""
	case "unfollow":
		return 0, p.Redis("ZSCORE", storage.FollowingKey(me), target) == ""
	case "mute":
		return 0, n.ends(p.Redis("ZSCORE", storage.MutedKey(me), target), a)
	case "unmute":
		return 0, p.Redis("ZSCORE", storage.MutedKey(me), target) == ""
	case "block":
		return 0, n.ends(p.Redis("ZSCORE", storage.BlockedKey(me), target), a) || n.blockEnded(p, a)
	case "unblock":
		return 0, p.Redis("ZSCORE", storage.BlockedKey(me), target) == ""
	case "follow tag":
		return 0, p.Redis("ZSCORE", storage.FollowingTagsKey(me), a.Text) != ""
	case "unfollow tag":
		return 0, p.Redis("ZSCORE", storage.FollowingTagsKey(me), a.Text) == ""
	}
	n.t.Fatalf("unknown action %q", a.Kind)
	return 0, false
}

// blockEnded reports whether a block has removed a follow and has then expired, so that the block
// left no other trace. A process that is killed between the task and the block leaves the same
// state.
func (n *network) blockEnded(p *localProcess, a action) bool {
	if a.Until == 0 || a.Until > n.model.now {
		return false
	}
	for _, follow := range [][2]int{{a.User, a.Other}, {a.Other, a.User}} {
		from, to := p.people[follow[0]].ID, p.people[follow[1]].ID
		if n.model.people[follow[0]].following[follow[1]] && p.Redis("ZSCORE", storage.FollowingKey(from), storage.Itoa(to)) == "" {
			return true
		}
	}
	return false
}

// ends reports whether the score of a mute or a block is the end that an action has set.
func (n *network) ends(score string, a action) bool {
	got, err := strconv.ParseFloat(score, 64)
	if a.Until == 0 {
		return err == nil && math.IsInf(got, 1)
	}
	return err == nil && got == float64(a.Until)
}
