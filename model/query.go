package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"retwis/model/internal/query"
)

// Query selects records of a Store: those that fit all of its conditions, in an order,
// from a place on and up to a limit. Find makes one. Nothing is sent before All, Slice,
// Page, First, Count, IDs or Explain is called. The methods that change a Query return
// a new one, so that a Query can be stored and used again, by many goroutines.
//
// The query scans the smallest index that answers a condition, up to 500 entries in a
// script, which checks the other conditions too; the records are then read in one
// pipeline: two or three round trips for a page, however many records there are.
// Records that change meanwhile so that they no longer fit are left out. Expired
// records are never found.
//
// Unknown names, values of a wrong type and conditions that no index answers are
// errors of the methods that send the query: ErrValue and ErrNoIndex.
type Query[T any] struct{ f query.Query }

// Results are a page of what a query finds.
type Results[T any] struct {
	Items []T
	Next  string // the cursor of the next page, for After; empty: there is none
}

// Find returns the query for the records that fit all conditions; without any, for
// all records in the order of their creation.
func (s *Store[T]) Find(conds ...Cond) *Query[T] {
	return &Query[T]{query.Query{Objects: s.o, Conds: internal(conds)}}
}

// Refs returns the query for the records that refer to another one by a field: the
// reverse of a Ref, or of a list of these.
func (s *Store[T]) Refs(field, id string) *Query[T] {
	q := s.Find()
	q.f.ReferTo(field, id)
	return q
}

// OrderBy sorts what is found by some fields, each perhaps followed by " desc", and by
// id as text among equals. Records without a value for one of them are left out. One
// field needs a range index, several a Composite of them, which may begin with fields
// of which Eq asks for one value. Without OrderBy records come in no particular order.
func (q *Query[T]) OrderBy(fields ...string) *Query[T] {
	c := *q
	c.f.Order = slices.Clone(fields)
	return &c
}

// Reverse reverses OrderBy, or the order of creation if there are no conditions.
func (q *Query[T]) Reverse() *Query[T] {
	c := *q
	c.f.Reversed = !q.f.Reversed
	return &c
}

// Limit sets how many records are wanted at most. Default 0: all; of Page, 100.
func (q *Query[T]) Limit(n int) *Query[T] {
	c := *q
	c.f.Limit = n
	return &c
}

// After continues after a page that the same query returned: cursor is its Next.
// Empty, it begins with the first record. The cursor of another query is an ErrCursor.
// Continuing costs as much as beginning, and pages are stable under concurrent writes.
func (q *Query[T]) After(cursor string) *Query[T] {
	c := *q
	c.f.After = cursor
	return &c
}

// All streams what the query finds: a few records at first, then some hundred in a
// round trip. For a record that cannot be read it yields the error, in which errors.As
// finds a *RecordError, and continues with the next one; any other error ends it.
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		err := q.f.Each(ctx, func(r query.Result) bool {
			if r.Err != nil {
				return yield(none, wrap(q.f.Objects.Table, r.Err))
			}
			return yield(*r.Record.(*T), nil)
		})
		if err != nil {
			yield(none, wrap(q.f.Objects.Table, err))
		}
	}
}

// Slice returns what the query finds. Without a Limit that is every record that
// fits: for many of them All needs less memory. Records that cannot be read are
// left out: the error joins a *RecordError for each of the first hundred.
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

// First returns the first record that the query finds, or ErrNotFound. It skips
// records that cannot be read, and returns their errors as Slice does.
func (q *Query[T]) First(ctx context.Context) (T, error) {
	var damaged recordErrors
	for r, err := range q.Limit(1).All(ctx) {
		if err == nil || !damaged.add(err) {
			return r, errors.Join(damaged.join(), err)
		}
	}
	var none T
	return none, errors.Join(wrap(q.f.Objects.Table, fmt.Errorf("%w: none fits", ErrNotFound)), damaged.join())
}

// Page returns what the query finds up to its Limit, or 100 records, and the cursor
// of the next page. Records that cannot be read are left out, and their errors returned
// with the page, as Slice does.
func (q *Query[T]) Page(ctx context.Context) (Results[T], error) {
	page := Results[T]{Items: []T{}}
	var damaged recordErrors
	next, err := q.f.Page(ctx, func(ptr any, err error) {
		if err != nil {
			damaged.add(wrap(q.f.Objects.Table, err))
		} else {
			page.Items = append(page.Items, *ptr.(*T))
		}
	})
	page.Next = next
	return page, errors.Join(wrap(q.f.Objects.Table, err), damaged.join())
}

// IDs returns the ids of what the query finds, without reading the records.
func (q *Query[T]) IDs(ctx context.Context) ([]string, error) {
	ids, err := q.f.IDs(ctx)
	return ids, wrap(q.f.Objects.Table, err)
}

// Count returns how many records fit the conditions; OrderBy, Limit and After
// are ignored. If one index answers all conditions, the server counts in O(log n);
// otherwise it checks every entry of the smallest one, some hundred in a script.
// Records that have expired are not counted.
func (q *Query[T]) Count(ctx context.Context) (int64, error) {
	n, err := q.f.Count(ctx)
	return n, wrap(q.f.Objects.Table, err)
}

// Explain returns the plan of the query: the index that it scans, and what it checks
// for each entry. One round trip, or none.
func (q *Query[T]) Explain(ctx context.Context) (Explanation, error) { return explain(ctx, &q.f) }

// All streams every record in the order of creation, as Find().All does.
func (s *Store[T]) All(ctx context.Context) iter.Seq2[T, error] { return s.Find().All(ctx) }

// Len returns how many records there are: one script for each partition, O(1). If
// records expire, it first sweeps those that are due.
func (s *Store[T]) Len(ctx context.Context) (int64, error) { return s.Find().Count(ctx) }

// Count returns how many records fit all conditions, as Query.Count does.
func (s *Store[T]) Count(ctx context.Context, conds ...Cond) (int64, error) {
	return s.Find(conds...).Count(ctx)
}
