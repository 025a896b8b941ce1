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
	// Expr is the expression that documents must match, for example from Parse. It may be nil
	// if With has terms.
	Expr *Expr
	// With are exact terms that documents must have, Without exact terms that documents must not
	// have.
	With, Without []string
	// After and Before limit the ids, both exclusive. 0: no limit. For the next page, set
	// Before to Result.Next.
	After, Before int64
	// Limit is the maximum number of ids. Default 20, at most 1000.
	Limit int
}

// Result is a page of documents.
type Result struct {
	// IDs are in descending order: newest first.
	IDs []int64
	// Next is Query.Before for the next page, or 0 after the last page. A page can have fewer
	// ids than Limit, or none, although more follow: the work of a search is limited.
	Next int64
}

const (
	defaultLimit = 20
	maxLimit     = 1000
)

// Search returns a page of the matching documents, largest ids first. It reads the newest ids
// of each term, 256 or more, in one round trip. If these do not fill the page, it reads
// segments: only those in which all terms of an And can have ids, up to 16 per term at a time.
// After 200 round trips and calls of Options.Text it returns the results so far.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	s, err := reader{x.store}.search(ctx, q)
	if err != nil {
		return Result{}, x.store.fail(ctx, err)
	}
	return s.result, nil
}

// expr returns the complete condition of a query.
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

// errMoved makes a read start again.
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

// search is a query in progress.
type search struct {
	x      *store
	plan   *plan
	query  Query
	parts  []partSearch
	result Result
	work   work
}

// work counts what a search has read.
type work struct {
	trips, segments, candidates, texts int
}

// partSearch is the part of a search in one partition.
type partSearch struct {
	names names
	in    []postings // per term of the plan
	next  int64      // ids <= next are not evaluated yet; 0: all ids are evaluated
	found []candidate
}

// candidate is a document that matches or, if the query has phrases, may match.
type candidate struct {
	id    int64
	terms termSet // terms of the document, if the query has phrases
}

// run runs the search until the page is full or the work limit is reached.
func (s *search) run(ctx context.Context) error {
	for i, k := range s.x.keys {
		seen := s.x.state[i].Load()
		s.parts = append(s.parts, partSearch{names: k.forGeneration(seen.current, false), in: make([]postings, len(s.plan.terms)), next: s.query.Before - 1})
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

// frontier returns the largest id that may be an unknown match.
func (s *search) frontier() (frontier int64) {
	for i := range s.parts {
		frontier = max(frontier, s.parts[i].next)
	}
	return frontier
}

// batch returns the number of matches to find in a partition at a time: one more than the page
// holds, to know whether there is a next page.
func (s *search) batch() int {
	if s.plan.phrases {
		return s.x.sizes.page
	}
	return s.query.Limit + 1
}

// advance evaluates a partition until there are enough matches, or something must be read.
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

// collect finds the matches of a partition from low to p.next.
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

// take moves matches to the result, if no unknown match can precede them. It reports whether the
// result is complete.
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
	for batch := range slices.Chunk(all, size) {
		if batch, err = s.decide(ctx, batch); err != nil {
			return false, err
		}
		for _, c := range batch {
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

// decide returns the candidates that match.
func (s *search) decide(ctx context.Context, batch []candidate) ([]candidate, error) {
	if !s.plan.phrases {
		return batch, nil
	}
	s.work.texts++
	ids := make([]int64, len(batch))
	for i, c := range batch {
		ids[i] = c.id
	}
	texts, err := s.x.opt.Text(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("Options.Text: %w", err)
	}
	return slices.DeleteFunc(batch, func(c candidate) bool {
		text, found := texts[c.id]
		return !found || !s.plan.root.decide(&c.terms, s.x.splitter.Atoms(text))
	}), nil
}
