package suggest

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/redis/script"
)

const (
	minFuzzy   = 3 // minimum letters of a prefix for fuzzy matching
	maxFuzzy   = 32
	maxLetters = 256 // candidates for one position
)

// CompleteFuzzy is like Complete, but tolerates one typo. The terms with the prefix are
// followed by terms with a prefix at an edit distance of one: an insertion, deletion,
// substitution or transposition. Both groups are sorted by frequency. A trailing blank does not
// count as a letter. A prefix of fewer than 3 or more than 32 letters is completed exactly.
//
// It takes two more round trips than Complete, but only if Complete returns fewer than k terms.
// For each position in the prefix the server tries up to 256 letters that occur there: in
// scripts with more letters, such as Chinese, some matches may be missed.
func (x *Index) CompleteFuzzy(ctx context.Context, prefix string, k int) (best []Suggestion, err error) {
	defer x.wrap(&err)
	name, err := x.checkPrefix(ctx, prefix, k)
	if err != nil {
		return nil, err
	}
	terms, now, err := x.exact(ctx, name, k)
	if err != nil {
		return nil, err
	}
	word := []rune(strings.TrimSuffix(name, " "))
	if len(terms) == k || len(word) < minFuzzy || len(word) > maxFuzzy {
		return x.respond(ctx, terms, now)
	}
	variants, err := x.variants(ctx, word)
	if err != nil {
		return nil, err
	}
	found, now, err := x.topTerms(ctx, variants, k)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range terms {
		seen[t.name] = true
	}
	var fuzzy []term
	for _, list := range found {
		for _, t := range list {
			if !seen[t.name] {
				seen[t.name] = true
				fuzzy = append(fuzzy, t)
			}
		}
	}
	slices.SortFunc(fuzzy, compare)
	terms = append(terms, fuzzy...)
	return x.respond(ctx, terms[:min(k, len(terms))], now)
}

// variants returns the prefixes at an edit distance of one from a word. Prefixes
// with an inserted or substituted letter are included only if they have terms. One round trip.
//
// A typo in the last position is covered by the prefix without the last letter, which includes
// a deleted or substituted last letter, and an insertion before the last letter.
func (x *Index) variants(ctx context.Context, word []rune) ([]string, error) {
	last := len(word) - 1
	all := []string{string(word[:last])}
	calls := make([][]script.Call, len(x.keys))
	for i := range last {
		before, letter, after := string(word[:i]), string(word[i]), string(word[i+1:])
		next, rest := string(word[i+1]), string(word[i+2:])
		all = append(all, before+after, before+next+letter+rest)
		for p, k := range x.keys {
			calls[p] = append(calls[p], script.Call{
				Keys: k.reading()[:1],
				Args: []string{before, strconv.Itoa(maxLetters), "letter", after, letter + after},
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
	// Drop variants that have another variant as a prefix, since the shorter variant has all
	// their terms.
	var kept []string
	for _, v := range all {
		if len(kept) == 0 || !strings.HasPrefix(v, kept[len(kept)-1]) {
			kept = append(kept, v)
		}
	}
	return kept, nil
}
