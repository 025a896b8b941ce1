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
// Equalities of fields with the option index are intersected by the server, at once if
// one of them has few records. Otherwise the query scans the smallest index that answers
// a condition, up to 2000 entries in a script, which checks the other conditions too. The
// records are then read in one pipeline: two round trips for a page, three if there is a
// choice of indexes, however many records there are. Records that change meanwhile so
// that they no longer fit are left out. Expired records are never found.
//
// Without OrderBy and Newest, records come in the order of their creation if the
// conditions are such equalities, or there are none, and otherwise in no particular order:
// Explain shows it.
//
// Unknown names, values of a wrong type and conditions that no index answers are
// errors of the methods that send the query: ErrValue and ErrNoIndex. Check returns them
// without a server.
type Query[T any] struct{ f query.Query }

// Results are a page of what a query finds.
type Results[T any] struct {
	Items []T
	Next  string // the cursor of the next page, for After; empty: there is none
	Prev  string // the cursor of the previous page, for Before; empty: there is none
}

// ValueCount is how many records have a value.
type ValueCount = query.ValueCount

// Find returns the query for the records that fit all conditions; without any, for
// all records in the order of their creation.
func (s *Store[T]) Find(conds ...Cond) *Query[T] {
	return &Query[T]{query.Query{Objects: s.o, Conds: slices.Clone(conds)}}
}

// Refs returns the query for the records that refer to another one by a field: the
// reverse of a Ref, or of a list of these.
func (s *Store[T]) Refs(field, id string) *Query[T] {
	q := s.Find()
	q.f.ReferTo(field, id)
	return q
}

// OrderBy sorts what is found by some fields, each perhaps followed by " desc", and by
// id as text among equals, up or down as the index is scanned. Records without a value for one of them are left out. One
// field needs a range index, several a Composite of them, which may begin with fields
// of which Eq asks for one value.
func (q *Query[T]) OrderBy(fields ...string) *Query[T] {
	c := *q
	c.f.Order = slices.Clone(fields)
	return &c
}

// Newest sorts what is found by creation, the newest first, whatever the conditions are;
// Newest().Reverse() sorts the oldest first. It costs nothing for equalities of fields with
// the option index. For other conditions the query scans in this order and checks them, or
// reads all matches and sorts them, whichever is less.
func (q *Query[T]) Newest() *Query[T] {
	c := *q
	c.f.Order, c.f.Created, c.f.Reversed = nil, true, true
	return &c
}

// Reverse reverses OrderBy, or without it the order of creation, as Newest does.
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

// Before selects the page before one that the same query returned: cursor is its Prev. It
// is for Page, and costs as much as the next page.
func (q *Query[T]) Before(cursor string) *Query[T] {
	c := *q
	c.f.Before = cursor
	return &c
}

// And narrows the query: records must fit these conditions too.
func (q *Query[T]) And(conds ...Cond) *Query[T] {
	c := *q
	c.f.Conds = slices.Concat(q.f.Conds, conds)
	return &c
}

// Check returns the error that the methods which send the query would return because of
// its conditions and order, as far as that is known without asking the server. Call it
// when a program starts.
func (q *Query[T]) Check() error { return wrap(q.f.Objects.Table, q.f.Check()) }

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

// Page returns what the query finds up to its Limit, or 100 records, and the cursors
// of the next page and the previous one. Records that cannot be read are left out, and their errors returned
// with the page, as Slice does.
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

// IDs returns the ids of what the query finds, without reading the records.
func (q *Query[T]) IDs(ctx context.Context) ([]string, error) {
	ids, err := q.f.IDs(ctx)
	return ids, wrap(q.f.Objects.Table, err)
}

// Count returns how many records fit the conditions; OrderBy, Limit and After
// are ignored. It is one script if the conditions are equalities of fields with the option
// index, unless more than 20,000 records fit each of them, or one index answers them all.
// Otherwise it checks every entry of the smallest index, some hundred in a script. Records
// that have expired are not counted.
func (q *Query[T]) Count(ctx context.Context) (int64, error) {
	n, err := q.f.Count(ctx, 0)
	return n, wrap(q.f.Objects.Table, err)
}

// CountUpTo is Count, but stops at n: it returns n if at least so many records fit.
func (q *Query[T]) CountUpTo(ctx context.Context, n int) (int64, error) {
	if n < 1 {
		return 0, wrap(q.f.Objects.Table, fmt.Errorf("%w: CountUpTo(%d): it must be at least 1", ErrValue, n))
	}
	total, err := q.f.Count(ctx, int64(n))
	return total, wrap(q.f.Objects.Table, err)
}

// CountBy counts the records that fit the conditions by the values of a field with the
// option index, a list by its elements, and returns the n most frequent values, or all of
// them if n is 0, the most frequent first: facets. OrderBy, Limit and After are ignored.
//
// Without conditions it reads the sizes of the sets of the values, 500 in a pipeline; with
// conditions, or Among, the index entries of all records that are found, 500 in a pipeline.
// It needs memory for each value. Records that are written meanwhile may or may not be
// counted.
func (q *Query[T]) CountBy(ctx context.Context, field string, n int) ([]ValueCount, error) {
	counts, err := q.f.CountBy(ctx, field, n)
	return counts, wrap(q.f.Objects.Table, err)
}

// Explain returns the plan of the query: the index that it scans, and what it checks
// for each entry. One round trip, or none.
func (q *Query[T]) Explain(ctx context.Context) (Explanation, error) {
	plan, err := q.f.Explain(ctx)
	return plan, wrap(q.f.Objects.Table, err)
}

// All streams every record in the order of creation, as Find().All does. Where ids come from
// the counter, that is the order of the numbers.
func (s *Store[T]) All(ctx context.Context) iter.Seq2[T, error] { return s.Find().All(ctx) }

// Len returns how many records there are: one script for each partition, O(1). If
// records expire, it first sweeps those that are due.
func (s *Store[T]) Len(ctx context.Context) (int64, error) { return s.Find().Count(ctx) }

// Count returns how many records fit all conditions, as Query.Count does.
func (s *Store[T]) Count(ctx context.Context, conds ...Cond) (int64, error) {
	return s.Find(conds...).Count(ctx)
}
