package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"

	"retwis/internal/social/text"
)

// MaxDecisions is the maximum number of blocked and pinned tags.
const MaxDecisions = 1000

// State is a moderator's decision about a tag.
type State string

// The states.
const (
	Usual   State = ""
	Blocked State = "blocked" // never a trend, and never suggested
	Pinned  State = "pinned"  // comes first
)

// Decision is a blocked or pinned tag.
type Decision struct {
	Tag   string
	State State
	Since time.Time // in milliseconds; determines the order of pinned tags
}

// stored returns the stored form of the decision; see parseDecision.
func (d Decision) stored() string { return string(d.State) + " " + storage.Itoa(d.Since.UnixMilli()) }

// parseDecision parses the stored form. ok is false if the stored form is damaged.
func parseDecision(tag, stored string) (d Decision, ok bool) {
	state, since, _ := strings.Cut(stored, " ")
	ms, _ := strconv.ParseInt(since, 10, 64)
	return Decision{Tag: tag, State: State(state), Since: time.UnixMilli(ms).UTC()}, IsDecision(tag, stored)
}

// IsDecision reports whether tag is a tag and stored is a valid decision about it.
func IsDecision(tag, stored string) bool {
	folded, ok := text.FoldTag(tag)
	state, since, _ := strings.Cut(stored, " ")
	_, err := strconv.ParseInt(since, 10, 64)
	return ok && folded == tag && err == nil && (State(state) == Blocked || State(state) == Pinned)
}

// Decisions are all decisions, sorted: pinned tags first, in the order in which they were pinned,
// then blocked tags by name. Decisions are immutable.
type Decisions []Decision

// same reports whether both come from the same read.
func (d Decisions) same(other Decisions) bool {
	return len(d) == len(other) && (len(d) == 0 || &d[0] == &other[0])
}

// compareDecisions compares two decisions in the order of Decisions.
func compareDecisions(a, b Decision) int {
	if a.State != b.State {
		return -cmp.Compare(a.State, b.State)
	}
	if a.State == Pinned {
		if order := a.Since.Compare(b.Since); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.Tag, b.Tag)
}

// Of returns the decision about a tag.
func (d Decisions) Of(tag string) State {
	for _, decision := range d {
		if decision.Tag == tag {
			return decision.State
		}
	}
	return Usual
}

// blocked returns the blocked tags.
func (d Decisions) blocked() map[string]bool {
	tags := map[string]bool{}
	for _, decision := range d {
		if decision.State == Blocked {
			tags[decision.Tag] = true
		}
	}
	return tags
}

// TrendRules are the moderators' decisions about tags. They are safe for concurrent use.
//
// The decisions are stored in one hash rather than as records of package model: a page of trends
// needs all of them, and reads the hash with one command, whose reply stays in memory until the
// hash changes.
type TrendRules struct {
	db    storage.Database
	users *storage.Users
	audit *audit.Log
	now   func() time.Time

	kept *storage.Kept[Decisions]
}

// NewTrendRules returns the rules of a database.
func NewTrendRules(db storage.Database, people *storage.Users, log *audit.Log, now func() time.Time) *TrendRules {
	r := &TrendRules{db: db, users: people, audit: log, now: now}
	r.kept = storage.NewKept(db, storage.TrendTags, r.load)
	return r
}

// All returns the blocked and pinned tags, bypassing all caches. One round trip.
func (r *TrendRules) All(ctx context.Context) (Decisions, error) {
	return r.load(social.WithFresh(ctx))
}

// Blocked returns the blocked tags. No round trip while nothing has changed.
func (r *TrendRules) Blocked(ctx context.Context) (map[string]bool, error) {
	all, err := r.read(ctx)
	return all.blocked(), err
}

// Set blocks, unblocks, pins or unpins a tag. The tag can be given in any spelling, with or without
// #. Set reports whether anything changed; only changes are in the audit log. It returns
// ErrForbidden unless the actor is a moderator, ErrNotFound if tag is not a valid tag, and
// *InvalidError if the note is too long or there are too many decisions. Four round trips.
func (r *TrendRules) Set(ctx context.Context, actor social.Actor, tag string, state State, note string) (changed bool, err error) {
	folded, ok := text.FoldTag(strings.TrimSpace(tag))
	if !ok {
		return false, social.ErrNotFound
	}
	if err := r.users.Require(ctx, actor, social.Moderator); err != nil {
		return false, err
	}
	all, err := r.All(ctx)
	before := all.Of(folded)
	switch {
	case err != nil:
		return false, err
	case before == state:
		return false, nil
	case before == Usual && len(all) >= MaxDecisions:
		return false, social.Invalid("tag", "At most {n} tags can be blocked or pinned. Unblock or unpin another one first.", MaxDecisions)
	}
	action := actions[state]
	if state == Usual {
		action = "un" + actions[before]
	}
	err = r.audit.Add(ctx, audit.Entry{Actor: actor, Action: action + "-tag", Target: audit.TagTarget(folded), Note: note})
	if err != nil {
		return false, err
	}
	return true, r.write(ctx, Decision{Tag: folded, State: state, Since: r.now()})
}

// actions are the audit log actions that lead to each state.
var actions = map[State]string{Blocked: "block", Pinned: "pin"}

func (r *TrendRules) write(ctx context.Context, d Decision) error {
	b := r.db.Client.B()
	cmd := b.Hset().Key(storage.TrendTags).FieldValue().FieldValue(d.Tag, d.stored()).Build()
	if d.State == Usual {
		cmd = b.Hdel().Key(storage.TrendTags).Field(d.Tag).Build()
	}
	return r.kept.Write(ctx, cmd)
}

// read returns the decisions. No round trip while nothing has changed.
func (r *TrendRules) read(ctx context.Context) (Decisions, error) {
	if social.IsFresh(ctx) {
		return r.kept.Renew(ctx)
	}
	return r.kept.Get(ctx)
}

func (r *TrendRules) load(ctx context.Context) (Decisions, error) {
	stored, err := r.db.Read(ctx, r.db.Client.B().Hgetall().Key(storage.TrendTags).Cache()).AsStrMap()
	if err != nil {
		return nil, fmt.Errorf("social: read the decisions about tags: %w", err)
	}
	all := make(Decisions, 0, len(stored))
	for tag, text := range stored {
		if d, ok := parseDecision(tag, text); ok {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, compareDecisions)
	return all, nil
}

// apply returns the tags of a page: pinned tags first, then the greatest trends, without blocked
// tags.
func (d Decisions) apply(trends []Trend) []TrendingTag {
	var tags []TrendingTag
	states := make(map[string]State, len(d))
	people := make(map[string]int64, len(trends))
	for _, trend := range trends {
		people[trend.Name] = trend.People
	}
	for _, decision := range d {
		states[decision.Tag] = decision.State
		if decision.State == Pinned {
			tags = append(tags, TrendingTag{Trend: Trend{Name: decision.Tag, People: people[decision.Tag]}, Pinned: true})
		}
	}
	for _, trend := range trends {
		if states[trend.Name] == Usual {
			tags = append(tags, TrendingTag{Trend: trend})
		}
	}
	return tags[:min(len(tags), MaxTrends)]
}
