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
func (s *Store[T]) fetch(ctx context.Context, f *finder, hits []hit) ([]found[T], error) {
	indexes := f.e.indexes(nil)
	if f.order != nil && !slices.Contains(indexes, f.order.x) {
		indexes = append(indexes, f.order.x)
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.id
	}
	all := make([]found[T], 0, len(hits))
	for i, reply := range s.t.doMany(ctx, ids) {
		record, fits, err := s.fitting(ctx, f, hits[i], reply, indexes)
		if err == nil && !fits && s.t.opt.Cache > 0 {
			// What the client remembers may be older than the index.
			record, fits, err = s.fitting(ctx, f, hits[i], s.t.do(ctx, ids[i], true), indexes)
		}
		var of *RecordError
		switch {
		case errors.As(err, &of):
			all = append(all, found[T]{hit: hits[i], err: err})
		case err != nil:
			return nil, err
		case fits:
			all = append(all, found[T]{record: record, hit: hits[i]})
		}
	}
	return all, nil
}

// fitting reads a record from a reply, and tells whether it fits.
func (s *Store[T]) fitting(ctx context.Context, f *finder, h hit, reply rueidis.RedisResult, indexes []*indexSpec) (T, bool, error) {
	var record T
	stored := row{fields: make([]text, len(s.fields))}
	known, err := s.t.parse(h.id, reply, &stored)
	if err == nil && !known {
		err = s.t.absent(ctx, h.id)
	}
	if errors.Is(err, ErrNotFound) {
		return record, false, nil
	}
	if err == nil {
		err = stored.damage(nil)
	}
	if err == nil {
		err = s.decode(s.t.of(h.id).of(h.id), h.id, stored.fields, &record)
	}
	if err != nil {
		return record, false, err
	}
	if err := s.compute(&record, stored.fields); err != nil {
		return record, false, &RecordError{ID: h.id, Err: err}
	}
	var entries []entry
	for _, x := range indexes {
		if entries, err = x.append(entries, &s.schema, stored.fields); err != nil {
			return record, false, &RecordError{h.id, x.Name, err}
		}
	}
	return record, f.e.holds(entries) && f.inPlace(h, entries), nil
}

// inPlace tells whether a record stands in the order where it was found.
func (f *finder) inPlace(h hit, entries []entry) bool {
	return f.order == nil || slices.ContainsFunc(entries, func(e entry) bool {
		return e.index == f.order.x && e.value+h.id == h.at
	})
}
