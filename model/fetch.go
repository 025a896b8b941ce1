package model

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"
)

// fetch reads the records of some hits: one pipeline. Those that are gone, or have
// changed since the index was read so that they no longer fit, or stand elsewhere
// in the order, are left out. Of one that cannot be read there is the error.
func (o *objects) fetch(ctx context.Context, f *finder, hits []hit) ([]result, error) {
	indexes := f.e.indexes(nil)
	if f.order != nil && !slices.Contains(indexes, f.order.x) {
		indexes = append(indexes, f.order.x)
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.id
	}
	all := make([]result, 0, len(hits))
	for i, reply := range o.t.doMany(ctx, ids) {
		ptr, fits, err := o.fitting(ctx, f, hits[i], reply, indexes)
		if err == nil && !fits && o.t.opt.Cache > 0 {
			// What the client remembers may be older than the index.
			ptr, fits, err = o.fitting(ctx, f, hits[i], o.t.do(ctx, ids[i], true), indexes)
		}
		var of *RecordError
		switch {
		case errors.As(err, &of):
			all = append(all, result{hit: hits[i], err: err})
		case err != nil:
			return nil, err
		case fits:
			all = append(all, result{ptr: ptr, hit: hits[i]})
		}
	}
	return all, nil
}

// fitting reads a record from a reply, and reports whether it fits.
func (o *objects) fitting(ctx context.Context, f *finder, h hit, reply rueidis.RedisResult, indexes []*indexSpec) (ptr any, fits bool, err error) {
	stored := make([]text, len(o.fields))
	known, err := o.t.parse(h.id, reply, stored)
	if err == nil && !known {
		err = o.t.absent(ctx, h.id)
	}
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	record := o.newRecord()
	if err == nil {
		err = o.decode(o.t.of(h.id).of(h.id), h.id, stored, record)
	}
	if err != nil {
		return nil, false, err
	}
	if err := o.declaration.compute(record, stored); err != nil {
		return nil, false, &RecordError{ID: h.id, Err: err}
	}
	var entries []entry
	for _, x := range indexes {
		if entries, err = x.append(entries, &o.schema, stored); err != nil {
			return nil, false, &RecordError{h.id, x.Name, err}
		}
	}
	return record.Addr().Interface(), f.e.holds(entries) && f.inPlace(h, entries), nil
}

// inPlace tells whether a record stands in the order where it was found.
func (f *finder) inPlace(h hit, entries []entry) bool {
	return f.order == nil || slices.ContainsFunc(entries, func(e entry) bool {
		return e.index == f.order.x && e.value+h.id == h.at
	})
}
