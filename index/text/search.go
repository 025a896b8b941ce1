package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Query selects documents.
type Query struct {
	// Expr is what documents must match, as from Parse. It may be nil if With has terms.
	Expr *Expr
	// With are exact terms that documents must have, and Without those that they must not.
	With, Without []string
	// After and Before bound the ids, both exclusive. 0: no bound. To continue with the
	// next page, set Before to Result.Next.
	After, Before int64
	// Limit is the maximum number of ids. Default 20, at most 1000.
	Limit int
}

// Result is a page of documents.
type Result struct {
	// IDs are in descending order: the newest first.
	IDs []int64
	// Next is Query.Before of the next page, or 0 after the last one. A page can have
	// fewer ids than Limit, or none, although more follow: the work of a search is bounded.
	Next int64
}

const (
	defaultLimit = 20
	maxLimit     = 1000
)

// Search returns a page of the documents that match, the largest ids first. It reads the
// terms of the query in one round trip. Where the newest 256 or more ids of each do not
// fill the page, it reads segments: only those where all of the terms of an And can have
// ids, up to 16 of each term at a time. A search ends after 200 round trips and calls of
// Options.Text with what it has found.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	s, err := reader{x.store}.search(ctx, q)
	if err != nil {
		return Result{}, x.store.fail(ctx, err)
	}
	return s.result, nil
}

// expr returns the whole condition of a query.
func (q *Query) expr() (*Expr, error) {
	args := []*Expr{q.Expr}
	for _, term := range q.With {
		args = append(args, Exact(term))
	}
	for _, term := range q.Without {
		args = append(args, Not(Exact(term)))
	}
	e := And(args...)
	if e == nil {
		return nil, invalid("the query has no words")
	}
	return e, e.check()
}

// search runs a query.
func (x reader) search(ctx context.Context, q Query) (*search, error) {
	switch {
	case q.Limit < 0 || q.Limit > maxLimit:
		return nil, invalid("Query.Limit is %d: it must be from 0 to %d", q.Limit, maxLimit)
	case q.After < 0 || q.Before < 0 || q.After > MaxID || q.Before > MaxID:
		return nil, invalid("Query.After and Before must be from 0 to 2^53-1")
	}
	q.Limit = cmp.Or(q.Limit, defaultLimit)
	q.Before = cmp.Or(q.Before, MaxID+1)
	e, err := q.expr()
	if err != nil {
		return nil, err
	}
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	var s *search
	err = retry(func() error {
		p, err := x.plan(ctx, e)
		if err != nil {
			return err
		}
		s = &search{x: x.store, plan: p, query: q}
		return s.run(ctx)
	})
	return s, err
}

// errMoved is why a read begins again.
var errMoved = errors.New("a rebuild has replaced the index meanwhile")

// retry repeats a read while rebuilds replace the index.
func retry(read func() error) error {
	for range 10 {
		if err := read(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return errMoved
}

// search is a query that is executed.
type search struct {
	x      *store
	plan   *plan
	query  Query
	parts  []partSearch
	result Result
	work   work
}

// work is what a search has read.
type work struct {
	trips, segments, candidates, texts int
}

// partSearch is a search in a partition.
type partSearch struct {
	names names
	in    []postings // of the terms of the plan
	next  int64      // ids up to it are not evaluated yet; 0: all are
	found []candidate
}

// candidate is a document that matches, or may if the query has phrases.
type candidate struct {
	id    int64
	terms termSet // that it has, if the query has phrases
}

func (s *search) run(ctx context.Context) error {
	for i, k := range s.x.keys {
		seen := s.x.state[i].Load()
		s.parts = append(s.parts, partSearch{names: k.of(seen.now, false), in: make([]postings, len(s.plan.terms)), next: s.query.Before - 1})
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	for {
		for i := range s.parts {
			s.advance(&s.parts[i])
		}
		done, err := s.take(ctx)
		if err != nil || done {
			return err
		}
		if s.work.trips+s.work.texts >= s.x.sizes.work {
			s.result.Next = s.frontier() + 1
			return nil
		}
		if err := s.read(ctx); err != nil {
			return err
		}
	}
}

// frontier returns up to which id there may be matches that are not known.
func (s *search) frontier() (frontier int64) {
	for i := range s.parts {
		frontier = max(frontier, s.parts[i].next)
	}
	return frontier
}

// batch returns how many matches of a partition to look for at a time: one more than the
// page has, to know whether it is the last one.
func (s *search) batch() int {
	if s.plan.phrases {
		return s.x.sizes.page
	}
	return s.query.Limit + 1
}

// advance evaluates a partition until there are matches enough, or something must be read.
func (s *search) advance(p *partSearch) {
	for p.next > s.query.After && len(p.found) < s.batch() {
		p.next = s.plan.root.upper(p.in, p.next)
		if p.next <= s.query.After {
			break
		}
		low := s.plan.root.floor(p.in, p.next)
		if low > p.next {
			s.plan.root.want(p.in, p.next, nil)
			return
		}
		low = max(low, p.next-int64(s.x.sizes.window)+1, s.query.After+1)
		s.collect(p, low)
	}
	if p.next <= s.query.After {
		p.next = 0
	}
}

// collect finds the matches of a partition from low on.
func (s *search) collect(p *partSearch, low int64) {
	w := s.plan.root.matches(p.in, low, p.next, false)
	for id := w.Last(p.next); id >= low; id = w.Last(id - 1) {
		c := candidate{id: id}
		if s.plan.phrases {
			for i := range p.in {
				if p.in[i].has(id) {
					c.terms.add(i)
				}
			}
		}
		p.found, p.next = append(p.found, c), id-1
		s.work.candidates++
		if len(p.found) >= s.batch() {
			return
		}
	}
	p.next = low - 1
}

// take moves the matches that no unknown one can precede to the result. It reports whether
// that is complete.
func (s *search) take(ctx context.Context) (done bool, err error) {
	frontier := s.frontier()
	var all []candidate
	for i := range s.parts {
		p := &s.parts[i]
		n := 0
		for n < len(p.found) && p.found[n].id > frontier {
			n++
		}
		all = append(all, p.found[:n]...)
		p.found = p.found[n:]
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.id, a.id) })
	size := max(1, len(all))
	if s.plan.phrases {
		size = s.x.sizes.page
	}
	for some := range slices.Chunk(all, size) {
		if some, err = s.decide(ctx, some); err != nil {
			return false, err
		}
		for _, c := range some {
			if len(s.result.IDs) == s.query.Limit {
				s.result.Next = s.result.IDs[s.query.Limit-1]
				return true, nil
			}
			s.result.IDs = append(s.result.IDs, c.id)
		}
	}
	if frontier > 0 && len(s.result.IDs) == s.query.Limit {
		s.result.Next = s.result.IDs[s.query.Limit-1]
		return true, nil
	}
	return frontier == 0, nil
}

// decide returns those of some candidates that match.
func (s *search) decide(ctx context.Context, some []candidate) ([]candidate, error) {
	if !s.plan.phrases {
		return some, nil
	}
	s.work.texts++
	ids := make([]int64, len(some))
	for i, c := range some {
		ids[i] = c.id
	}
	texts, err := s.x.opt.Text(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("Options.Text: %w", err)
	}
	return slices.DeleteFunc(some, func(c candidate) bool {
		text, found := texts[c.id]
		return !found || !s.plan.root.decide(&c.terms, s.x.splitter.Atoms(text))
	}), nil
}
