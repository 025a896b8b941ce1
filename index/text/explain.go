package text

import (
	"context"
	"strings"

	"retwis/index/text/internal/words"
)

// Explanation reports what a search reads.
type Explanation struct {
	Result
	Terms      []TermCount // in the order of the query; prefixes are completed
	RoundTrips int         // except for completions and the counts of Terms
	Segments   int         // segments read
	Candidates int         // documents that contain the words
	Texts      int         // calls of Options.Text to check phrases
}

// TermCount is a term of a query with its number of documents.
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
