package query

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// finder finds the ids of the records of a query, in its order.
type executor struct {
	t        *record.Table
	e        *expr
	paths    []*accessPath
	names    []string      // of what was chosen, for cursors
	order    *orderedIndex // nil: none
	sorted   bool          // all that fit are read and then put in order
	fallback []*accessPath // what all that fit are read from, if walking the order
	budget   int64         // has looked at so many entries
	reverse  bool
	limit    int // how many are wanted; 0: all
	scans    []*scan
	window   int // how many walks are read at once, where they are read in turn

	position position // of what is sorted: go on behind it
	ready    []row    // what is sorted, or was read too far
	last     bool     // there is no more to sort
}

// What is counted to choose what drives a query: of so many spans, in so many
// partitions at most.
const (
	countedSpans = 64
	countedParts = 8
)

// maxSorted is how many entries are looked at in order to sort all that fit.
const maxSorted = 10_000

// plan settles how a query is done: one round trip where there is a choice, none
// otherwise. pinned is what a cursor names: how the query was planned, or in an
// order the index that the position is of.
func newExecutor(ctx context.Context, t *record.Table, q *parsedQuery, pinned []string) (*executor, error) {
	p := &planner{s: t.Schema}
	for _, o := range q.order {
		p.order = append(p.order, o.field)
	}
	f := &executor{t: t, e: q.e, limit: q.limit, reverse: q.reverse, window: 1}
	if len(q.order) > 0 {
		var err error
		if f.order, err = p.orderIndex(q.order, q.e, pinned); err != nil {
			return nil, err
		}
		f.reverse, pinned = f.order.reverse, nil
	}
	options, err := p.candidates(q.e, nil)
	if err != nil {
		return nil, err
	}
	records := int64(-1)
	if pinned == nil && (f.order != nil && len(options) > 0 || f.hasChoice(options)) {
		if records, err = f.countCandidates(ctx, options, f.order); err != nil {
			return nil, err
		}
	}
	c := plan{resumed: pinned}
	switch {
	case f.order != nil && (len(options) == 0 || !f.sorts(options, records)):
		f.paths = []*accessPath{f.order.accessPath}
		if f.budget > 0 {
			f.fallback = c.choose(options)
		}
		return f, nil
	case len(options) == 0:
		f.paths = []*accessPath{{size: records}}
		if c.lost = len(pinned) > 0; c.lost {
			return nil, schema.ErrCursor
		}
		return f, nil
	}
	f.paths = c.choose(options)
	f.names, f.sorted = c.names, f.order != nil
	if c.lost || pinned != nil && len(c.names) != len(pinned) {
		return nil, schema.ErrCursor
	}
	return f, nil
}

// undecided tells whether there is a choice among some options.
func (f *executor) hasChoice(options []*candidate) bool {
	if len(options) != 1 {
		return len(options) > 1
	}
	return slices.ContainsFunc(options[0].branches, f.hasChoice)
}

// countOptions counts the entries of all that could drive a query, and of all
// records: one pipeline.
func (f *executor) countCandidates(ctx context.Context, options []*candidate, order *orderedIndex) (int64, error) {
	t := f.t
	var counted []*accessPath
	count := func(s *accessPath) {
		if s.x.Unique {
			s.size = int64(len(s.spans))
			return
		}
		counted = append(counted, s)
	}
	for _, o := range options {
		o.all(count)
	}
	if order != nil {
		count(order.accessPath)
	}
	var commands rueidis.Commands
	parts := t.Parts[:min(len(t.Parts), countedParts)]
	for _, s := range counted {
		for i := range parts {
			key := t.IndexKey(&parts[i], s.x)
			for _, r := range s.spans[:min(len(s.spans), countedSpans)] {
				from, to := (&scan{accessPath: s}).ends(r)
				commands = append(commands, t.Client.B().Zlexcount().Key(key).Min(from).Max(to).Build())
			}
		}
	}
	for i := range parts {
		commands = append(commands, t.Client.B().Zcard().Key(parts[i].All).Build())
	}
	replies := t.Client.DoMulti(ctx, commands...)
	sum := func(n int) (total int64, err error) {
		for _, r := range replies[:n] {
			one, err := r.AsInt64()
			if err != nil {
				return 0, err
			}
			total += one
		}
		replies = replies[n:]
		return total * int64(len(t.Parts)) / int64(len(parts)), nil
	}
	for _, s := range counted {
		n := min(len(s.spans), countedSpans)
		total, err := sum(n * len(parts))
		if err != nil {
			return 0, err
		}
		if s.size = total; n > 0 {
			s.size = total * int64(len(s.spans)) / int64(n)
		}
	}
	return sum(len(parts))
}

// sorts tells whether all that fit are to be read and put in order, as that is
// sure to cost less than going through the index that is in order until enough are
// found. If in doubt that index is walked, but not for longer than sorting takes:
// neither costs more than twice of what the better one does, whatever the
// conditions have to do with each other.
func (f *executor) sorts(options []*candidate, records int64) bool {
	best := leastOf(options)
	least := best.weight()
	if f.wantsAll() && least > maxSorted {
		return false
	}
	// How many fit if the conditions have nothing to do with each other.
	fit := float64(least)
	seen := f.consumed(best)
	for _, o := range options {
		if own := f.consumed(o); !slices.ContainsFunc(own, func(e *expr) bool { return slices.Contains(seen, e) }) {
			seen = append(seen, own...)
			fit *= min(1, float64(o.weight())/math.Max(1, float64(records)))
		}
	}
	walked := float64(f.order.size)
	if f.limit > 0 {
		walked = min(walked, float64(f.limit)*walked/math.Max(fit, 1))
	}
	if f.wantsAll() || least <= sortedAtOnce || walked > 10*float64(least) {
		return float64(least) < walked
	}
	f.budget = least
	return false
}

// wantsAll tells whether more are wanted than are kept in order to sort them.
func (f *executor) wantsAll() bool { return f.limit == 0 || f.limit > maxSorted }

// sortedAtOnce is how many entries are looked at in one script, or two.
const sortedAtOnce = 500

// consumed are the conditions that an option sees to.
func (f *executor) consumed(o *candidate) []*expr {
	if o.path != nil {
		return slices.Clone(o.path.consumed)
	}
	return slices.Clone(o.or.terms)
}

// start makes the walks of a query, to go on behind a cursor.
func (f *executor) start(at cursor) error {
	var within *orderedIndex
	if f.sorted {
		within = f.order
	}
	for _, src := range f.paths {
		parts := make([]*schema.Partition, 0, len(f.t.Parts))
		if src.x != nil && src.x.Unique && f.t.Spread() {
			parts = append(parts, nil)
		} else {
			for i := range f.t.Parts {
				parts = append(parts, &f.t.Parts[i])
			}
		}
		packed := f.pack(src, parts[0], f.e, f.reverse && !f.sorted, within)
		for _, part := range parts {
			f.scans = append(f.scans, &scan{t: f.t, accessPath: src, number: len(f.scans), part: part, packed: packed, reverse: f.reverse && !f.sorted})
		}
	}
	if at.scan > 0 && at.scan >= len(f.scans) {
		return schema.ErrCursor
	}
	f.position = at.position
	for i, w := range f.scans {
		switch {
		case f.sorted:
			w.seek(position{})
		case f.merged() || i == at.scan:
			w.seek(at.position)
		case i < at.scan:
			w.done = true
		default:
			w.seek(position{})
		}
	}
	return nil
}

// merged tells whether the walks are read side by side, as their entries have an
// order in common, or one after the other.
func (f *executor) merged() bool {
	return !f.sorted && (f.order != nil || len(f.paths) == 1 && f.paths[0].x == nil)
}

// cursor is where to go on behind a hit. In an order nothing else is to be known
// but the index that it is a position of, so that it can be planned anew.
func (f *executor) cursor(h row) cursor {
	if f.order != nil {
		return cursor{position: h.position, names: []string{strconv.Itoa(f.order.x.Number)}}
	}
	if f.merged() {
		return cursor{position: h.position}
	}
	return cursor{scan: h.walk, position: h.position, names: f.names}
}

// next returns the next n hits, or fewer at the end.
func (f *executor) next(ctx context.Context, n int) ([]row, error) {
	for len(f.ready) < n {
		var some []row
		var err error
		sorted := f.sorted
		switch want := n - len(f.ready); {
		case f.sorted:
			some, err = f.sort(ctx, want)
		case f.merged():
			some, err = f.merge(ctx, want)
		default:
			some, err = f.chain(ctx, want)
		}
		if err != nil {
			return nil, err
		}
		if len(some) == 0 && sorted == f.sorted {
			break
		}
		f.ready = append(f.ready, some...)
	}
	n = min(n, len(f.ready))
	hits := f.ready[:n:n]
	f.ready = f.ready[n:]
	return hits, nil
}

// more tells whether there is another hit.
func (f *executor) more(ctx context.Context) (bool, error) {
	hits, err := f.next(ctx, 1)
	f.ready = append(hits, f.ready...)
	return len(hits) > 0, err
}

// chain reads the walks one after the other. The first ones that yield little
// make it read more of them at once.
func (f *executor) chain(ctx context.Context, want int) ([]row, error) {
	for {
		var open []*scan
		for _, w := range f.scans {
			if w.done && len(w.rows) == 0 {
				continue
			}
			if len(open) == 0 && len(w.rows) > 0 {
				return w.take(want), nil
			}
			if len(w.rows) == 0 {
				open = append(open, w)
			}
			if len(open) == f.window {
				break
			}
		}
		if len(open) == 0 {
			return nil, nil
		}
		if err := f.read(ctx, open, want); err != nil {
			return nil, err
		}
		f.window = min(2*f.window, atOnce)
	}
}

// take takes hits that a walk has found.
func (w *scan) take(n int) []row {
	n = min(n, len(w.rows))
	hits := w.rows[:n:n]
	w.rows = w.rows[n:]
	return hits
}

// read takes each walk one step further.
func (f *executor) read(ctx context.Context, walks []*scan, want int) error {
	return each(len(walks), func(i int) error {
		_, err := walks[i].step(ctx, want)
		return err
	})
}

// merge reads all walks side by side, the first in order first.
func (f *executor) merge(ctx context.Context, want int) ([]row, error) {
	var hits []row
	for len(hits) < want {
		var empty []*scan
		var first *scan
		looked := int64(0)
		for _, w := range f.scans {
			looked += w.checked
			switch {
			case len(w.rows) == 0 && !w.done:
				empty = append(empty, w)
			case len(w.rows) > 0 && (first == nil || f.less(&w.rows[0], &first.rows[0])):
				first = w
			}
		}
		if len(empty) > 0 && f.budget > 0 && looked > f.budget {
			return hits, f.fallBackToSort()
		}
		if len(empty) > 0 {
			share := want - len(hits)
			if len(f.scans) > 1 {
				share = share/len(f.scans) + 8
			}
			if err := f.read(ctx, empty, share); err != nil {
				return nil, err
			}
			continue
		}
		if first == nil {
			break
		}
		hits = append(hits, first.take(1)...)
		f.position = hits[len(hits)-1].position
	}
	return hits, nil
}

// giveUp goes on by sorting all that fit, behind what was found so far.
func (f *executor) fallBackToSort() error {
	f.sorted, f.paths, f.scans = true, f.fallback, nil
	return f.start(cursor{position: f.position})
}

// less tells whether a hit is before another in the order of the query.
func (f *executor) less(a, b *row) bool {
	if f.reverse {
		a, b = b, a
	}
	if f.order == nil {
		x, _ := strconv.ParseFloat(a.score, 64) // what Redis writes
		y, _ := strconv.ParseFloat(b.score, 64)
		if x != y {
			return x < y
		}
	}
	return a.at < b.at
}

// sort reads all that fit, and returns the first of them behind the last ones that
// it returned. It reads again when these are used up, which is rarely: records go
// away meanwhile, or there are more than can be kept.
func (f *executor) sort(ctx context.Context, want int) ([]row, error) {
	if f.last {
		return nil, nil
	}
	keep := maxSorted
	if !f.wantsAll() {
		keep = max(want, f.limit) + 20
	}
	var hits []row
	for _, w := range f.scans {
		w.next, w.rows, w.done = 0, nil, false
		w.seek(position{})
	}
	for {
		some, err := f.chain(ctx, maxRows)
		if err != nil {
			return nil, err
		}
		for _, h := range some {
			if h.walk = 0; !f.position.begun || f.less(&row{position: f.position}, &h) {
				hits = append(hits, h)
			}
		}
		if len(some) == 0 || len(hits) > 4*keep {
			hits = f.firstOf(hits, keep)
		}
		if len(some) == 0 {
			break
		}
	}
	if f.last = len(hits) < keep; len(hits) > 0 {
		f.position = hits[len(hits)-1].position
	}
	return hits, nil
}

// firstOf are the first n hits in order, each once.
func (f *executor) firstOf(hits []row, n int) []row {
	slices.SortFunc(hits, func(a, b row) int {
		if f.reverse {
			a, b = b, a
		}
		return strings.Compare(a.at, b.at)
	})
	hits = slices.CompactFunc(hits, func(a, b row) bool { return a.at == b.at })
	return hits[:min(n, len(hits))]
}
