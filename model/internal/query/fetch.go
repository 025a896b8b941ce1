package query

import (
	"context"
	"errors"
	"slices"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// fetch reads the records of rows: one pipeline. It leaves out records that are gone,
// no longer match, or have another place in the order. A record that cannot be read has
// an error.
func fetch(ctx context.Context, o *record.Objects, f *executor, rows []row) ([]Result, error) {
	indexes := f.e.appendIndexes(nil)
	if f.order != nil && !slices.Contains(indexes, f.order.x) {
		indexes = append(indexes, f.order.x)
	}
	ids := make([]string, len(rows))
	for i, h := range rows {
		ids[i] = h.id
	}
	all := make([]Result, 0, len(rows))
	for i, reply := range o.Table.Rows.DoMany(ctx, ids) {
		ptr, fits, err := fitting(ctx, o, f, rows[i], reply, indexes)
		if err == nil && !fits && o.Table.Options.Cache > 0 {
			// The cached record may be older than the index.
			ptr, fits, err = fitting(ctx, o, f, rows[i], o.Table.Rows.Do(ctx, ids[i], true), indexes)
		}
		var of *schema.RecordError
		switch {
		case errors.As(err, &of):
			all = append(all, Result{row: rows[i], Err: err})
		case err != nil:
			return nil, err
		case fits:
			all = append(all, Result{Record: ptr, row: rows[i]})
		}
	}
	return all, nil
}

// fitting reads a record from a reply, and reports whether it fits.
func fitting(ctx context.Context, o *record.Objects, f *executor, h row, reply rueidis.RedisResult, indexes []*schema.Index) (ptr any, fits bool, err error) {
	stored := make([]schema.Text, len(o.Fields))
	known, err := o.Table.Rows.Parse(h.id, reply, stored)
	if err == nil && !known {
		err = o.Table.Rows.Absent(ctx, h.id)
	}
	if errors.Is(err, schema.ErrNotFound) {
		return nil, false, nil
	}
	record := o.NewRecord()
	if err == nil {
		err = o.Decode(o.Table.Of(h.id).Record(h.id), h.id, stored, record)
	}
	if err != nil {
		return nil, false, err
	}
	if err := o.Declaration.Compute(record, stored); err != nil {
		return nil, false, &schema.RecordError{ID: h.id, Err: err}
	}
	var entries []schema.Entry
	for _, x := range indexes {
		if entries, err = x.AppendEntries(entries, &o.Schema, stored); err != nil {
			return nil, false, &schema.RecordError{ID: h.id, Field: x.Name, Err: err}
		}
	}
	return record.Addr().Interface(), f.e.holds(entries) && f.inPlace(h, entries), nil
}

// inPlace reports whether a record is still at its place in the order.
func (f *executor) inPlace(h row, entries []schema.Entry) bool {
	return f.order == nil || slices.ContainsFunc(entries, func(e schema.Entry) bool {
		return e.Index == f.order.x && e.Value+h.id == h.at
	})
}

// Result is a record that was found: a pointer to it, or why it cannot be read.
type Result struct {
	Record any
	row    row
	Err    error
}
