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

// MaxDecisions is how many tags can be blocked or pinned.
const MaxDecisions = 1000

// State is what moderators have decided about a tag.
type State string

// The states.
const (
	Usual   State = ""
	Blocked State = "blocked" // it is never a trend, and not suggested
	Pinned  State = "pinned"  // it comes first
)

// Decision is a tag that is blocked or pinned.
type Decision struct {
	Tag   string
	State State
	Since time.Time // to the millisecond: it is the order of those that are pinned
}

// stored is a decision as the database has it; see parseDecision.
func (d Decision) stored() string { return string(d.State) + " " + storage.Itoa(d.Since.UnixMilli()) }

// parseDecision reads what is stored about a tag; ok is false for what is damaged.
func parseDecision(tag, stored string) (d Decision, ok bool) {
	state, since, _ := strings.Cut(stored, " ")
	ms, _ := strconv.ParseInt(since, 10, 64)
	return Decision{Tag: tag, State: State(state), Since: time.UnixMilli(ms).UTC()}, IsDecision(tag, stored)
}

// IsDecision reports whether this is a tag and what can be decided about one.
func IsDecision(tag, stored string) bool {
	folded, ok := text.FoldTag(tag)
	state, since, _ := strings.Cut(stored, " ")
	_, err := strconv.ParseInt(since, 10, 64)
	return ok && folded == tag && err == nil && (State(state) == Blocked || State(state) == Pinned)
}

// Decisions are all of them, sorted: the pinned ones first, those in the order in which they
// were pinned, then the blocked ones by name. They never change.
type Decisions []Decision

// same reports whether both were read at once.
func (d Decisions) same(other Decisions) bool {
	return len(d) == len(other) && (len(d) == 0 || &d[0] == &other[0])
}

// sortDecisions sorts as Decisions are.
func sortDecisions(a, b Decision) int {
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

// Of returns what was decided about a tag.
func (d Decisions) Of(tag string) State {
	for _, one := range d {
		if one.Tag == tag {
			return one.State
		}
	}
	return Usual
}

// blocked returns the tags that are blocked.
func (d Decisions) blocked() map[string]bool {
	tags := map[string]bool{}
	for _, one := range d {
		if one.State == Blocked {
			tags[one.Tag] = true
		}
	}
	return tags
}

// TrendRules are what moderators have decided about tags. They are safe for concurrent use.
//
// They are one hash, and no records of package model: a page of trends needs all of them,
// and reads a hash with one command, whose reply stays in memory until it changes.
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

// All returns the tags that are blocked or pinned, bypassing all caches. One round trip.
func (r *TrendRules) All(ctx context.Context) (Decisions, error) {
	return r.load(social.WithFresh(ctx))
}

// Blocked returns the tags that are blocked. No round trip while nothing has changed.
func (r *TrendRules) Blocked(ctx context.Context) (map[string]bool, error) {
	all, err := r.read(ctx)
	return all.blocked(), err
}

// Set blocks or pins a tag, given in any spelling, with or without #, or makes it a usual
// one again. It reports whether that has changed something: what does not is not in the
// audit log. It returns ErrForbidden for others than moderators, ErrNotFound for what is no
// tag, and *InvalidError for a note that is too long, or too many decisions. Four round
// trips.
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
		return false, social.Invalid("tag", "At most {n} tags can be blocked or pinned. Make another one usual first.", MaxDecisions)
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

// actions are what makes a tag so.
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
		return nil, fmt.Errorf("social: read what was decided about tags: %w", err)
	}
	all := make(Decisions, 0, len(stored))
	for tag, text := range stored {
		if d, ok := parseDecision(tag, text); ok {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, sortDecisions)
	return all, nil
}

// apply returns the tags of a page: those that are pinned, and the greatest trends without
// those that are blocked.
func (d Decisions) apply(trends []Trend) []TrendingTag {
	var tags []TrendingTag
	states := make(map[string]State, len(d))
	people := make(map[string]int64, len(trends))
	for _, trend := range trends {
		people[trend.Name] = trend.People
	}
	for _, one := range d {
		states[one.Tag] = one.State
		if one.State == Pinned {
			tags = append(tags, TrendingTag{Trend: Trend{Name: one.Tag, People: people[one.Tag]}, Pinned: true})
		}
	}
	for _, trend := range trends {
		if states[trend.Name] == Usual {
			tags = append(tags, TrendingTag{Trend: trend})
		}
	}
	return tags[:min(len(tags), MaxTrends)]
}
