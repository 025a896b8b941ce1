package model

import (
	"context"
	"fmt"
	"slices"
)

// find is a Query without its Go type.
type find struct {
	o        *objects
	conds    []Cond
	order    []string
	reversed bool
	limit    int
	after    string
	err      error // of how it was made
}

// parsedQuery is a query whose conditions are resolved.
type parsedQuery struct {
	e           *expr
	order       []ordering
	reverse     bool // all records, newest first
	limit       int
	after       cursor
	fingerprint string
}

func (f *find) parse() (*parsedQuery, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.limit < 0 {
		return nil, fmt.Errorf("%w: Limit(%d): it cannot be negative", ErrValue, f.limit)
	}
	order, err := f.o.orderOf(f.order, f.reversed)
	if err != nil {
		return nil, err
	}
	ordered := make([]int, len(order))
	for i, o := range order {
		ordered[i] = o.field
	}
	e, err := f.o.resolve(f.conds, ordered)
	if err != nil {
		return nil, err
	}
	if f.reversed && len(order) == 0 && len(e.kids) > 0 {
		return nil, fmt.Errorf("%w: Desc turns an order around, and there is none: add OrderBy", ErrValue)
	}
	q := &parsedQuery{e: e, order: order, reverse: f.reversed && len(order) == 0, limit: f.limit}
	q.fingerprint = q.digest(&f.o.schema, f.o.t.opt.Name)
	if f.after != "" {
		q.after, err = parseCursor(f.after, q.fingerprint)
	}
	return q, err
}

// start plans a query and starts it. limit is how many records are wanted; 0: all.
func (f *find) start(ctx context.Context, limit int) (*finder, *parsedQuery, error) {
	if err := f.o.t.refresh(ctx); err != nil {
		return nil, nil, err
	}
	q, err := f.parse()
	if err != nil {
		return nil, nil, err
	}
	q.limit = limit
	var pinned []string
	if f.after != "" {
		pinned = append([]string{}, q.after.names...)
	}
	run, err := newFinder(ctx, f.o.t, q, pinned)
	if err == nil {
		err = run.start(q.after)
	}
	return run, q, err
}

// result is a record that was found: a pointer to it, or why it cannot be read.
type result struct {
	ptr any
	hit hit
	err error
}

// each calls yield for each record found, or its error, until it returns false.
func (f *find) each(ctx context.Context, yield func(result) bool) error {
	run, _, err := f.start(ctx, f.limit)
	if err == nil {
		err = f.run(ctx, run, f.limit, 0, yield)
	}
	return err
}

// firstBatch is how many records are read first if all are wanted.
const firstBatch = 100

// run calls yield for what a finder finds, until it returns false. ahead is how many
// more than the limit are looked for.
func (f *find) run(ctx context.Context, run *finder, limit, ahead int, yield func(result) bool) error {
	batch := firstBatch
	for left := limit; limit == 0 || left > 0; {
		want := batch
		if limit > 0 {
			want = min(left, fetchMany)
		}
		hits, err := run.next(ctx, want+ahead)
		if err != nil {
			return err
		}
		if len(hits) > want {
			run.ready = append(hits[want:len(hits):len(hits)], run.ready...)
			hits = hits[:want]
		}
		if len(hits) == 0 {
			return nil
		}
		results, err := f.o.fetch(ctx, run, hits)
		if err != nil {
			return err
		}
		for _, r := range results {
			if !yield(r) {
				return nil
			}
		}
		for _, r := range results {
			if r.err == nil {
				left--
			}
		}
		batch = fetchMany
	}
	return nil
}

// page calls add for the records of a page, and returns the cursor of the next one.
func (f *find) page(ctx context.Context, add func(ptr any, err error)) (next string, err error) {
	limit := f.limit
	if limit == 0 {
		limit = pageSize
	}
	run, q, err := f.start(ctx, limit)
	if err != nil {
		return "", err
	}
	var last hit
	n := 0
	err = f.run(ctx, run, limit, 1, func(r result) bool {
		last = r.hit
		if add(r.ptr, r.err); r.err == nil {
			n++
		}
		return true
	})
	if err == nil && n == limit {
		var more bool
		if more, err = run.more(ctx); more {
			next = run.cursor(last).text(q.fingerprint)
		}
	}
	return next, err
}

// pageSize is how many records a page has without a limit.
const pageSize = 100

// ids returns the ids of what is found, without reading the records.
func (f *find) ids(ctx context.Context) ([]string, error) {
	run, _, err := f.start(ctx, f.limit)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for f.limit == 0 || len(ids) < f.limit {
		want := maxWant
		if f.limit > 0 {
			want = min(want, f.limit-len(ids))
		}
		hits, err := run.next(ctx, want)
		if err != nil || len(hits) == 0 {
			return ids, err
		}
		for _, h := range hits {
			ids = append(ids, h.id)
		}
	}
	return ids, nil
}

// count returns how many records fit the conditions.
func (f *find) count(ctx context.Context) (int64, error) {
	bare := &find{o: f.o, conds: f.conds, err: f.err}
	run, _, err := bare.start(ctx, 0)
	if err != nil {
		return 0, err
	}
	return run.count(ctx)
}

// referring makes the query for the records that refer to an id by a field.
func (f *find) referring(field, id string) {
	f.conds = []Cond{Eq(field, id)}
	number := f.o.number(field)
	if number >= 0 && !slices.ContainsFunc(f.o.refs, func(r refField) bool { return r.field == number }) {
		f.err = fmt.Errorf("%w: Refs(%q): it is no model.Ref", ErrValue, field)
	}
}
