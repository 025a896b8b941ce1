package query

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"retwis/model/internal/schema"
)

// Get returns a pointer to the record with an id, or ErrNotFound if it does not fit the
// conditions. It reads the record and no index.
func (f *Query) Get(ctx context.Context, id string) (any, error) {
	o := f.Objects
	if err := o.CheckID(id); err != nil {
		return nil, err
	}
	if err := o.Table.Registry.Refresh(ctx); err != nil {
		return nil, err
	}
	q, err := (&Query{Objects: o, Conds: f.Conds, err: f.err}).resolve()
	if err != nil {
		return nil, err
	}
	ptr, fits, err := newFetcher(o, &executor{e: q.e}, nil).fitting(ctx, row{id: id}, o.Table.Rows.Do(ctx, id, false))
	if err == nil && !fits {
		err = fmt.Errorf("%w: id %q, or it does not fit", schema.ErrNotFound, schema.Shorten(id))
	}
	return ptr, err
}

// EachField calls yield with a field of each record found, or the error of a record,
// until it returns false. It reads only this field and those of the conditions.
func (f *Query) EachField(ctx context.Context, number int, yield func(reflect.Value, error) bool) error {
	with := *f
	with.only = []int{number}
	return with.Each(ctx, func(r Result) bool {
		if r.Err != nil {
			return yield(reflect.Value{}, r.Err)
		}
		return yield(f.Objects.GoFields[number].Of(reflect.ValueOf(r.Record).Elem()), nil)
	})
}

// needed returns the numbers of the fields to read for a query that wants only some of
// them; nil: all.
func needed(s *schema.Schema, only []int, indexes []*schema.Index) []int {
	if only == nil {
		return nil
	}
	all := slices.Clone(only)
	for _, x := range indexes {
		if s.Computed(x) {
			return nil
		}
		all = append(all, x.FieldNumbers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
