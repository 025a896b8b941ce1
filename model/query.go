package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Query is a question to a Store, made by Find: conditions that all have to hold,
// an order, and where to begin and end. It asks nothing before one of All, Page,
// Iter, First, Count, IDs and Explain is called. Its methods that change it return
// a new one, so that a Query can be kept and asked again, also by many goroutines.
//
// The smallest of the indexes that can answer a condition is walked, a script for
// up to 500 of its entries, and the other conditions are looked up beside it; the
// records are then read in one pipeline: two or three round trips for a page,
// whatever there is besides. A record that changes meanwhile so that it no longer
// fits is left out. Expired records are never found.
//
// Wrong names, values of a wrong type and conditions that no index answers are
// errors of the methods that ask: ErrValue and ErrNoIndex.
type Query[T any] struct {
	s      *Store[T]
	conds  []Cond
	fields []string
	turned bool
	limit  int
	after  string
	err    error // of how it was made
}

// Page is a part of what a query finds.
type Page[T any] struct {
	Items []T
	Next  string // give it to After for the next page; empty: this is the last one
}

// pageSize is how many records a page has where no limit is set.
const pageSize = 100

// Find returns the query for the records that fit all conditions; without any, for
// all records in the order of their creation.
func (s *Store[T]) Find(conds ...Cond) *Query[T] {
	return &Query[T]{s: s, conds: slices.Clone(conds)}
}

// OrderBy puts what is found in the order of some fields, each perhaps with
// " desc" behind its name, and of ids as text where these are the same. Records
// without a value of one of them are left out. One field needs a range index,
// several a Composite of them, which may begin with fields of which Eq asks for
// one value. Without OrderBy records come in no particular order.
func (q *Query[T]) OrderBy(fields ...string) *Query[T] {
	c := *q
	c.fields = slices.Clone(fields)
	return &c
}

// Desc turns the order around: of OrderBy, or of the creation of all records.
func (q *Query[T]) Desc() *Query[T] {
	c := *q
	c.turned = !q.turned
	return &c
}

// Limit sets how many records are wanted at most. Default 0: all; of Page, 100.
func (q *Query[T]) Limit(n int) *Query[T] {
	c := *q
	c.limit = n
	return &c
}

// After begins behind a page that the same query gave: cursor is its Next. Empty,
// it begins with the first record. The cursor of another query is an ErrCursor.
// Going on costs as much as beginning; records that others add or remove move no
// other record to another page.
func (q *Query[T]) After(cursor string) *Query[T] {
	c := *q
	c.after = cursor
	return &c
}

// question is a query whose conditions are read.
type question struct {
	e       *expr
	order   []ordering
	reverse bool // of all records, the last first
	limit   int
	after   cursor
	finger  string
}

func (q *Query[T]) question() (*question, error) {
	if q.err != nil {
		return nil, q.err
	}
	if q.limit < 0 {
		return nil, fmt.Errorf("%w: Limit(%d): it cannot be negative", ErrValue, q.limit)
	}
	order, err := q.s.orderOf(q.fields, q.turned)
	if err != nil {
		return nil, err
	}
	ordered := make([]int, len(order))
	for i, o := range order {
		ordered[i] = o.field
	}
	e, err := q.s.resolve(q.conds, ordered)
	if err != nil {
		return nil, err
	}
	if q.turned && len(order) == 0 && len(e.kids) > 0 {
		return nil, fmt.Errorf("%w: Desc turns an order around, and there is none: add OrderBy", ErrValue)
	}
	a := &question{e: e, order: order, reverse: q.turned && len(order) == 0, limit: q.limit}
	a.finger = a.fingerprint(&q.s.schema, q.s.t.opt.Name)
	if q.after != "" {
		a.after, err = parseCursor(q.after, a.finger)
	}
	return a, err
}

// finder plans a query and begins it. limit is how many are wanted; 0: all.
func (q *Query[T]) finder(ctx context.Context, limit int) (*finder, *question, error) {
	if err := q.s.t.refresh(ctx); err != nil {
		return nil, nil, err
	}
	a, err := q.question()
	if err != nil {
		return nil, nil, err
	}
	a.limit = limit
	var pinned []string
	if q.after != "" {
		pinned = append([]string{}, a.after.names...)
	}
	f, err := q.s.t.plan(ctx, a, pinned)
	if err == nil {
		err = f.start(a.after)
	}
	return f, a, err
}

// found is a record and where it was, or why it cannot be read.
type found[T any] struct {
	record T
	hit    hit
	err    error
}

// Iter yields what the query finds, in the way of All, while it reads on: a few
// records at first and then some hundred at once. Of a record that cannot be read it
// yields the error, in which errors.As finds a *RecordError, and goes on with the
// next one; it ends at any other error.
func (q *Query[T]) Iter(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		f, _, err := q.finder(ctx, q.limit)
		if err == nil {
			err = q.each(ctx, f, q.limit, 0, func(r found[T]) bool { return yield(r.record, q.s.wrap(r.err)) })
		}
		if err != nil {
			var none T
			yield(none, q.s.wrap(err))
		}
	}
}

// firstBatch is how many records are read first where all are wanted.
const firstBatch = 100

// each calls f for what is found until it returns false. ahead is how many more
// than the limit are looked for.
func (q *Query[T]) each(ctx context.Context, find *finder, limit, ahead int, f func(found[T]) bool) error {
	batch := firstBatch
	for left := limit; limit == 0 || left > 0; {
		want := batch
		if limit > 0 {
			want = min(left, fetchMany)
		}
		hits, err := find.next(ctx, want+ahead)
		if err != nil {
			return err
		}
		if len(hits) > want {
			find.ready = append(hits[want:len(hits):len(hits)], find.ready...)
			hits = hits[:want]
		}
		if len(hits) == 0 {
			return nil
		}
		records, err := q.s.fetch(ctx, find, hits)
		if err != nil {
			return err
		}
		for _, r := range records {
			if !f(r) {
				return nil
			}
		}
		for _, r := range records {
			if r.err == nil {
				left--
			}
		}
		batch = fetchMany
	}
	return nil
}

// All returns what the query finds. Without a Limit that is every record that
// fits: for many of them Iter needs less memory. Records that cannot be read are
// left out: the error joins a *RecordError for each of them, or the first hundred,
// and the others are returned beside it.
func (q *Query[T]) All(ctx context.Context) ([]T, error) {
	records := []T{}
	var damaged recordErrors
	for r, err := range q.Iter(ctx) {
		switch {
		case err == nil:
			records = append(records, r)
		case !damaged.add(err):
			return nil, err
		}
	}
	return records, damaged.join()
}

// First returns the first record that the query finds, or ErrNotFound. It passes
// over records that cannot be read, and returns their errors as All does.
func (q *Query[T]) First(ctx context.Context) (T, error) {
	var damaged recordErrors
	for r, err := range q.Limit(1).Iter(ctx) {
		if err == nil || !damaged.add(err) {
			return r, errors.Join(damaged.join(), err)
		}
	}
	var none T
	return none, errors.Join(q.s.wrap(fmt.Errorf("%w: none fits", ErrNotFound)), damaged.join())
}

// Page returns what the query finds up to its Limit, or 100 records, and a cursor
// for what comes after it. Records that cannot be read are left out, and their
// errors returned beside the page, as All does.
func (q *Query[T]) Page(ctx context.Context) (Page[T], error) {
	page, err := q.page(ctx)
	return page, q.s.wrap(err)
}

func (q *Query[T]) page(ctx context.Context) (Page[T], error) {
	var page Page[T]
	limit := q.limit
	if limit == 0 {
		limit = pageSize
	}
	f, a, err := q.finder(ctx, limit)
	if err != nil {
		return page, err
	}
	page.Items = make([]T, 0, min(limit, fetchMany))
	var last hit
	var damaged recordErrors
	err = q.each(ctx, f, limit, 1, func(r found[T]) bool {
		if last = r.hit; !damaged.add(r.err) {
			page.Items = append(page.Items, r.record)
		}
		return true
	})
	if err != nil || len(page.Items) < limit {
		return page, errors.Join(err, damaged.join())
	}
	more, err := f.more(ctx)
	if more {
		page.Next = f.cursor(last).text(a.finger)
	}
	return page, errors.Join(err, damaged.join())
}

// IDs returns the ids of what the query finds, without reading the records.
func (q *Query[T]) IDs(ctx context.Context) ([]string, error) {
	ids, err := q.ids(ctx)
	return ids, q.s.wrap(err)
}

func (q *Query[T]) ids(ctx context.Context) ([]string, error) {
	f, _, err := q.finder(ctx, q.limit)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for q.limit == 0 || len(ids) < q.limit {
		want := maxWant
		if q.limit > 0 {
			want = min(want, q.limit-len(ids))
		}
		hits, err := f.next(ctx, want)
		if err != nil || len(hits) == 0 {
			return ids, err
		}
		for _, h := range hits {
			ids = append(ids, h.id)
		}
	}
	return ids, nil
}

// All yields every record in the order of creation, as Find().Iter does.
func (s *Store[T]) All(ctx context.Context) iter.Seq2[T, error] { return s.Find().Iter(ctx) }

// Refs returns the query for the records that refer to another one by a field:
// the way back of a Ref, or of a list of these.
func (s *Store[T]) Refs(field, id string) *Query[T] {
	q := s.Find(Eq(field, id))
	number := s.number(field)
	if number >= 0 && !slices.ContainsFunc(s.refs, func(r refField) bool { return r.field == number }) {
		q.err = fmt.Errorf("%w: Refs(%q): it is no model.Ref", ErrValue, field)
	}
	return q
}
