package query

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Get returns a pointer to the record with an id, or ErrNotFound if it does not match the
// conditions. It reads only the record, not the indexes.
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
	ptr, matches, err := newFetcher(o, &executor{e: q.e}, nil).decode(ctx, row{id: id}, o.Table.Rows.Do(ctx, id, false))
	for _, s := range f.Among {
		if err == nil && matches {
			matches, err = isMember(ctx, s, id)
		}
	}
	if err == nil && !matches {
		err = fmt.Errorf("%w: id %q does not exist or does not match", schema.ErrNotFound, schema.Shorten(id))
	}
	return ptr, err
}

// GetBy returns a pointer to the record with a value of a unique field, or ErrNotFound.
func GetBy(ctx context.Context, o *record.Objects, name string, value any) (any, error) {
	if err := o.Table.Registry.Refresh(ctx); err != nil {
		return nil, err
	}
	q, err := (&Query{Objects: o, Conds: []Cond{On(schema.OpEq, name, value)}}).resolve()
	if err != nil {
		return nil, err
	}
	leaf := q.e.terms[0]
	x := o.Declaration.Schema.UniqueIndex(leaf.field)
	switch {
	case x == nil:
		return nil, fmt.Errorf("%w: GetBy(%q): the field is not unique: use Find(Eq(…)).First, or declare it `redis:\"%s,unique\"`", schema.ErrNoIndex, name, name)
	case !x.Built():
		return nil, x.NotBuilt()
	}
	ptr, err := ownerOf(ctx, newFetcher(o, &executor{e: q.e}, nil), x, leaf)
	if err == nil && ptr == nil {
		err = fmt.Errorf("%w: %s is %q", schema.ErrNotFound, name, schema.Shorten(leaf.values[0]))
	}
	return ptr, err
}

// ownerOf returns a pointer to the record with a value of a unique index, or nil if there is
// none or it does not match.
func ownerOf(ctx context.Context, fetch *fetcher, x *schema.Index, leaf *expr) (any, error) {
	o := fetch.o
	text, err := x.ValueOf(&o.Declaration.Schema, leaf.values[0])
	if err != nil {
		return nil, err
	}
	last := ""
	for range 2 { // the owner may change before it is read
		id, exists, err := o.Table.Claims.Owner(ctx, x, text)
		if err == nil && !exists {
			err = o.Table.Registry.CheckBuilt(ctx, x)
		}
		if err != nil {
			return nil, o.Table.TypeError(ctx, err)
		}
		if !exists || id == last {
			break
		}
		ptr, matches, err := fetch.decode(ctx, row{id: id}, fetch.readOne(ctx, id))
		if err != nil || matches {
			return ptr, err
		}
		last = id
	}
	return nil, nil
}

// unique returns an equality condition on a unique field that every result must match, or nil.
// With such a condition, there is at most one result.
func (f *Query) unique(q *parsedQuery) *expr {
	if f.After != "" || len(f.Among) > 0 || len(f.Order) > 0 {
		return nil
	}
	for _, e := range q.e.terms {
		if e.op != schema.OpEq {
			continue
		}
		if x := f.Objects.Declaration.Schema.UniqueIndex(e.field); x != nil && x == e.index && x.Built() {
			return e
		}
	}
	return nil
}

// eachOwner is Each for a query with an equality condition on a unique field: it reads the
// index and the record, and checks the record as other queries do.
func (f *Query) eachOwner(ctx context.Context, q *parsedQuery, leaf *expr, yield func(Result) bool) error {
	ptr, err := ownerOf(ctx, newFetcher(f.Objects, &executor{e: q.e}, f.only), leaf.index, leaf)
	if damaged := (*schema.RecordError)(nil); errors.As(err, &damaged) {
		yield(Result{Err: err})
		return nil
	}
	if err == nil && ptr != nil {
		yield(Result{Record: ptr})
	}
	return err
}

// EachField calls yield with a field of each result, or its error, until yield returns false.
// It reads only this field and the fields of the conditions.
func (f *Query) EachField(ctx context.Context, number int, yield func(reflect.Value, error) bool) error {
	q := *f
	q.only = []int{number}
	return q.Each(ctx, func(r Result) bool {
		if r.Err != nil {
			return yield(reflect.Value{}, r.Err)
		}
		return yield(f.Objects.Declaration.GoFields[number].Of(reflect.ValueOf(r.Record).Elem()), nil)
	})
}

// neededFields returns the numbers of the fields to read for a query that returns the fields in
// only; nil: all.
func neededFields(s *schema.Schema, only []int, indexes []*schema.Index) []int {
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

// isMember reports whether an id is in a collection.
func isMember(ctx context.Context, m Members, id string) (bool, error) {
	r, err := m.Open(ctx)
	if err != nil {
		return false, err
	}
	kept, err := r.Keep(ctx, []string{id})
	return len(kept) > 0, err
}
