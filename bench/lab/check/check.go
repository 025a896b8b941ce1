// Package check checks a history against the consistency guarantees of a site.
//
// A read may or may not show a write whose outcome is unknown or that Redis may have lost under the
// settings of the run. Any other acknowledged write must be visible: to its author at once, to other
// people within a bound, and to all people at the end.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"retwis/bench/lab/history"
)

// Bounds are the time limits that a site must keep.
type Bounds struct {
	// Quiet is the maximum staleness for other users when no faults are injected.
	Quiet time.Duration
	// Settle is the time after the end of a fault during which the fault still counts.
	Settle time.Duration
	// Fault is added to Quiet during faults.
	Fault time.Duration
	// Recovery is the time within which another process completes the work of a killed process.
	Recovery time.Duration
}

// Default are the bounds that CONTRIBUTING.md documents.
var Default = Bounds{Quiet: 3 * time.Second, Settle: 5 * time.Second, Fault: 75 * time.Second, Recovery: 130 * time.Second}

// The rules that a history can break.
const (
	Lost        = "lost"             // an acknowledged write is missing at the end
	Twice       = "twice"            // a post is duplicated on a list, or was written twice
	Order       = "order"            // a list is not sorted by ID
	OwnWrites   = "read your writes" // a person does not see their own change
	Stale       = "stale"            // others do not see a change in time
	Deleted     = "deleted"          // a deleted post is shown
	Blocked     = "blocked"          // a post is shown despite a block
	Unfollowed  = "unfollowed"       // a home timeline has a post by a person who is not followed
	SessionOpen = "session open"     // a session is still open after a log-out
	SessionLost = "session lost"     // a session was closed without a log-out
	Likes       = "likes"            // an impossible number of likes
	Foreign     = "foreign"          // a post that nobody wrote
)

// Violation is a broken rule.
type Violation struct {
	Rule string
	Text string
}

// Verdict is the result of a check.
type Verdict struct {
	Violations []Violation
	Judged     int // the number of comparisons between pages and the expected state
	// AtRisk counts the acknowledged writes that Redis may have lost, and Gone the posts among
	// those writes that Redis has lost.
	AtRisk, Gone int
}

// post holds what the history records about a post.
type post struct {
	text, author string
	parent       string
	id           int64
	exists       register
	likes        map[string]register
}

type pair struct{ from, to string }

type session struct {
	person string
	n      int
}

type checker struct {
	h        history.History
	b        Bounds
	windows  []window
	posts    map[string]*post
	byID     []*post // sorted by ID; an unknown ID is 0
	byAuthor map[string][]*post
	follows  map[pair]register
	blocks   map[pair]register
	sessions map[session]register
	verdict  Verdict
	count    map[string]int // violations by rule
}

// window is the duration of a fault plus the time to settle.
type window struct {
	start, end time.Duration
	fault      history.Fault
}

// Check checks a history against the bounds.
func Check(h history.History, b Bounds) Verdict {
	c := &checker{
		h: h, b: b, posts: map[string]*post{}, byAuthor: map[string][]*post{}, follows: map[pair]register{},
		blocks: map[pair]register{}, sessions: map[session]register{}, count: map[string]int{},
	}
	for _, f := range h.Faults {
		c.windows = append(c.windows, window{f.Start, f.End + b.Settle, f})
	}
	slices.SortFunc(c.windows, func(a, b window) int { return int(a.start - b.start) })
	slices.SortStableFunc(c.h.Ops, func(a, b history.Op) int { return int(a.Start - b.Start) })
	c.collect()
	c.identify()
	for _, op := range c.h.Ops {
		if op.Outcome == history.OK {
			c.read(op)
		}
	}
	c.neverSeen()
	return c.verdict
}

// maxPerRule limits the number of reported violations of each rule.
const maxPerRule = 20

func (c *checker) violate(op history.Op, rule, format string, args ...any) {
	if c.count[rule]++; c.count[rule] > maxPerRule {
		return
	}
	where := fmt.Sprintf("%s by %s at process %d, %.3f to %.3f s", op.Kind, op.Person, op.Process, op.Start.Seconds(), op.End.Seconds())
	if op.Other != "" {
		where = strings.Replace(where, " by ", " of "+op.Other+" by ", 1)
	}
	if op.Final {
		where += ", at the end"
	}
	c.verdict.Violations = append(c.verdict.Violations, Violation{rule, fmt.Sprintf(format, args...) + " (" + where + ")"})
}

// collect fills the registers from the writes of the history.
func (c *checker) collect() {
	for _, op := range c.h.Ops {
		if op.Outcome == history.Refused {
			continue
		}
		w := c.write(op)
		switch op.Kind {
		case history.Post, history.Reply:
			w.value = true
			p := &post{text: op.Text, author: op.Person, parent: op.Parent, exists: register{w}, likes: map[string]register{}}
			c.posts[op.Text] = p
			c.byAuthor[op.Person] = append(c.byAuthor[op.Person], p)
		case history.Delete:
			if p := c.posts[op.Text]; p != nil {
				p.exists = append(p.exists, w)
			}
		case history.Like, history.Unlike:
			w.value = op.Kind == history.Like
			w.promised = false
			if p := c.posts[op.Text]; p != nil {
				p.likes[op.Person] = append(p.likes[op.Person], w)
			}
		case history.Follow, history.Unfollow:
			w.value, w.promised = op.Kind == history.Follow, false
			key := pair{op.Person, op.Other}
			c.follows[key] = append(c.follows[key], w)
		case history.Block, history.Unblock:
			w.value, w.promised = op.Kind == history.Block, false
			key := pair{op.Person, op.Other}
			c.blocks[key] = append(c.blocks[key], w)
			if w.value { // a block ends both follows
				w.value = false
				for _, key := range []pair{{op.Person, op.Other}, {op.Other, op.Person}} {
					c.follows[key] = append(c.follows[key], w)
				}
			}
		case history.LogIn, history.LogOut:
			w.value, w.promised = op.Kind == history.LogIn, false
			key := session{op.Person, op.Session}
			c.sessions[key] = append(c.sessions[key], w)
		}
	}
}

// killGrace is the time after the response to a write during which the process may still have
// background work for the write, which is lost if the process is killed.
const killGrace = 10 * time.Second

func (c *checker) write(op history.Op) write {
	w := write{from: op.Start, end: op.End, to: op.End, acked: op.Outcome == history.OK, sure: op.Outcome == history.OK, person: op.Person, process: op.Process}
	w.due = op.End + c.b.Quiet
	survived := true
	for _, f := range c.windows {
		if f.start <= w.due && f.end >= op.Start {
			w.due = max(w.due, f.end+c.b.Quiet)
		}
		if f.fault.Killed != 0 && f.fault.Start >= op.Start && f.fault.Start <= op.End+killGrace {
			w.due = max(w.due, f.fault.Start+c.b.Recovery)
		}
		if f.fault.Killed == op.Process+1 && f.fault.Start >= op.Start && f.fault.Start <= op.End+c.b.Recovery {
			survived = false
		}
	}
	for _, f := range c.windows {
		if w.sure && f.fault.RiskTo > 0 && op.Start <= f.fault.RiskTo && op.End >= f.fault.RiskFrom {
			c.verdict.AtRisk++
			w.sure, w.promised = false, survived
			w.to = f.fault.End
		}
	}
	if !w.sure {
		w.to = max(w.to, op.End) + c.b.Recovery // the write can still take effect until then
		w.due = max(w.due, w.to)
	}
	w.hard = w.due + c.b.Fault
	return w
}

// identify finds the IDs of posts, and which of the posts with an unknown outcome exist.
func (c *checker) identify() {
	for _, op := range c.h.Ops {
		if op.Outcome != history.OK {
			continue
		}
		for _, seen := range op.Seen {
			p := c.posts[seen.Text]
			if p == nil || p.author != seen.Author {
				c.violate(op, Foreign, "post %d, %q by %s: nobody wrote it", seen.ID, seen.Text, seen.Author)
				continue
			}
			// A post that a failover loses may be published again.
			if p.id != 0 && p.id != seen.ID && !c.risky(p.exists[0]) {
				c.violate(op, Twice, "%q has two IDs, %d and %d", p.text, p.id, seen.ID)
			}
			p.id = seen.ID
			if w := &p.exists[0]; !w.sure && !w.promised && !c.risky(*w) && op.End < w.to {
				w.sure, w.late, w.to = true, true, max(w.from, op.End)
				w.due = max(w.due, w.to+c.b.Recovery)
				w.hard = w.due + c.b.Fault
			}
		}
	}
	for _, p := range c.posts {
		c.byID = append(c.byID, p)
	}
	slices.SortFunc(c.byID, func(a, b *post) int { return int(a.id - b.id) })
}

// risky reports whether Redis may have lost a write.
func (c *checker) risky(w write) bool {
	for _, f := range c.windows {
		if f.fault.RiskTo > 0 && w.from <= f.fault.RiskTo && w.end >= f.fault.RiskFrom {
			return true
		}
	}
	return false
}

// neverSeen finds posts that no page has ever shown, and counts the posts that Redis has lost.
func (c *checker) neverSeen() {
	complete := slices.ContainsFunc(c.h.Ops, func(op history.Op) bool { return op.Final && op.Outcome == history.OK })
	if !complete {
		return
	}
	for _, p := range c.posts {
		if p.id != 0 || len(p.exists) > 1 {
			continue
		}
		w := p.exists[0]
		op := history.Op{Kind: history.Post, Person: p.author, Process: w.process, Start: w.from, End: w.to}
		if w.sure || w.promised {
			c.violate(op, Lost, "%q was acknowledged, but no page has ever shown it", p.text)
		} else if w.acked {
			c.verdict.Gone++
		}
	}
}
