package query

import (
	"context"
	"fmt"
	"slices"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Query is a model.Query without its Go type.
type Query struct {
	Objects   *record.Objects
	Conds     []Cond
	Order     []string
	Created   bool // in creation order, whatever the cost
	Reversed  bool
	Limit     int
	After     string
	Before    string    // the page before this cursor
	Among     []Members // the ids of the records; none: all
	only      []int     // fields to read; nil: all
	countOnly bool
	err       error // error of a method that built the query
}

// resolve checks the query against the declaration, and resolves its conditions.
func (f *Query) resolve() (*parsedQuery, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.Limit < 0 {
		return nil, fmt.Errorf("%w: Limit(%d): the limit cannot be negative", schema.ErrValue, f.Limit)
	}
	order, err := (&resolver{f.Objects.Declaration}).orderOf(f.Order, f.Reversed)
	if err != nil {
		return nil, err
	}
	ordered := make([]int, len(order))
	for i, o := range order {
		ordered[i] = o.field
	}
	for _, field := range ordered {
		if f.Objects.Declaration.WithoutType && f.Objects.Declaration.Schema.Fields[field].Computed {
			return nil, fmt.Errorf("%w: OrderBy: only the program that declares the model can compute %s", schema.ErrValue, f.Objects.Declaration.Schema.Fields[field].Name)
		}
	}
	e, err := (&resolver{f.Objects.Declaration}).resolve(f.Conds, ordered)
	if err != nil {
		return nil, err
	}
	q := &parsedQuery{e: e, order: order, limit: f.Limit}
	if len(order) == 0 {
		q.reverse, q.created = f.Reversed, f.Reversed || f.Created || len(f.Among) > 0
	}
	q.fingerprint = q.digest(&f.Objects.Declaration.Schema, f.Objects.Table.Options.Name, f.Among)
	switch {
	case f.After != "" && f.Before != "":
		return nil, fmt.Errorf("%w: a query has After and Before: use one of them", schema.ErrValue)
	case f.After != "":
		q.after, err = parseCursor(f.After, q.fingerprint)
	case f.Before != "":
		q.back = true
		q.after, err = parseCursor(f.Before, q.fingerprint)
	}
	return q, err
}

// Check returns the error of the query, as far as it is known without asking the server.
func (f *Query) Check() error {
	q, err := f.resolve()
	if err == nil && len(q.order) > 0 {
		p := &planner{s: &f.Objects.Declaration.Schema}
		for _, o := range q.order {
			p.order = append(p.order, o.field)
		}
		_, err = p.orderIndex(q.order, q.e, nil)
	}
	return err
}

// refreshed resolves a query with the current state of the indexes.
func (f *Query) refreshed(ctx context.Context) (*parsedQuery, error) {
	if err := f.Objects.Table.Registry.Refresh(ctx); err != nil {
		return nil, err
	}
	return f.resolve()
}

// start plans a query and returns its executor. limit is the number of records wanted; 0: all.
func (f *Query) start(ctx context.Context, limit int) (*executor, *parsedQuery, error) {
	q, err := f.refreshed(ctx)
	if err != nil {
		return nil, nil, err
	}
	run, err := f.begin(ctx, q, limit)
	return run, q, err
}

// begin plans a resolved query and returns its executor.
func (f *Query) begin(ctx context.Context, q *parsedQuery, limit int) (run *executor, err error) {
	q.limit, q.countOnly = limit, f.countOnly
	if q.among, err = newAmong(ctx, f.Among); err != nil {
		return nil, err
	}
	var resumed []string
	if q.after.begun {
		resumed = append([]string{}, q.after.names...)
	}
	run, err = newExecutor(ctx, f.Objects.Table, q, resumed)
	if err == nil {
		err = run.start(q.after)
	}
	return run, err
}

// Each calls yield for each result until yield returns false.
func (f *Query) Each(ctx context.Context, yield func(Result) bool) error {
	if err := f.forward(); err != nil {
		return err
	}
	q, err := f.refreshed(ctx)
	if err != nil {
		return err
	}
	if leaf := f.unique(q); leaf != nil {
		return f.eachOwner(ctx, q, leaf, yield)
	}
	run, err := f.begin(ctx, q, f.Limit)
	if err == nil {
		err = f.run(ctx, run, f.Limit, 0, yield)
	}
	return err
}

// forward returns an error for Before in methods other than Page.
func (f *Query) forward() error {
	if f.Before != "" {
		return fmt.Errorf("%w: Before can only be used with Page", schema.ErrValue)
	}
	return nil
}

// firstBatch is the number of records in the first batch if all records are wanted.
const firstBatch = 100

// run calls yield for the results of an executor until yield returns false. ahead is the number
// of rows to find beyond the limit.
func (f *Query) run(ctx context.Context, run *executor, limit, ahead int, yield func(Result) bool) error {
	read := newFetcher(f.Objects, run, f.only)
	batch := firstBatch
	for left := limit; limit == 0 || left > 0; {
		want := batch
		if limit > 0 {
			want = min(left, record.FetchMany)
		}
		rows, err := run.next(ctx, want+ahead)
		if err != nil {
			return err
		}
		if len(rows) > want {
			run.ready = append(rows[want:len(rows):len(rows)], run.ready...)
			rows = rows[:want]
		}
		if len(rows) == 0 {
			return nil
		}
		results, err := read.fetch(ctx, rows)
		if err != nil {
			return err
		}
		for _, r := range results {
			if !yield(r) {
				return nil
			}
		}
		for _, r := range results {
			if r.Err == nil {
				left--
			}
		}
		batch = record.FetchMany
	}
	return nil
}

// Page calls add for the records of a page, and returns the cursors of the previous and the
// next page.
func (f *Query) Page(ctx context.Context, add func(ptr any, err error)) (prev, next string, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = pageSize
	}
	run, q, err := f.start(ctx, limit)
	if err != nil {
		return "", "", err
	}
	for _, w := range run.scans {
		w.paged = true
	}
	var page []Result
	n := 0
	err = f.run(ctx, run, limit, 1, func(r Result) bool {
		page = append(page, r)
		if r.Err == nil {
			n++
		}
		return true
	})
	more := false
	if err == nil && n == limit {
		more, err = run.more(ctx)
	}
	if q.back {
		slices.Reverse(page)
	}
	for _, r := range page {
		add(r.Record, r.Err)
	}
	if len(page) == 0 || err != nil {
		return "", "", err
	}
	// There may be more rows in the direction of the query, and there was a page in the other
	// direction.
	if q.back && more || !q.back && f.After != "" {
		prev = run.cursor(page[0].row).text(q.fingerprint)
	}
	if q.back || more {
		next = run.cursor(page[len(page)-1].row).text(q.fingerprint)
	}
	return prev, next, nil
}

// pageSize is the page size without a limit.
const pageSize = 100

// IDs returns the ids of the results, without reading the records.
func (f *Query) IDs(ctx context.Context) ([]string, error) {
	if err := f.forward(); err != nil {
		return nil, err
	}
	run, _, err := f.start(ctx, f.Limit)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for f.Limit == 0 || len(ids) < f.Limit {
		want := maxRows
		if f.Limit > 0 {
			want = min(want, f.Limit-len(ids))
		}
		rows, err := run.next(ctx, want)
		if err != nil || len(rows) == 0 {
			return ids, err
		}
		for _, h := range rows {
			ids = append(ids, h.id)
		}
	}
	return ids, nil
}

// Count counts up to limit matching records; 0: all.
func (f *Query) Count(ctx context.Context, limit int64) (int64, error) {
	unordered := &Query{Objects: f.Objects, Conds: f.Conds, Among: f.Among, countOnly: true, err: f.err}
	run, _, err := unordered.start(ctx, 0)
	if err != nil {
		return 0, err
	}
	n, err := run.count(ctx, limit)
	if limit > 0 {
		n = min(n, limit)
	}
	return n, err
}

// ReferTo restricts the query to records that refer to an id by a field.
func (f *Query) ReferTo(field, id string) {
	f.Conds = []Cond{On(schema.OpEq, field, id)}
	number := f.Objects.Declaration.Schema.Number(field)
	if number >= 0 && !slices.ContainsFunc(f.Objects.Declaration.Refs, func(r schema.RefField) bool { return r.Field == number }) {
		f.err = fmt.Errorf("%w: Refs(%q): it is not a model.Ref", schema.ErrValue, field)
	}
}
