package query

import (
	"context"
	"math"
	"slices"
	"strconv"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// executor finds the ids of the records of a query, in query order.
type executor struct {
	t        *record.Table
	e        *expr
	paths    []*accessPath
	names    []string      // names of the chosen candidates, for cursors
	order    *orderedIndex // nil: none
	sorted   bool          // read all matches, then sort them
	fallback []*accessPath // the paths for sorting, if scanning in order takes too long
	budget   int64         // scanned entries after which to fall back; 0: never
	reverse  bool
	back     bool // read the page backwards, from its end
	limit    int  // number of rows wanted; 0: all
	among    *among
	scans    []*scan
	window   int // number of scans that advance together, if they are read in turn

	position position // for a sort: the position after which to continue
	ready    []row    // sorted rows, or rows read ahead
	last     bool     // the sort has returned its last rows
}

// maxSorted is the maximum number of entries scanned to sort all matches.
const maxSorted = 10_000

// newExecutor plans a query: one round trip if there is a choice of indexes, otherwise none.
// resumed holds the names in a cursor: the plan of the first page or, with an order, the index
// of the position.
func newExecutor(ctx context.Context, t *record.Table, q *parsedQuery, resumed []string) (*executor, error) {
	p := &planner{s: t.Schema}
	for _, o := range q.order {
		p.order = append(p.order, o.field)
	}
	f := &executor{t: t, e: q.e, limit: q.limit, reverse: q.reverse != q.back, back: q.back, among: q.among, window: 1}
	if len(q.order) > 0 {
		var err error
		if f.order, err = p.orderIndex(q.order, q.e, resumed); err != nil {
			return nil, err
		}
		f.reverse, resumed = f.order.reverse != q.back, nil
	}
	candidates, err := p.candidates(q.e, nil)
	if err != nil {
		return nil, err
	}
	if q.among != nil {
		candidates = append(candidates, q.among.candidate())
	}
	var inOrder []*candidate // candidates in creation order
	if q.created {
		// Positions in creation order are the same for all plans.
		resumed = nil
		if inOrder, candidates = byCreation(candidates); len(candidates) == 0 {
			inOrder, candidates = nil, inOrder
		} else {
			f.order = &orderedIndex{accessPath: &accessPath{size: -1}}
		}
	}
	records := int64(-1)
	if resumed == nil && (f.order != nil && len(candidates) > 0 || f.hasChoice(candidates)) {
		if records, err = f.countCandidates(ctx, slices.Concat(candidates, inOrder), f.order); err != nil {
			return nil, err
		}
	}
	if q.among != nil && q.countOnly {
		f.planCount(slices.Concat(candidates, inOrder))
		return f, nil
	}
	if len(inOrder) > 0 {
		f.order.accessPath = leastOf(inOrder).path
	}
	c := plan{resumed: resumed}
	switch {
	case f.order != nil && (len(candidates) == 0 || !f.sorts(candidates, records)):
		f.paths = []*accessPath{f.order.accessPath}
		if f.budget > 0 {
			f.fallback = c.choose(candidates)
		}
		return f, nil
	case len(candidates) == 0:
		f.paths = []*accessPath{{size: records}}
		if c.lost = len(resumed) > 0; c.lost {
			return nil, schema.ErrCursor
		}
		return f, nil
	}
	f.paths = c.choose(candidates)
	f.sorted = f.order != nil
	if !q.created {
		f.names = c.names
	}
	if c.lost || resumed != nil && len(c.names) != len(resumed) {
		return nil, schema.ErrCursor
	}
	return f, nil
}

// byCreation separates the candidates that scan in creation order from the other candidates.
func byCreation(candidates []*candidate) (inOrder, others []*candidate) {
	for _, o := range candidates {
		if o.path != nil && o.path.x == nil && o.path.members == nil {
			inOrder = append(inOrder, o)
		} else {
			others = append(others, o)
		}
	}
	return inOrder, others
}

// creation reports whether the positions of rows are in creation order.
func (f *executor) creation() bool {
	if f.order != nil {
		return f.order.x == nil
	}
	return len(f.paths) == 1 && f.paths[0].x == nil
}

// hasChoice reports whether there is a choice among candidates.
func (f *executor) hasChoice(candidates []*candidate) bool {
	if len(candidates) != 1 {
		return len(candidates) > 1
	}
	return slices.ContainsFunc(candidates[0].branches, f.hasChoice)
}

// sorts reports whether to read and sort all matches because this certainly costs less than
// scanning the ordered index until there are enough matches. If in doubt, the executor scans
// the ordered index first, with a budget equal to the cost of sorting. The total cost is then
// at most twice the cost of the better plan, whatever the correlation of the conditions.
func (f *executor) sorts(candidates []*candidate, records int64) bool {
	best := leastOf(candidates)
	least := best.weight()
	if f.wantsAll() && least > maxSorted {
		return false
	}
	// The expected number of matches if the conditions are independent.
	matches := float64(least)
	seen := f.consumed(best)
	for _, o := range candidates {
		if own := f.consumed(o); !slices.ContainsFunc(own, func(e *expr) bool { return slices.Contains(seen, e) }) {
			seen = append(seen, own...)
			matches *= min(1, float64(o.weight())/math.Max(1, float64(records)))
		}
	}
	scanned := float64(f.order.size)
	if f.limit > 0 {
		scanned = min(scanned, float64(f.limit)*scanned/math.Max(matches, 1))
	}
	if f.wantsAll() || least <= cheapSort || scanned > 10*float64(least) {
		return float64(least) < scanned
	}
	f.budget = least
	return false
}

// wantsAll reports whether more rows are wanted than a sort can hold.
func (f *executor) wantsAll() bool { return f.limit == 0 || f.limit > maxSorted }

// cheapSort is the number of entries that one or two scripts can scan.
const cheapSort = 500

// consumed returns the conditions that a candidate guarantees.
func (f *executor) consumed(o *candidate) []*expr {
	if o.path != nil {
		return slices.Clone(o.path.consumed)
	}
	return slices.Clone(o.or.terms)
}

// start creates the scans of a query, which continue after a cursor.
func (f *executor) start(at cursor) error {
	var within *orderedIndex
	if f.sorted {
		within = f.order
	}
	for _, src := range f.paths {
		parts := make([]*schema.Partition, 0, len(f.t.Layout.Parts))
		if src.members != nil || src.x != nil && src.x.Unique && f.t.Layout.Spread() {
			parts = append(parts, nil)
		} else {
			for i := range f.t.Layout.Parts {
				parts = append(parts, &f.t.Layout.Parts[i])
			}
		}
		packed, sets := f.pack(src, parts[0], within)
		for _, part := range parts {
			f.scans = append(f.scans, &scan{
				t: f.t, accessPath: src, number: len(f.scans), part: part, packed: packed, sets: sets,
				direct: src.direct(f.e, within), reverse: f.reverse && !f.sorted, created: within == nil && src.x == nil || within != nil && within.x == nil,
			})
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
		case (i < at.scan) != f.back:
			w.done = true
		default:
			w.seek(position{})
		}
	}
	if f.back {
		slices.Reverse(f.scans)
	}
	return nil
}

// merged reports whether scans are merged, since their entries have a common order, rather than
// read in turn.
func (f *executor) merged() bool {
	return !f.sorted && (f.order != nil || len(f.paths) == 1 && f.paths[0].x == nil)
}

// cursor returns the cursor after a row. With an order, the cursor names only the index of the
// position, so that the query can be planned again.
func (f *executor) cursor(h row) cursor {
	if f.order != nil && f.order.x != nil {
		return cursor{position: h.position, names: []string{strconv.Itoa(f.order.x.Number)}}
	}
	if f.merged() || f.order != nil {
		return cursor{position: h.position, names: f.names}
	}
	return cursor{scan: h.scan, position: h.position, names: f.names}
}

// next returns the next n rows, or fewer at the end.
func (f *executor) next(ctx context.Context, n int) ([]row, error) {
	for len(f.ready) < n {
		var found []row
		var err error
		sorted := f.sorted
		switch want := n - len(f.ready); {
		case f.sorted:
			found, err = f.sort(ctx, want)
		case f.merged():
			found, err = f.merge(ctx, want)
		default:
			found, err = f.chain(ctx, want)
		}
		if err != nil {
			return nil, err
		}
		if len(found) == 0 && sorted == f.sorted {
			break
		}
		f.ready = append(f.ready, found...)
	}
	n = min(n, len(f.ready))
	rows := f.ready[:n:n]
	f.ready = f.ready[n:]
	return rows, nil
}

// more reports whether there is another row.
func (f *executor) more(ctx context.Context) (bool, error) {
	rows, err := f.next(ctx, 1)
	f.ready = append(rows, f.ready...)
	return len(rows) > 0, err
}

// chain reads the scans in turn. Each read advances twice as many scans as the previous one, up
// to maxScripts.
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
		f.window = min(2*f.window, maxScripts)
	}
}

// take removes and returns rows that a scan has read.
func (w *scan) take(n int) []row {
	n = min(n, len(w.rows))
	rows := w.rows[:n:n]
	w.rows = w.rows[n:]
	return rows
}

// read advances each scan by one step.
func (f *executor) read(ctx context.Context, scans []*scan, want int) error {
	return each(len(scans), func(i int) error {
		_, err := scans[i].step(ctx, want)
		if err == nil {
			err = f.filterMembers(ctx, scans[i])
		}
		return err
	})
}

// merge merges all scans in order.
func (f *executor) merge(ctx context.Context, want int) ([]row, error) {
	var rows []row
	for len(rows) < want {
		var empty []*scan
		var first *scan
		scanned := int64(0)
		for _, w := range f.scans {
			scanned += w.checked
			switch {
			case len(w.rows) == 0 && !w.done:
				empty = append(empty, w)
			case len(w.rows) > 0 && (first == nil || f.less(&w.rows[0], &first.rows[0])):
				first = w
			}
		}
		if len(empty) > 0 && f.budget > 0 && scanned > f.budget {
			return rows, f.fallBackToSort()
		}
		if len(empty) > 0 {
			share := want - len(rows)
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
		rows = append(rows, first.take(1)...)
		f.position = rows[len(rows)-1].position
	}
	return rows, nil
}

// fallBackToSort switches to sorting all matches after the current position.
func (f *executor) fallBackToSort() error {
	f.sorted, f.paths, f.scans = true, f.fallback, nil
	return f.start(cursor{position: f.position})
}

// less reports whether row a sorts before b in the query order.
func (f *executor) less(a, b *row) bool {
	if f.reverse {
		a, b = b, a
	}
	if f.creation() {
		return comesAfter(&b.position, &a.position, false)
	}
	return a.at < b.at
}

// sort reads all matches, and returns the first rows after the rows already returned. It is
// called again when these rows are used up, which is rare: records were deleted meanwhile, or
// there are more matches than sort keeps.
func (f *executor) sort(ctx context.Context, want int) ([]row, error) {
	if f.last {
		return nil, nil
	}
	keep := maxSorted
	if !f.wantsAll() {
		keep = max(want, f.limit) + 20
	}
	var rows []row
	for _, w := range f.scans {
		w.next, w.rows, w.done = 0, nil, false
		w.seek(position{})
	}
	for {
		found, err := f.chain(ctx, maxRows)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			if h.scan = 0; !f.position.begun || f.less(&row{position: f.position}, &h) {
				rows = append(rows, h)
			}
		}
		if len(found) == 0 || len(rows) > 4*keep {
			rows = f.firstOf(rows, keep)
		}
		if len(found) == 0 {
			break
		}
	}
	if f.last = len(rows) < keep; len(rows) > 0 {
		f.position = rows[len(rows)-1].position
	}
	return rows, nil
}

// firstOf returns the first n rows in query order, without duplicates.
func (f *executor) firstOf(rows []row, n int) []row {
	slices.SortFunc(rows, func(a, b row) int {
		switch {
		case f.less(&a, &b):
			return -1
		case f.less(&b, &a):
			return 1
		}
		return 0
	})
	rows = slices.CompactFunc(rows, func(a, b row) bool { return a.at == b.at })
	return rows[:min(n, len(rows))]
}
