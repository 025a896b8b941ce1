package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"retwis/internal/redis/keys"
	"retwis/model/internal/schema"
)

// Members is a collection of ids, such as a set of a record. It may be in another slot or
// database than the records.
type Members interface {
	// Key identifies the collection.
	Key() string
	// Open starts reading the collection, for one query.
	Open(ctx context.Context) (Reader, error)
}

// Reader reads a collection of ids.
type Reader interface {
	Key() string
	// Len returns the number of ids at the time of Open.
	Len() int64
	// Read reads up to about a thousand ids after a cursor; "" is both the start and the end.
	// An id may occur twice.
	Read(ctx context.Context, cursor string) (ids []string, next string, err error)
	// Keep returns the ids that are in the collection.
	Keep(ctx context.Context, ids []string) ([]string, error)
}

// among restricts a query to records whose ids are in all sets. One access path reads the
// smallest set, and checks the conditions for its members. The other paths find records by the
// conditions, and check whether the sets contain the ids.
type among struct {
	sets []Reader // smallest first
}

// newAmong opens sets.
func newAmong(ctx context.Context, sets []Members) (*among, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	a := &among{sets: make([]Reader, len(sets))}
	err := each(len(sets), func(i int) (err error) {
		a.sets[i], err = sets[i].Open(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.sets, func(a, b Reader) int { return cmp.Compare(a.Len(), b.Len()) })
	return a, nil
}

// candidate returns the access path that reads the smallest set.
func (a *among) candidate() *candidate {
	// A condition that no other path consumes: the planner treats the set as independent of the
	// other conditions.
	return &candidate{name: "m", path: &accessPath{members: a, size: a.sets[0].Len(), consumed: []*expr{{op: schema.OpAnd}}}}
}

// text describes sets in human-readable form.
func (a *among) text(sets []Reader) string {
	words := make([]string, len(sets))
	for i, s := range sets {
		words[i] = "in " + s.Key()
	}
	return strings.Join(words, " and ")
}

// unchecked describes the sets that must be checked in addition to a path.
func (a *among) unchecked(path *accessPath) string {
	switch {
	case a == nil:
		return ""
	case path.members != nil:
		return a.text(a.sets[1:])
	}
	return a.text(a.sets)
}

// keep returns the rows whose ids are in all sets.
func (a *among) keep(ctx context.Context, sets []Reader, rows []row) ([]row, error) {
	for _, s := range sets {
		if len(rows) == 0 {
			return nil, nil
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].id
		}
		kept, err := s.Keep(ctx, ids)
		if err != nil {
			return nil, err
		}
		member := make(map[string]bool, len(kept))
		for _, id := range kept {
			member[id] = true
		}
		rows = slices.DeleteFunc(rows, func(h row) bool { return !member[h.id] })
	}
	return rows, nil
}

// stepMembers is step for the members of the smallest set.
func (w *scan) stepMembers(ctx context.Context, want int) (int64, error) {
	a := w.members
	ids, next, err := a.sets[0].Read(ctx, w.cursor)
	if err != nil {
		return 0, err
	}
	w.cursor, w.done = next, next == ""
	w.checked += int64(len(ids))
	rows := make([]row, len(ids))
	for i, id := range ids {
		rows[i].id = id
	}
	if rows, err = a.keep(ctx, a.sets[1:], rows); err != nil {
		return 0, err
	}
	byPart := make([][]string, len(w.t.Layout.Parts))
	for _, h := range rows {
		p := keys.Partition(h.id, len(w.t.Layout.Parts))
		byPart[p] = append(byPart[p], "", h.id)
	}
	var kept atomic.Int64
	found := make([]selection, len(byPart))
	err = each(len(byPart), func(i int) (err error) {
		found[i], err = w.selectIDs(ctx, &w.t.Layout.Parts[i], byPart[i], want)
		kept.Add(found[i].kept)
		return err
	})
	for _, f := range found {
		w.add(f.rows)
	}
	return kept.Load(), err
}

// add adds rows returned by a script.
func (w *scan) add(rows []row) {
	for i := range rows {
		rows[i].scan = w.number
		if w.created {
			rows[i].position = position{at: rows[i].id, score: rows[i].at, begun: true}
		}
	}
	w.rows = append(w.rows, rows...)
}

// filterMembers removes the rows of a scan whose ids are not in the sets.
func (f *executor) filterMembers(ctx context.Context, w *scan) (err error) {
	if f.among != nil && w.members == nil {
		w.rows, err = f.among.keep(ctx, f.among.sets, w.rows)
	}
	return err
}

// planCount plans to count the records of a query that are in sets, using the path with the
// fewest entries.
func (f *executor) planCount(candidates []*candidate) {
	c := plan{}
	f.paths = c.choose(candidates)
	if f.order = nil; f.readsMembers() {
		// With an order, the script checks that the members are records.
		f.sorted, f.order = true, &orderedIndex{accessPath: &accessPath{size: -1}}
	}
}

// readsMembers reports whether the query reads the members of the smallest set. For an empty Or
// there is no path.
func (f *executor) readsMembers() bool { return len(f.paths) == 1 && f.paths[0].members != nil }

// countAmong counts up to limit matches; 0: all.
func (f *executor) countAmong(ctx context.Context, limit int64) (int64, error) {
	if f.readsMembers() {
		return f.countEach(ctx, limit)
	}
	total := int64(0)
	for limit == 0 || total < limit {
		rows, err := f.chain(ctx, maxRows)
		if err != nil || len(rows) == 0 {
			return total, err
		}
		total += int64(len(rows))
	}
	return total, nil
}
