package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"retwis/index"
)

// maxComplete is the maximum number of completions.
const maxComplete = 1000

// Complete returns the k most frequent terms with a prefix, most frequent first; ties are
// broken by normalized form. The prefix is normalized like a term, so case and accents do not
// matter. A trailing blank, or punctuation that becomes one, ends a word: "new " is a prefix of
// "new york" and of "new", but not of "newton". The empty prefix matches every term.
//
// The result is exact. It takes one round trip that reads about 64 terms, whatever the number
// of matches. It reads more if k is above 32 (the maximum is 1,000), or if the best terms of
// the prefix have been removed: it then rebuilds the cached list of the prefix, which is a
// write. If the list cannot be rebuilt because counts differ from those of the entries, Complete
// returns index.ErrCorrupt.
func (x *Index) Complete(ctx context.Context, prefix string, k int) (best []Suggestion, err error) {
	defer x.wrap(&err)
	name, err := x.checkPrefix(ctx, prefix, k)
	if err != nil {
		return nil, err
	}
	found, now, err := x.exact(ctx, name, k)
	if err != nil {
		return nil, err
	}
	return x.respond(ctx, found, now)
}

// checkPrefix validates the arguments, checks the declaration, and returns the normalized
// prefix.
func (x *Index) checkPrefix(ctx context.Context, prefix string, k int) (string, error) {
	name, err := x.opt.Punctuation.prefix(prefix)
	switch {
	case err != nil:
		return "", err
	case k < 1 || k > maxComplete:
		return "", fmt.Errorf("%w: %d completions: use 1 to %d", index.ErrValue, k, maxComplete)
	}
	return name, x.set.Check(ctx)
}

// exact returns the k best terms with a normalized prefix, and the time of the server. If
// the prefix ends with a blank, the result includes the term that ends at the blank.
func (x *Index) exact(ctx context.Context, prefix string, k int) ([]term, float64, error) {
	prefixes := []string{prefix}
	if word, ended := strings.CutSuffix(prefix, " "); ended {
		prefixes = append(prefixes, word+"\t")
	}
	found, now, err := x.topTerms(ctx, prefixes, k)
	if err != nil {
		return nil, 0, err
	}
	all := slices.Concat(found...)
	if len(found) > 1 {
		slices.SortFunc(all, compare)
	}
	return all[:min(k, len(all))], now, nil
}

// respond returns terms as suggestions, and runs the cleanup.
func (x *Index) respond(ctx context.Context, found []term, now float64) ([]Suggestion, error) {
	out := make([]Suggestion, len(found))
	for i, t := range found {
		out[i] = x.suggestion(t, now)
	}
	if len(found) > 0 && x.opt.Cleanup > 0 && rand.Float64() < x.opt.Cleanup {
		if _, err := x.remove(ctx, "lose", 1, []string{x.choose(found).name}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choose returns the term whose count a cleanup decrements.
func (x *Index) choose(found []term) term {
	if !x.opt.CleanupRare {
		return found[rand.IntN(len(found))]
	}
	sum := 0.0
	for _, t := range found {
		sum += 1 / t.count
	}
	point := rand.Float64() * sum
	for _, t := range found {
		if point -= 1 / t.count; point <= 0 {
			return t
		}
	}
	return found[len(found)-1]
}
