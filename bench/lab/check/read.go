package check

import (
	"slices"
	"sort"
	"time"

	"retwis/bench/lab/history"
)

// reader checks one read.
type reader struct {
	*checker
	op     history.Op
	faulty bool // the read overlaps the window of a fault
	data   bool // such a fault disturbs Redis
	shown  map[string]history.Seen
}

// read checks what an operation has shown.
func (c *checker) read(op history.Op) {
	r := &reader{checker: c, op: op, shown: map[string]history.Seen{}}
	if !op.Final {
		for _, w := range c.windows {
			if w.start <= op.End && op.Start <= w.end {
				r.faulty, r.data = true, r.data || w.fault.Data
			}
		}
	}
	for _, seen := range op.Seen {
		r.shown[seen.Text] = seen
	}
	switch op.Kind {
	case history.Home, history.Timeline:
		r.order()
		r.list(c.byID)
	case history.Profile:
		r.order()
		r.list(c.byAuthor[op.Other])
		r.followButton()
	case history.Replies:
		r.order()
		r.list(c.byAuthor[op.Other])
	case history.Thread:
		r.list(c.replies(op.Text))
		if p := c.posts[op.Text]; p != nil && r.shown[op.Text].ID != 0 {
			r.mayShow(p)
		}
		r.likeMark()
	case history.Session:
		r.session()
	}
	if op.Final {
		r.likes()
	}
}

func (c *checker) replies(parent string) []*post {
	var found []*post
	for _, p := range c.posts {
		if p.parent == parent {
			found = append(found, p)
		}
	}
	return found
}

// inOrder returns the posts of the page in list order, except parents that are shown above a reply.
func (r *reader) inOrder() []history.Seen {
	return slices.DeleteFunc(slices.Clone(r.op.Seen), func(s history.Seen) bool { return s.Moved })
}

// order checks that IDs descend.
func (r *reader) order() {
	posts := r.inOrder()
	for i := 1; i < len(posts); i++ {
		a, b := posts[i-1], posts[i]
		switch {
		case a.ID == b.ID:
			r.violate(r.op, Twice, "post %d is twice on the page", a.ID)
		case a.ID < b.ID:
			r.violate(r.op, Order, "post %d is above post %d", a.ID, b.ID)
		}
	}
}

// dueForOthers returns when this reader must see a write by another person.
func (r *reader) dueForOthers(w write) time.Duration {
	switch {
	case r.op.Final:
		return w.to
	case r.faulty:
		return w.hard
	default:
		return w.due
	}
}

// due returns when this reader must see a write. Their own writes must be visible at once to the
// same process, and to requests with the cookie for fresh reads.
func (r *reader) due(w write) time.Duration {
	if w.person == r.op.Person && w.sure && !w.late && !r.data && (w.process == r.op.Process || r.op.Fresh) {
		return w.to
	}
	return r.dueForOthers(w)
}

func (r *reader) at(reg register, see view) states {
	return reg.at(r.op.Start, r.op.End, see, r.op.Final)
}

// hidden returns whether a block hides the reader and another person from each other.
func (r *reader) hidden(other string, see view) states {
	if other == r.op.Person {
		return states{no: true}
	}
	a, b := r.at(r.blocks[pair{r.op.Person, other}], see), r.at(r.blocks[pair{other, r.op.Person}], see)
	return states{yes: a.yes || b.yes, no: a.no && b.no, since: max(a.since, b.since)}
}

// list checks which of the candidates are on the page.
func (r *reader) list(candidates []*post) {
	lowest := int64(0)
	if !r.op.Complete {
		posts := r.inOrder()
		if len(posts) == 0 {
			return
		}
		lowest = posts[len(posts)-1].ID
		if r.op.Kind == history.Thread {
			lowest = 0
		}
	}
	from := 0
	if r.op.Kind == history.Home || r.op.Kind == history.Timeline {
		from = sort.Search(len(candidates), func(i int) bool { return candidates[i].id >= lowest })
	}
	for _, p := range candidates[from:] {
		if p.id >= lowest && p.exists[0].from < r.op.End {
			r.check(p)
		}
	}
}

// check checks that a post is on the page if it must be, and not on the page if it must not be.
func (r *reader) check(p *post) {
	_, shown := r.shown[p.text]
	if shown {
		r.mayShow(p)
		return
	}
	if (p.parent != "") != (r.op.Kind == history.Thread || r.op.Kind == history.Replies) {
		return // replies have separate lists
	}
	if p.parent != "" && r.op.Folded {
		return // the page may count this reply without showing it
	}
	if r.must(p) && !r.mayHaveLeft(p) {
		r.verdict.Judged++
		rule := Stale
		switch {
		case r.op.Final:
			rule = Lost
		case p.author == r.op.Person:
			rule = OwnWrites
		}
		r.violate(r.op, rule, "%q by %s, post %d, is missing; acknowledged at %.3f s", p.text, p.author, p.id, p.exists[0].to.Seconds())
	}
}

const (
	// homeLength is the minimum number of posts that a home timeline keeps.
	homeLength = 1000
	// maxPerAuthor is the number of posts by one author that the public timeline keeps.
	maxPerAuthor = 25
)

// mayHaveLeft reports whether newer posts may have pushed p off the list.
func (r *reader) mayHaveLeft(p *post) bool {
	newer := func(other *post) bool { return other.id > p.id && other.exists[0].from < r.op.End }
	n := 0
	switch r.op.Kind {
	case history.Timeline:
		for _, other := range r.byAuthor[p.author] {
			if newer(other) && other.parent == "" {
				n++
			}
		}
		return n >= maxPerAuthor
	case history.Home:
		for _, other := range r.byID {
			follow := pair{r.op.Person, other.author}
			if newer(other) && (other.author == r.op.Person || len(r.follows[follow]) > 0) {
				n++
			}
		}
		return n >= homeLength
	}
	return false
}

// backfill is the minimum number of existing posts that a new follow adds to the home timeline.
const backfill = 90

// must reports whether a post must be on the page.
func (r *reader) must(p *post) bool {
	if !r.at(p.exists, r.due).must() || !r.hidden(p.author, r.due).mustNot() {
		return false
	}
	if r.op.Kind != history.Home || p.author == r.op.Person {
		return true
	}
	// A follow or unfollow updates the home timeline in the background.
	dueOnHome := r.due
	if !r.op.Final {
		dueOnHome = func(w write) time.Duration { return max(r.due(w), min(r.dueForOthers(w), r.due(w)+r.b.Quiet)) }
	}
	follows := r.at(r.follows[pair{r.op.Person, p.author}], dueOnHome)
	return follows.must() && (follows.since <= p.exists[0].from || r.countNewer(p, follows.since) < backfill)
}

// countNewer counts the posts that the author of p wrote after p and before until.
func (r *reader) countNewer(p *post, until time.Duration) (n int) {
	for _, other := range r.byAuthor[p.author] {
		if other.id > p.id && other.exists[0].from < until {
			n++
		}
	}
	return n
}

// mayShow checks that a post on the page may be shown.
func (r *reader) mayShow(p *post) {
	r.verdict.Judged++
	if r.at(p.exists, r.due).mustNot() {
		r.violate(r.op, Deleted, "%q by %s, post %d, is shown; deleted at %.3f s", p.text, p.author, p.id, p.exists[len(p.exists)-1].to.Seconds())
		return
	}
	if hidden := r.hidden(p.author, r.due); hidden.must() {
		r.violate(r.op, Blocked, "%q by %s, post %d, is shown; blocked at %.3f s", p.text, p.author, p.id, hidden.since.Seconds())
		return
	}
	if r.op.Kind == history.Home && p.author != r.op.Person && p.parent == "" {
		if follows := r.at(r.follows[pair{r.op.Person, p.author}], r.dueForOthers); follows.mustNot() {
			r.violate(r.op, Unfollowed, "%q by %s, post %d, is shown; not followed since %.3f s", p.text, p.author, p.id, follows.since.Seconds())
		}
	}
}

// followButton checks that a profile shows whether the reader follows its owner.
func (r *reader) followButton() {
	if !r.op.Signed || r.op.Person == r.op.Other || !r.hidden(r.op.Other, r.due).mustNot() {
		return
	}
	follows := r.at(r.follows[pair{r.op.Person, r.op.Other}], r.due)
	r.verdict.Judged++
	if r.op.Following && follows.mustNot() || !r.op.Following && follows.must() {
		rule := OwnWrites
		if r.op.Final {
			rule = Lost
		}
		r.violate(r.op, rule, "the profile shows following=%v; changed at %.3f s", r.op.Following, follows.since.Seconds())
	}
}

// likeMark checks that a post shows whether the reader likes it.
func (r *reader) likeMark() {
	p, seen := r.posts[r.op.Text], r.shown[r.op.Text]
	if p == nil || seen.ID == 0 || !r.op.Signed {
		return
	}
	r.verdict.Judged++
	likes := r.at(p.likes[r.op.Person], r.due)
	if seen.Liked && likes.mustNot() || !seen.Liked && likes.must() {
		rule := OwnWrites
		if r.op.Final {
			rule = Lost
		}
		r.violate(r.op, rule, "%q shows liked=%v; changed at %.3f s", p.text, seen.Liked, likes.since.Seconds())
	}
}

// likes checks the number of likes of each post in a final read.
func (r *reader) likes() {
	for _, seen := range r.op.Seen {
		p := r.posts[seen.Text]
		if p == nil {
			continue
		}
		low, high := 0, 0
		for _, reg := range p.likes {
			s := r.at(reg, r.dueForOthers)
			if s.must() {
				low++
			}
			if s.yes {
				high++
			}
		}
		if seen.Likes < low || seen.Likes > high {
			r.violate(r.op, Likes, "%q has %d likes, want %d to %d", p.text, seen.Likes, low, high)
		}
	}
}

// session checks that a session is open or closed as expected.
func (r *reader) session() {
	state := r.at(r.sessions[session{r.op.Person, r.op.Session}], r.due)
	r.verdict.Judged++
	switch {
	case r.op.Signed && state.mustNot() && state.since > 0:
		r.violate(r.op, SessionOpen, "session %d is open; ended at %.3f s", r.op.Session, state.since.Seconds())
	case !r.op.Signed && state.must():
		r.violate(r.op, SessionLost, "session %d is closed; opened at %.3f s", r.op.Session, state.since.Seconds())
	}
}
