package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/social/text"
)

// forever is the end of a mute or a block without an end.
const forever = int64(1) << 60

// entry is a post, a reply or a repost in the model.
type entry struct {
	id, parent, root, repostOf int64
	author                     int
	text                       string
	at                         int64
	edits                      []string // earlier texts, latest first
	deleted                    bool
	hidden                     bool          // by a moderator
	likers                     map[int]int64 // since when
	reposters                  map[int]int64 // with the ID of the repost
}

// person is a person in the model.
type person struct {
	following, followers map[int]bool
	muted, blocked       map[int]int64 // until when
	tags                 map[string]bool
	home                 map[int64]bool
	expired              bool            // on a Cluster: the home timeline does not exist
	saved                map[int64]int64 // since when
	notified             map[notice]certainty
	notices              int            // number of notifications that were written
	number               map[notice]int // number of each notification; the last has the number notices
	decisions            map[string]int // how often each was made about the person
}

// notice is a notification.
type notice struct {
	kind  string
	actor int
	post  int64
}

// certainty tells how certainly a notification was written. A notification can be lost with a
// killed process, and a process may not have learned yet that another process has muted the actor.
type certainty int

const (
	maybe certainty = iota + 1
	surely
)

// model is an in-memory model of Retwis.
type model struct {
	now        int64
	people     []*person
	posts      map[int64]*entry
	everHidden map[[2]int]bool // pairs in which the first person has ever muted or blocked, or been blocked by, the second
}

func newModel(people int) *model {
	m := &model{posts: map[int64]*entry{}, everHidden: map[[2]int]bool{}}
	for range people {
		m.people = append(m.people, &person{
			following: map[int]bool{}, followers: map[int]bool{}, muted: map[int]int64{}, blocked: map[int]int64{},
			tags: map[string]bool{}, home: map[int64]bool{}, saved: map[int64]int64{}, notified: map[notice]certainty{}, number: map[notice]int{}, decisions: map[string]int{},
		})
	}
	return m
}

// hides reports whether either of two people has blocked the other.
func (m *model) hides(a, b int) bool {
	return a >= 0 && (m.people[a].blocked[b] > m.now || m.people[b].blocked[a] > m.now)
}

// mutes reports whether a person has muted another.
func (m *model) mutes(a, b int) bool { return a >= 0 && m.people[a].muted[b] > m.now }

// find returns the post that a person acts on: the given one or the original of a repost, or nil if
// there is none that the person may see.
func (m *model) find(user int, id int64) *entry {
	p := m.posts[id]
	if p == nil || p.isGone(user) || m.hides(user, p.author) {
		return nil
	}
	if p.repostOf != 0 {
		return m.find(user, p.repostOf)
	}
	return p
}

// expect returns the expected error of an action.
func (m *model) expect(a action) string {
	m.now = a.At
	p := m.posts[a.Post]
	switch a.Kind {
	case "reply", "repost", "like", "bookmark":
		if m.find(a.User, a.Post) == nil {
			return "not found"
		}
	case "unrepost":
		if p == nil || p.deleted {
			return "not found"
		}
	case "edit":
		if p != nil && !p.deleted && p.author == a.User && p.repostOf != 0 {
			p = m.posts[p.repostOf]
		}
		return m.authorError(a.User, p, false)
	case "delete":
		return m.authorError(a.User, p, true)
	case "follow":
		if m.hides(a.User, a.Other) {
			return "blocked"
		}
	case "hide", "unhide":
		if p == nil || p.deleted {
			return "not found"
		}
	}
	return ""
}

// isGone reports whether a post is deleted, or hidden from a person.
func (p *entry) isGone(user int) bool { return p.deleted || p.hidden && p.author != user }

// authorError returns the error of an action that only the author of a post may perform.
// allowDeleted is set for deletions, which the author may repeat.
func (m *model) authorError(user int, p *entry, allowDeleted bool) string {
	switch {
	case p == nil, p.deleted && !(allowDeleted && p.author == user), p.hidden && p.author != user, m.hides(user, p.author):
		return "not found"
	case p.author != user:
		return "not the author"
	}
	return ""
}

// apply applies an action that succeeded. sure tells whether the notifications were certainly
// written.
func (m *model) apply(a action, id int64, sure bool) {
	m.now = a.At
	me := m.people[a.User]
	original := m.posts[a.Post]
	if original != nil && original.repostOf != 0 && a.Kind != "delete" && !a.isDecision() {
		original = m.posts[original.repostOf]
	}
	switch a.Kind {
	case "hide", "unhide":
		if hide := a.Kind == "hide"; original.hidden != hide {
			original.hidden = hide
			m.people[original.author].decisions[a.Kind]++
		}
	case "post", "reply":
		p := &entry{id: id, author: a.User, text: a.Text, at: a.At}
		if a.Kind == "reply" {
			p.parent, p.root = original.id, original.id
			if original.root != 0 {
				p.root = original.root
			}
		}
		m.publish(p)
		m.noticePost(p, nil, sure)
	case "repost":
		if m.posts[id] != nil {
			return // the repost existed
		}
		original.reposters[a.User] = id
		m.publish(&entry{id: id, author: a.User, repostOf: original.id, at: a.At})
		m.notify(original.author, notice{"repost", a.User, original.id}, sure)
	case "unrepost":
		if entry, ok := original.reposters[a.User]; ok {
			m.remove(m.posts[entry])
			m.unnotify(original.author, notice{"repost", a.User, original.id}, sure)
		}
	case "edit":
		if original.text == a.Text {
			return
		}
		var before []string // mentions in all earlier texts
		original.edits = slices.Insert(original.edits, 0, original.text)
		for _, earlier := range original.edits {
			before = append(before, text.Mentions(earlier)...)
		}
		for _, name := range text.Mentions(original.text) {
			if to := m.named(name); to >= 0 && !slices.Contains(text.Mentions(a.Text), name) {
				m.unnotify(to, notice{"mention", a.User, original.id}, sure)
			}
		}
		original.text = a.Text
		m.noticePost(original, before, sure)
		for _, tag := range text.Tags(a.Text) {
			m.deliverTagged(tag, original.id)
		}
	case "delete":
		if original.repostOf != 0 && !original.deleted {
			m.unnotify(m.posts[original.repostOf].author, notice{"repost", a.User, original.repostOf}, sure)
		}
		m.remove(original)
	case "like":
		if _, ok := original.likers[a.User]; !ok {
			original.likers[a.User] = a.At
			m.notify(original.author, notice{"like", a.User, original.id}, sure)
		}
	case "unlike":
		if original == nil {
			return
		}
		if _, ok := original.likers[a.User]; ok {
			delete(original.likers, a.User)
			m.unnotify(original.author, notice{"like", a.User, original.id}, sure)
		}
	case "bookmark":
		if _, ok := me.saved[original.id]; !ok {
			me.saved[original.id] = a.At
		}
	case "unbookmark":
		if original != nil {
			delete(me.saved, original.id)
		}
	case "follow":
		m.follow(a.User, a.Other, sure)
	case "unfollow":
		if me.following[a.Other] {
			m.unnotify(a.Other, notice{"follow", a.User, 0}, sure)
		}
		m.unfollow(a.User, a.Other)
	case "mute":
		me.muted[a.Other] = end(a)
		m.everHidden[[2]int{a.User, a.Other}] = true
	case "unmute":
		delete(me.muted, a.Other)
	case "block":
		me.blocked[a.Other] = end(a)
		m.everHidden[[2]int{a.User, a.Other}], m.everHidden[[2]int{a.Other, a.User}] = true, true
		m.unfollow(a.User, a.Other)
		m.unfollow(a.Other, a.User)
	case "unblock":
		delete(me.blocked, a.Other)
	case "follow tag":
		me.tags[a.Text] = true
		latest := m.ids(func(p *entry) bool { return !p.deleted && slices.Contains(text.Tags(p.text), a.Text) })
		for _, id := range latest[:min(fillCount, len(latest))] {
			me.home[id] = true
		}
	case "unfollow tag":
		delete(me.tags, a.Text)
	}
}

func end(a action) int64 {
	if a.Until == 0 {
		return forever
	}
	return a.Until
}

// rebuild rebuilds an expired home timeline from the current state.
func (m *model) rebuild(viewer int) {
	me := m.people[viewer]
	me.home, me.expired = map[int64]bool{}, false
	for id, p := range m.posts {
		if !p.deleted && (m.isByFollowed(viewer, p) || m.isTagged(viewer, p)) {
			me.home[id] = true
		}
	}
}

// isByFollowed reports whether a post is by the viewer, or by a person whom the viewer follows and
// not a reply to a person whom the viewer does not follow.
func (m *model) isByFollowed(viewer int, p *entry) bool {
	me := m.people[viewer]
	if p.author == viewer || !me.following[p.author] {
		return p.author == viewer
	}
	if p.parent == 0 {
		return true
	}
	to := m.posts[p.parent].author
	return to == p.author || to == viewer || me.following[to]
}

// publish adds a new post to the model and to home timelines.
func (m *model) publish(p *entry) {
	p.likers, p.reposters = map[int]int64{}, map[int]int64{}
	m.posts[p.id] = p
	m.people[p.author].home[p.id] = true
	for i := range m.people[p.author].followers {
		reader := m.people[i]
		if p.parent != 0 {
			to := m.posts[p.parent].author
			if to != p.author && to != i && !reader.following[to] {
				continue
			}
		}
		reader.home[p.id] = true
	}
	for _, tag := range text.Tags(p.text) {
		m.deliverTagged(tag, p.id)
	}
}

// deliverTagged adds a post to the home timelines of the followers of a tag.
func (m *model) deliverTagged(tag string, id int64) {
	for _, reader := range m.people {
		if reader.tags[tag] {
			reader.home[id] = true
		}
	}
}

// remove deletes a post, and its reposts.
func (m *model) remove(p *entry) {
	if p.deleted {
		return
	}
	p.deleted, p.text, p.edits = true, "", nil
	if p.repostOf != 0 {
		delete(m.posts[p.repostOf].reposters, p.author)
	}
	for _, entry := range p.reposters {
		m.remove(m.posts[entry])
	}
	p.likers = map[int]int64{}
}

// fillCount is the number of posts that following a person or a tag adds to a home timeline.
const fillCount = 100

func (m *model) follow(from, to int, sure bool) {
	if !m.people[from].following[to] {
		m.people[from].following[to], m.people[to].followers[from] = true, true
		n := notice{"follow", from, 0}
		m.unnotify(to, n, sure) // for a follow that a block has ended
		m.notify(to, n, sure)
	}
	latest := m.ids(func(p *entry) bool { return p.author == to && p.parent == 0 })
	for _, id := range latest[:min(fillCount, len(latest))] {
		m.people[from].home[id] = true
	}
}

func (m *model) unfollow(from, to int) {
	delete(m.people[from].following, to)
	delete(m.people[to].followers, from)
}

// isTagged reports whether a post has a tag that a person follows.
func (m *model) isTagged(user int, p *entry) bool {
	for _, tag := range text.Tags(p.text) {
		if m.people[user].tags[tag] {
			return true
		}
	}
	return false
}

// noticePost notifies the author of the parent of a new reply, and people whom a post newly
// mentions. before lists the mentions in earlier texts.
func (m *model) noticePost(p *entry, before []string, sure bool) {
	parent := -1
	if p.parent != 0 && len(p.edits) == 0 {
		parent = m.posts[p.parent].author
		m.notify(parent, notice{"reply", p.author, p.id}, sure)
	}
	for _, name := range text.Mentions(p.text) {
		if to := m.named(name); to >= 0 && to != parent && !slices.Contains(before, name) {
			m.notify(to, notice{"mention", p.author, p.id}, sure)
		}
	}
}

// named returns the person with a name, or -1.
func (m *model) named(name string) int {
	var person int
	if _, err := fmt.Sscanf(name, "person%d", &person); err != nil || person >= len(m.people) {
		return -1
	}
	return person
}

func (m *model) notify(to int, n notice, sure bool) {
	if to == n.actor {
		return
	}
	person := m.people[to]
	person.notices++
	person.number[n] = person.notices
	all := person.notified
	switch {
	case !sure, m.everHidden[[2]int{to, n.actor}], all[n] == maybe, n.kind == "mention" && all[n] != 0: // two notifications may exist
		all[n] = max(all[n], maybe)
	default:
		all[n] = surely
	}
}

func (m *model) unnotify(to int, n notice, sure bool) {
	all := m.people[to].notified
	// Notifications have the time of the server, not of the model, so only new notifications are
	// found.
	if isNew := m.people[to].notices-m.people[to].number[n] < 50; sure && isNew && all[n] != maybe {
		delete(all, n)
	} else if all[n] != 0 {
		all[n] = maybe
	}
}

// ids returns the IDs of the posts that are not deleted and for which ok returns true, latest
// first.
func (m *model) ids(ok func(p *entry) bool) []int64 {
	var ids []int64
	for id, p := range m.posts {
		if !p.deleted && ok(p) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// byTime returns the keys of a map, latest first, with ties in Redis's order.
func byTime[K int | int64](since map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(since), func(a, b K) int {
		if since[a] != since[b] {
			return int(since[b] - since[a])
		}
		return -strings.Compare(strconv.FormatInt(int64(a), 10), strconv.FormatInt(int64(b), 10))
	})
}
