package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"retwis/model/internal/query"
)

// Query selects the records of a Store that match all of its conditions, in an order, from a
// cursor, up to a limit. Find creates a Query. No command is sent until All, Slice, Page,
// First, Count, IDs or Explain is called. Methods that modify a Query return a new one, so a
// Query can be stored, reused, and shared by goroutines.
//
// Equality conditions on fields with the option index are intersected by the server, in a
// single step if one of the conditions matches few records. Otherwise the query scans the
// smallest index that serves a condition, up to 2000 entries per script, and checks the other
// conditions in the script. The records are then read in one pipeline: two round trips per
// page, or three if there is a choice of indexes, however many records there are. Records that
// change meanwhile and no longer match are omitted. Expired records are never found.
//
// Without OrderBy and Newest, records are in creation order if there are no conditions or all
// of them are such equalities, and otherwise in no particular order: see Explain.
//
// Unknown names, values of a wrong type, and conditions that no index serves are returned as
// ErrValue and ErrNoIndex by the methods that send the query. Check returns them without asking
// the server.
type Query[T any] struct{ f query.Query }

// Results is a page of results of a query.
type Results[T any] struct {
	Items []T
	Next  string // cursor of the next page, for After; empty: last page
	Prev  string // cursor of the previous page, for Before; empty: first page
}

// ValueCount is a value with the number of records that have it.
type ValueCount = query.ValueCount

// Find returns the query for the records that match all conditions; without conditions, for all
// records in creation order.
func (s *Store[T]) Find(conds ...Cond) *Query[T] {
	return &Query[T]{query.Query{Objects: s.o, Conds: slices.Clone(conds)}}
}

// Refs returns the query for the records that refer to the record with an id by a field: the
// reverse of a Ref or a list of Refs.
func (s *Store[T]) Refs(field, id string) *Query[T] {
	q := s.Find()
	q.f.ReferTo(field, id)
	return q
}

// OrderBy sorts the results by fields, each optionally followed by " desc". Ties are broken by
// id as text, in scan direction. Records that lack one of the fields are omitted. One field
// needs a range index; several need a Composite, which may start with fields that have an Eq
// condition.
func (q *Query[T]) OrderBy(fields ...string) *Query[T] {
	c := *q
	c.f.Order = slices.Clone(fields)
	return &c
}

// Newest sorts the results by creation, newest first, whatever the conditions;
// Newest().Reverse() sorts oldest first. It costs nothing if all conditions are equalities on
// fields with the option index. For other conditions the query either scans in this order and
// checks them, or reads all matches and sorts them, whichever is cheaper.
func (q *Query[T]) Newest() *Query[T] {
	c := *q
	c.f.Order, c.f.Created, c.f.Reversed = nil, true, true
	return &c
}

// Reverse reverses OrderBy or, without it, sorts newest first, as Newest does.
func (q *Query[T]) Reverse() *Query[T] {
	c := *q
	c.f.Reversed = !q.f.Reversed
	return &c
}

// Limit sets the maximum number of records. Default 0: all; for Page, 100.
func (q *Query[T]) Limit(n int) *Query[T] {
	c := *q
	c.f.Limit = n
	return &c
}

// After continues after a page of the same query: cursor is the Next of the page. An empty
// cursor starts with the first record. The cursor of a different query returns ErrCursor. Every
// page costs as much as the first one, and pages are stable under concurrent writes.
func (q *Query[T]) After(cursor string) *Query[T] {
	c := *q
	c.f.After = cursor
	return &c
}

// Before selects the page before a page of the same query: cursor is the Prev of the page.
// Before can only be used with Page, and costs as much as After.
func (q *Query[T]) Before(cursor string) *Query[T] {
	c := *q
	c.f.Before = cursor
	return &c
}

// And adds conditions that records must also match.
func (q *Query[T]) And(conds ...Cond) *Query[T] {
	c := *q
	c.f.Conds = slices.Concat(q.f.Conds, conds)
	return &c
}

// Check returns the error that sending the query would return because of its conditions and
// order, as far as it is known without asking the server. Call it when a program starts.
func (q *Query[T]) Check() error { return wrap(q.f.Objects.Table, q.f.Check()) }

// All streams the results: a few records at first, then a few hundred per round trip. For an
// unreadable record it yields an error, in which errors.As finds a *RecordError, and continues
// with the next record; any other error ends the iteration.
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		err := q.f.Each(ctx, func(r query.Result) bool {
			if r.Err != nil {
				return yield(zero, wrap(q.f.Objects.Table, r.Err))
			}
			return yield(*r.Record.(*T), nil)
		})
		if err != nil {
			yield(zero, wrap(q.f.Objects.Table, err))
		}
	}
}

// Slice returns the results. Without a Limit these are all matching records; for many records,
// All needs less memory. Unreadable records are omitted; the error joins a *RecordError for
// each of the first hundred.
func (q *Query[T]) Slice(ctx context.Context) ([]T, error) {
	records := []T{}
	var damaged recordErrors
	for r, err := range q.All(ctx) {
		switch {
		case err == nil:
			records = append(records, r)
		case !damaged.add(err):
			return nil, err
		}
	}
	return records, damaged.join()
}

// First returns the first result, or ErrNotFound. It skips unreadable records, and returns
// their errors as Slice does.
func (q *Query[T]) First(ctx context.Context) (T, error) {
	var damaged recordErrors
	for r, err := range q.Limit(1).All(ctx) {
		if err == nil || !damaged.add(err) {
			return r, errors.Join(damaged.join(), err)
		}
	}
	var zero T
	return zero, errors.Join(wrap(q.f.Objects.Table, fmt.Errorf("%w: no record matches", ErrNotFound)), damaged.join())
}

// Page returns up to Limit results, by default 100, and the cursors of the next and the
// previous page. Unreadable records are omitted, and their errors returned with the page, as
// Slice does.
func (q *Query[T]) Page(ctx context.Context) (Results[T], error) {
	page := Results[T]{Items: []T{}}
	var damaged recordErrors
	prev, next, err := q.f.Page(ctx, func(ptr any, err error) {
		if err != nil {
			damaged.add(wrap(q.f.Objects.Table, err))
		} else {
			page.Items = append(page.Items, *ptr.(*T))
		}
	})
	page.Prev, page.Next = prev, next
	return page, errors.Join(wrap(q.f.Objects.Table, err), damaged.join())
}

// IDs returns the ids of the results, without reading the records.
func (q *Query[T]) IDs(ctx context.Context) ([]string, error) {
	ids, err := q.f.IDs(ctx)
	return ids, wrap(q.f.Objects.Table, err)
}

// Count returns the number of records that match the conditions; OrderBy, Limit and After are
// ignored. It is one script if a single index serves all conditions, or if they are equalities
// on fields with the option index, unless each of them matches more than 20,000 records.
// Otherwise it checks every entry of the smallest index, a few hundred per script. Expired
// records are not counted.
func (q *Query[T]) Count(ctx context.Context) (int64, error) {
	n, err := q.f.Count(ctx, 0)
	return n, wrap(q.f.Objects.Table, err)
}

// CountUpTo is like Count, but stops at n: it returns n if at least n records match.
func (q *Query[T]) CountUpTo(ctx context.Context, n int) (int64, error) {
	if n < 1 {
		return 0, wrap(q.f.Objects.Table, fmt.Errorf("%w: CountUpTo(%d): it must be at least 1", ErrValue, n))
	}
	total, err := q.f.Count(ctx, int64(n))
	return total, wrap(q.f.Objects.Table, err)
}

// CountBy counts the matching records by the values of a field with the option index (facets),
// or by the elements of a list. It returns the n most frequent values, or all of them if n is
// 0, most frequent first. OrderBy, Limit and After are ignored.
//
// Without conditions it reads the sizes of the sets of the values, 500 per pipeline; with
// conditions, or Among, it reads the index entries of all matching records, 500 per pipeline.
// CountBy needs memory for each value. Records written meanwhile may or may not be counted.
func (q *Query[T]) CountBy(ctx context.Context, field string, n int) ([]ValueCount, error) {
	counts, err := q.f.CountBy(ctx, field, n)
	return counts, wrap(q.f.Objects.Table, err)
}

// Explain returns the plan of the query: the index that it scans, and the checks for each
// entry. At most one round trip.
func (q *Query[T]) Explain(ctx context.Context) (Explanation, error) {
	plan, err := q.f.Explain(ctx)
	return plan, wrap(q.f.Objects.Table, err)
}

// All streams every record in creation order, as Find().All does. With counter ids, this is the
// numerical order of the ids.
func (s *Store[T]) All(ctx context.Context) iter.Seq2[T, error] { return s.Find().All(ctx) }

// Len returns the number of records: one script per partition, O(1). If records expire, it
// first sweeps the expired records.
func (s *Store[T]) Len(ctx context.Context) (int64, error) { return s.Find().Count(ctx) }

// Count returns the number of records that match all conditions, as Query.Count does.
func (s *Store[T]) Count(ctx context.Context, conds ...Cond) (int64, error) {
	return s.Find(conds...).Count(ctx)
}
