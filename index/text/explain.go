package text

import (
	"context"
	"strings"

	"retwis/index/text/internal/words"
)

// Explanation is what a search reads.
type Explanation struct {
	Result
	Terms      []TermCount // of the query, in its order; prefixes are completed
	RoundTrips int         // without those for completions and for the counts of Terms
	Segments   int         // that were read
	Candidates int         // documents that have the words
	Texts      int         // calls of Options.Text, to find phrases in them
}

// TermCount is a term of a query, and how many documents have it.
type TermCount struct {
	Term      string
	Kind      string // word (or pair of characters), stem or exact
	Documents int64
}

// Explain runs a query as Search does, and reports what it reads.
func (x *Index) Explain(ctx context.Context, q Query) (*Explanation, error) {
	r := reader{x.store}
	s, err := r.search(ctx, q)
	if err != nil {
		return nil, r.fail(ctx, err)
	}
	var counts []int64
	err = retry(func() error {
		counts, err = r.counts(ctx, s.plan.terms)
		return err
	})
	if err != nil {
		return nil, r.fail(ctx, err)
	}
	e := &Explanation{Result: s.result, RoundTrips: s.work.trips, Segments: s.work.segments, Candidates: s.work.candidates, Texts: s.work.texts}
	for i, term := range s.plan.terms {
		c := TermCount{term, "word", counts[i]}
		if name, found := strings.CutPrefix(term, exactMark); found {
			c.Term, c.Kind = name, "exact"
		} else if name, found := strings.CutPrefix(term, words.StemMark); found {
			c.Term, c.Kind = name, "stem"
		}
		e.Terms = append(e.Terms, c)
	}
	return e, nil
}
