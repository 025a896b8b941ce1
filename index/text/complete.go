package text

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"retwis/index/text/internal/codec"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
)

// completion is a word with the number of documents that contain it.
type completion struct {
	word      string
	documents int64
}

const (
	levels       = 10  // magnitudes of words: see relist in postings.lua
	listedWords  = 128 // words read per magnitude
	countedWords = 64  // words whose documents are counted
)

// complete returns the n most frequent words with a prefix, which must be folded, most frequent
// first. Two round trips.
//
// It covers all words of a small index, up to 20,000 per partition, and beyond that the words
// of at least 32 documents in a partition. Words are listed by magnitude, each 8 times the
// previous one: if more than 128 words of a magnitude have the prefix, it takes the first
// 128 in alphabetical order.
func (x reader) complete(ctx context.Context, prefix string, n int) ([]completion, error) {
	candidates, err := x.listed(ctx, prefix, n)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	counts, err := x.counts(ctx, candidates)
	if err != nil {
		return nil, err
	}
	best := make([]completion, len(candidates))
	for i, word := range candidates {
		best[i] = completion{word, counts[i]}
	}
	best = slices.DeleteFunc(best, func(c completion) bool { return c.documents == 0 })
	slices.SortFunc(best, func(a, b completion) int {
		return cmp.Or(cmp.Compare(b.documents, a.documents), cmp.Compare(a.word, b.word))
	})
	return best[:min(n, len(best))], nil
}

// listed returns the words that may be among the n most frequent words with a prefix, according
// to their magnitudes.
func (x reader) listed(ctx context.Context, prefix string, n int) ([]string, error) {
	var commands rueidis.Commands
	for level := range levels {
		from := strconv.Itoa(level) + prefix
		for i := range x.keys {
			commands = append(commands, x.set.Client.B().Zrangebylex().Key(x.keys[i].Index).
				Min("["+from).Max("("+ordered.Successor(from)).Limit(0, listedWords).Build())
		}
	}
	estimates := map[string]int64{} // lower bounds of the number of documents
	for i, r := range x.set.Client.DoMulti(ctx, commands...) {
		members, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		for _, member := range members {
			estimates[member[1:]] += int64(4) << (3 * (i / len(x.keys)))
		}
	}
	all := make([]string, 0, len(estimates))
	for word := range estimates {
		all = append(all, word)
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(estimates[b], estimates[a]), cmp.Compare(a, b))
	})
	// A word two magnitudes below the n-th is not among the best: the list lags behind by at
	// most the ids in a tail.
	for i := n; i < len(all); i++ {
		if i == countedWords || 64*estimates[all[i]] < estimates[all[n-1]] {
			return all[:i], nil
		}
	}
	return all, nil
}

// counts returns the number of documents of each term.
func (x reader) counts(ctx context.Context, terms []string) ([]int64, error) {
	var commands rueidis.Commands
	b := x.set.Client.B
	current := make([]names, len(x.keys))
	for i, k := range x.keys {
		n := k.forGeneration(x.state[i].Load().current, false)
		current[i] = n
		for _, term := range terms {
			commands = append(commands, b().Hstrlen().Key(n.rare(term)).Field(term).Build(),
				b().Strlen().Key(n.tail(term)).Build(), b().Getrange().Key(n.tail(term)).Start(0).End(7).Build())
		}
	}
	for i := range x.keys {
		commands = append(commands, x.generation(i))
	}
	counts := make([]int64, len(terms))
	results := x.set.Client.DoMulti(ctx, commands...)
	last := len(results) - len(x.keys)
	for i, r := range results[last:] {
		if err := x.sameGeneration(i, current[i].generation, r); err != nil {
			return nil, err
		}
	}
	for i := 0; i < last; i += 3 {
		rare, err := results[i].AsInt64()
		if err != nil {
			return nil, err
		}
		length, err := results[i+1].AsInt64()
		if err != nil {
			return nil, err
		}
		sealed, err := results[i+2].ToString()
		if err != nil {
			return nil, err
		}
		n := rare / 8
		if len(sealed) == 8 && length >= codec.TailHeader {
			n += int64(codec.Number(sealed)) + (length-codec.TailHeader)/8
		}
		counts[i/3%len(terms)] += n
	}
	return counts, nil
}
