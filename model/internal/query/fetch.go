package query

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// fetcher reads the records of rows, and checks that they match.
type fetcher struct {
	o       *record.Objects
	f       *executor
	indexes []*schema.Index // indexes that decide whether a record matches
	only    []int           // numbers of the fields to read; nil: all
}

// newFetcher returns the fetcher of a query. only holds the numbers of the fields to read; nil:
// all.
func newFetcher(o *record.Objects, f *executor, only []int) *fetcher {
	r := &fetcher{o: o, f: f, indexes: f.e.appendIndexes(nil)}
	if f.order != nil && f.order.x != nil && !slices.Contains(r.indexes, f.order.x) {
		r.indexes = append(r.indexes, f.order.x)
	}
	r.only = neededFields(&o.Declaration.Schema, only, r.indexes)
	return r
}

// fetch reads the records of rows: one pipeline. It omits records that no longer exist, no
// longer match, or have moved in the order. The result for an unreadable record is an error.
func (r *fetcher) fetch(ctx context.Context, rows []row) ([]Result, error) {
	ids := make([]string, len(rows))
	for i, h := range rows {
		ids[i] = h.id
	}
	var replies []rueidis.RedisResult
	if r.only != nil {
		replies = r.o.Table.Rows.DoSome(ctx, ids, r.only)
	} else {
		replies = r.o.Table.Rows.DoMany(ctx, ids)
	}
	all := make([]Result, 0, len(rows))
	for i, reply := range replies {
		ptr, matches, err := r.decode(ctx, rows[i], reply)
		var recordErr *schema.RecordError
		switch {
		case errors.As(err, &recordErr):
			all = append(all, Result{row: rows[i], Err: err})
		case err != nil:
			return nil, err
		case matches:
			all = append(all, Result{Record: ptr, row: rows[i]})
		}
	}
	return all, nil
}

// readOne reads one record.
func (r *fetcher) readOne(ctx context.Context, id string) rueidis.RedisResult {
	if r.only != nil {
		return r.o.Table.Rows.DoSome(ctx, []string{id}, r.only)[0]
	}
	return r.o.Table.Rows.Do(ctx, id, false)
}

// decode decodes a record from a reply, and reports whether the record matches. A cached record
// may be older than the index, so a cached record that does not match is read again.
func (r *fetcher) decode(ctx context.Context, h row, reply rueidis.RedisResult) (ptr any, matches bool, err error) {
	ptr, matches, err = r.parse(ctx, h, reply)
	if err == nil && !matches && r.only == nil && r.o.Table.Options.Cache > 0 {
		ptr, matches, err = r.parse(ctx, h, r.o.Table.Rows.Do(ctx, h.id, true))
	}
	return ptr, matches, err
}

// parse is decode without the second read.
func (r *fetcher) parse(ctx context.Context, h row, reply rueidis.RedisResult) (ptr any, matches bool, err error) {
	o := r.o
	stored := make([]schema.Text, len(o.Declaration.Schema.Fields))
	var known bool
	if r.only != nil {
		known, err = o.Table.Rows.ParseSome(h.id, reply, r.only, stored)
	} else {
		known, err = o.Table.Rows.Parse(h.id, reply, stored)
	}
	if err == nil && !known {
		err = o.Table.Rows.Absent(ctx, h.id)
	}
	if errors.Is(err, schema.ErrNotFound) {
		return nil, false, nil
	}
	record := o.Declaration.NewRecord()
	if err == nil {
		err = o.Declaration.Decode(o.Table.Layout.Of(h.id).Record(h.id), h.id, stored, record)
	}
	if err != nil {
		return nil, false, err
	}
	if r.only == nil {
		if err := o.Declaration.Compute(record, stored); err != nil {
			return nil, false, &schema.RecordError{ID: h.id, Err: err}
		}
	}
	var entries []schema.Entry
	for _, x := range r.indexes {
		if entries, err = x.AppendEntries(entries, &o.Declaration.Schema, stored); err != nil {
			return nil, false, &schema.RecordError{ID: h.id, Field: x.Name, Err: err}
		}
	}
	return record.Addr().Interface(), r.f.e.holds(entries) && r.f.inPlace(h, entries), nil
}

// inPlace reports whether a record is still at its position in the order.
func (f *executor) inPlace(h row, entries []schema.Entry) bool {
	return f.order == nil || f.order.x == nil || slices.ContainsFunc(entries, func(e schema.Entry) bool {
		return e.Index == f.order.x && e.Value+h.id == h.at
	})
}

// Result is a result of a query: a pointer to the record, or an error if it is unreadable.
type Result struct {
	Record any
	row    row
	Err    error
}
