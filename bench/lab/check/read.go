package check

import (
	"slices"
	"sort"
	"time"

	"retwis/bench/lab/history"
)

// reader judges one read.
type reader struct {
	*checker
	op     history.Op
	faulty bool // there is a fault, or was one a moment ago
	data   bool // one that disturbs Redis
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
		r.button()
	case history.Replies:
		r.order()
		r.list(c.byAuthor[op.Other])
	case history.Thread:
		r.list(c.replies(op.Text))
		if p := c.posts[op.Text]; p != nil && r.shown[op.Text].ID != 0 {
			r.mayShow(p)
		}
		r.mark()
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

// placed returns what is in its place on the page, without what stands above a reply to it.
func (r *reader) placed() []history.Seen {
	return slices.DeleteFunc(slices.Clone(r.op.Seen), func(s history.Seen) bool { return s.Moved })
}

// order checks that ids descend.
func (r *reader) order() {
	placed := r.placed()
	for i := 1; i < len(placed); i++ {
		a, b := placed[i-1], placed[i]
		switch {
		case a.ID == b.ID:
			r.violate(r.op, Twice, "post %d is on the page twice", a.ID)
		case a.ID < b.ID:
			r.violate(r.op, Order, "post %d is above post %d", a.ID, b.ID)
		}
	}
}

// others is when this reader must see the writes of other people.
func (r *reader) others(w write) time.Duration {
	switch {
	case r.op.Final:
		return w.to
	case r.faulty:
		return w.hard
	default:
		return w.due
	}
}

// own is when this reader must see a write that may be their own: at once, where the
// process is the same or the request has the cookie for fresh reads.
func (r *reader) own(w write) time.Duration {
	if w.person == r.op.Person && w.sure && !w.late && !r.data && (w.process == r.op.Process || r.op.Fresh) {
		return w.to
	}
	return r.others(w)
}

func (r *reader) at(reg register, see view) states {
	return reg.at(r.op.Start, r.op.End, see, r.op.Final)
}

// hidden returns whether two people are hidden from each other.
func (r *reader) hidden(other string, see view) states {
	if other == r.op.Person {
		return states{no: true}
	}
	a, b := r.at(r.blocks[pair{r.op.Person, other}], see), r.at(r.blocks[pair{other, r.op.Person}], see)
	return states{yes: a.yes || b.yes, no: a.no && b.no, since: max(a.since, b.since)}
}

// list checks which of some posts are on a page.
func (r *reader) list(candidates []*post) {
	lowest := int64(0)
	if !r.op.Complete {
		placed := r.placed()
		if len(placed) == 0 {
			return
		}
		lowest = placed[len(placed)-1].ID
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
			r.judge(p)
		}
	}
}

// judge checks whether one post is on a page, as it must be or must not be.
func (r *reader) judge(p *post) {
	_, shown := r.shown[p.text]
	if shown {
		r.mayShow(p)
		return
	}
	if (p.parent != "") != (r.op.Kind == history.Thread || r.op.Kind == history.Replies) {
		return // replies have lists of their own
	}
	if p.parent != "" && r.op.Folded {
		return // it may be among the replies that the page counts only
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
		r.violate(r.op, rule, "%q of %s, post %d, is missing; acknowledged at %.3f s", p.text, p.author, p.id, p.exists[0].to.Seconds())
	}
}

const (
	// listed is how many posts a home timeline has at least before it loses the oldest.
	listed = 1000
	// share is how many posts of one author the public timeline has.
	share = 25
)

// mayHaveLeft reports whether there are so many newer posts that this one may have left
// the list of a page.
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
		return n >= share
	case history.Home:
		for _, other := range r.byID {
			of := pair{r.op.Person, other.author}
			if newer(other) && (other.author == r.op.Person || len(r.follows[of]) > 0) {
				n++
			}
		}
		return n >= listed
	}
	return false
}

// filled is how many posts of a person a new follow certainly brings to the home timeline.
const filled = 90

// must reports whether a post must be on the page.
func (r *reader) must(p *post) bool {
	if !r.at(p.exists, r.own).must() || !r.hidden(p.author, r.own).mustNot() {
		return false
	}
	if r.op.Kind != history.Home || p.author == r.op.Person {
		return true
	}
	// The timeline is written in the background when people follow and stop to follow.
	seeOthers := r.own
	if !r.op.Final {
		seeOthers = func(w write) time.Duration { return max(r.own(w), min(r.others(w), r.own(w)+r.b.Quiet)) }
	}
	follows := r.at(r.follows[pair{r.op.Person, p.author}], seeOthers)
	return follows.must() && (follows.since <= p.exists[0].from || r.after(p, follows.since) < filled)
}

// after counts the posts of an author that came after one of them, up to a time.
func (r *reader) after(p *post, until time.Duration) (n int) {
	for _, other := range r.byAuthor[p.author] {
		if other.id > p.id && other.exists[0].from < until {
			n++
		}
	}
	return n
}

// mayShow checks that a post on the page may be there.
func (r *reader) mayShow(p *post) {
	r.verdict.Judged++
	if r.at(p.exists, r.own).mustNot() {
		r.violate(r.op, Deleted, "%q of %s, post %d, is shown; deleted at %.3f s", p.text, p.author, p.id, p.exists[len(p.exists)-1].to.Seconds())
		return
	}
	if hidden := r.hidden(p.author, r.own); hidden.must() {
		r.violate(r.op, Blocked, "%q of %s, post %d, is shown across a block of %.3f s", p.text, p.author, p.id, hidden.since.Seconds())
		return
	}
	if r.op.Kind == history.Home && p.author != r.op.Person && p.parent == "" {
		if follows := r.at(r.follows[pair{r.op.Person, p.author}], r.others); follows.mustNot() {
			r.violate(r.op, Unfollowed, "%q of %s, post %d, is shown; not followed since %.3f s", p.text, p.author, p.id, follows.since.Seconds())
		}
	}
}

// button checks whether a profile says that the reader follows its owner.
func (r *reader) button() {
	if !r.op.Signed || r.op.Person == r.op.Other || !r.hidden(r.op.Other, r.own).mustNot() {
		return
	}
	follows := r.at(r.follows[pair{r.op.Person, r.op.Other}], r.own)
	r.verdict.Judged++
	if r.op.Following && follows.mustNot() || !r.op.Following && follows.must() {
		rule := OwnWrites
		if r.op.Final {
			rule = Lost
		}
		r.violate(r.op, rule, "the button says following=%v; changed at %.3f s", r.op.Following, follows.since.Seconds())
	}
}

// mark checks whether a post is marked as one that the reader likes.
func (r *reader) mark() {
	p, seen := r.posts[r.op.Text], r.shown[r.op.Text]
	if p == nil || seen.ID == 0 || !r.op.Signed {
		return
	}
	r.verdict.Judged++
	likes := r.at(p.likes[r.op.Person], r.own)
	if seen.Liked && likes.mustNot() || !seen.Liked && likes.must() {
		rule := OwnWrites
		if r.op.Final {
			rule = Lost
		}
		r.violate(r.op, rule, "%q is marked liked=%v; changed at %.3f s", p.text, seen.Liked, likes.since.Seconds())
	}
}

// likes checks the numbers of likes in the end.
func (r *reader) likes() {
	for _, seen := range r.op.Seen {
		p := r.posts[seen.Text]
		if p == nil {
			continue
		}
		least, most := 0, 0
		for _, reg := range p.likes {
			s := r.at(reg, r.others)
			if s.must() {
				least++
			}
			if s.yes {
				most++
			}
		}
		if seen.Likes < least || seen.Likes > most {
			r.violate(r.op, Likes, "%q has %d likes, not %d to %d", p.text, seen.Likes, least, most)
		}
	}
}

// session checks whether a session is open.
func (r *reader) session() {
	state := r.at(r.sessions[session{r.op.Person, r.op.Session}], r.own)
	r.verdict.Judged++
	switch {
	case r.op.Signed && state.mustNot() && state.since > 0:
		r.violate(r.op, SessionOpen, "session %d is open; ended at %.3f s", r.op.Session, state.since.Seconds())
	case !r.op.Signed && state.must():
		r.violate(r.op, SessionLost, "session %d is closed; opened at %.3f s", r.op.Session, state.since.Seconds())
	}
}
