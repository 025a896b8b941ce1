package suggest

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/script"
)

const (
	minFuzzy = 3   // letters that a prefix must have for a typo to be in it
	maxFuzzy = 32  // letters, at most
	letters  = 256 // that are tried in a place
)

// CompleteFuzzy is Complete that forgives one typo. Behind the terms that begin
// with the prefix come those that begin with something one letter off: a letter
// too many, one too few, another one, or two neighbours swapped; all of them the
// most frequent first. A blank at the end is none of the letters. A prefix of fewer than 3 letters, or more than 32, is
// completed as it is.
//
// It takes two more round trips than Complete, and only where that finds fewer
// than k terms. The server seeks twice for every letter that follows each
// beginning of the prefix, 256 at most: in writings of more letters than that,
// such as Chinese, some may be missed.
func (x *Index) CompleteFuzzy(ctx context.Context, prefix string, k int) (best []Suggestion, err error) {
	defer x.wrap(&err)
	name, err := x.normal(prefix)
	if err != nil {
		return nil, err
	}
	if err := x.ready(ctx, k); err != nil {
		return nil, err
	}
	terms, err := x.exact(ctx, name, k)
	if err != nil {
		return nil, err
	}
	word := []rune(strings.TrimSuffix(name, " "))
	if len(terms) == k || len(word) < minFuzzy || len(word) > maxFuzzy {
		return x.suggest(ctx, terms)
	}
	variants, err := x.variants(ctx, word)
	if err != nil {
		return nil, err
	}
	found, err := x.best(ctx, variants, k)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range terms {
		seen[t.key] = true
	}
	var more []term
	for _, list := range found {
		for _, t := range list {
			if !seen[t.key] {
				seen[t.key] = true
				more = append(more, t)
			}
		}
	}
	slices.SortFunc(more, compare)
	terms = append(terms, more...)
	return x.suggest(ctx, terms[:min(k, len(terms))])
}

// variants returns what may have been meant by a word: the prefixes that are one
// typo away, those among them with one letter that was not typed only where
// there are terms: one round trip.
//
// A typo in the last place leaves the letters before it, and whatever follows.
// That takes care of a last letter that is too many or another one, and of one
// that is missing before it.
func (x *Index) variants(ctx context.Context, word []rune) ([]string, error) {
	last := len(word) - 1
	all := []string{string(word[:last])}
	calls := make([][]script.Call, len(x.keys))
	for i := range last {
		before, here, behind := string(word[:i]), string(word[i]), string(word[i+1:])
		next, rest := string(word[i+1]), string(word[i+2:])
		all = append(all, before+behind, before+next+here+rest)
		for p, k := range x.keys {
			calls[p] = append(calls[p], script.Call{
				Keys: k.reading()[:1],
				Args: []string{before, strconv.Itoa(letters), "letter", behind, here + behind},
			})
		}
	}
	for _, r := range x.scripts.children.RunMany(ctx, x.set.Client, slices.Concat(calls...)) {
		found, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	// What begins with another of them is in the answer to that.
	var short []string
	for _, v := range all {
		if len(short) == 0 || !strings.HasPrefix(v, short[len(short)-1]) {
			short = append(short, v)
		}
	}
	return short, nil
}
