package toolkit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/suggest"
)

const (
	suggestBest   = 10     // completions per request
	suggestAsked  = 300    // maximum number of requests per round and prefix length
	suggestLength = 8      // the longest prefix
	suggestPiece  = 64_000 // terms per call of AddMany
)

// suggestions measures completion in an index and in the tutorial's sorted set of the same terms.
type suggestions struct {
	client rueidis.Client
	terms  []suggest.Suggestion // most frequent first
	zipf   *rand.Zipf           // picks the searched term
	read   int                  // terms read from the tutorial's set
}

// Suggest compares completion with the sorted set of the tutorial.
func Suggest(ctx context.Context, opt measure.Options) (string, error) {
	return measure.OnServer(ctx, opt.Dir, func(text io.Writer, server *measure.Server) error {
		client := server.Client
		x, err := suggest.New(client, "ours", suggest.Options{})
		if err != nil {
			return err
		}
		b := &suggestions{client: client, terms: makeTerms(opt.Stored)}
		b.zipf = rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.1, 10, uint64(opt.Stored-1))
		if err := b.load(ctx, x); err != nil {
			return err
		}
		fmt.Fprintf(text, `## Completion

%s random terms of one or two words, with Zipf-distributed counts, in `+"`index/suggest`"+` and in
the tutorial's sorted set of `+"`name:count:original`"+`. One client on one connection.

The ten best completions of prefixes of searched terms: %d rounds of %d prefixes, fewer for the
shortest. Both sides must return the same completions.

`, measure.Thousands(opt.Stored), opt.Rounds, suggestAsked)
		measure.Head(text, "letters", "terms read in the tutorial's set, mean", "tutorial, median", "ours, median", "p99", "ratio of the medians")
		for length := 1; length <= suggestLength; length++ {
			var ours, plain []time.Duration
			b.read = 0
			for range opt.Rounds {
				prefixes := b.prefixes(length)
				runtime.GC() // collects the tutorial side's garbage of the previous round
				durations, answers, err := completions(ctx, prefixes, func(ctx context.Context, prefix string) ([]suggest.Suggestion, error) {
					return x.Complete(ctx, prefix, suggestBest)
				})
				plainDurations, want, err2 := completions(ctx, prefixes, b.plain)
				if err := cmp.Or(err, err2); err != nil {
					return err
				}
				for i, prefix := range prefixes {
					if !slices.Equal(answers[i], want[i]) {
						return fmt.Errorf("completions of %q: %v, want %v", prefix, answers[i], want[i])
					}
				}
				ours, plain = append(ours, durations...), append(plain, plainDurations...)
			}
			slow, err := measure.Summarize(plain, time.Second)
			fast, err2 := measure.Summarize(ours, time.Second)
			if err := cmp.Or(err, err2); err != nil {
				return err
			}
			fmt.Fprintf(text, "| %d | %s | %.2f ms | %.2f ms | %.2f ms | %.1f |\n", length, measure.Thousands(b.read/slow.Count), slow.P50, fast.P50, fast.P99, slow.P50/fast.P50)
		}
		return nil
	})
}

// makeTerms returns distinct terms, most frequent first. Letters are Zipf-distributed.
func makeTerms(n int) []suggest.Suggestion {
	r := rand.New(rand.NewPCG(1, 2))
	letter := rand.NewZipf(r, 1.2, 3, uint64(len(letters)-1))
	var term []byte
	words := distinct(n, func() string {
		term = term[:0]
		for w := range 1 + r.IntN(2) {
			if w > 0 {
				term = append(term, ' ')
			}
			for range 3 + r.IntN(7) {
				term = append(term, letters[letter.Uint64()])
			}
		}
		return strings.ToUpper(string(term[:1])) + string(term[1:])
	})
	terms := make([]suggest.Suggestion, n)
	for i, word := range words {
		terms[i] = suggest.Suggestion{Term: word, Count: int64(1 + n/(i+1))}
	}
	return terms
}

// load adds all terms to both sides.
func (b *suggestions) load(ctx context.Context, x *suggest.Index) error {
	for piece := range slices.Chunk(b.terms, suggestPiece) {
		if _, err := x.AddMany(ctx, slices.Values(piece)); err != nil {
			return err
		}
	}
	return measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for _, t := range b.terms {
			member := strings.ToLower(t.Term) + ":" + strconv.FormatInt(t.Count, 10) + ":" + t.Term
			if !yield(b.client.B().Zadd().Key("plain").ScoreMember().ScoreMember(0, member).Build()) {
				return
			}
		}
	})
}

// prefixes returns prefixes of searched terms. It returns fewer short prefixes, which are slow in
// the tutorial's set.
func (b *suggestions) prefixes(length int) []string {
	all := make([]string, 0, suggestAsked)
	for n := min(suggestAsked, 8<<(2*length)); len(all) < n; {
		if term := strings.ToLower(b.terms[b.zipf.Uint64()].Term); len(term) >= length {
			all = append(all, term[:length])
		}
	}
	return all
}

// completions completes prefixes, and returns the duration and the answer for each prefix.
func completions(ctx context.Context, prefixes []string, complete func(context.Context, string) ([]suggest.Suggestion, error)) (durations []time.Duration, answers [][]suggest.Suggestion, err error) {
	for _, prefix := range prefixes {
		began := time.Now()
		found, err := complete(ctx, prefix)
		if err != nil {
			return nil, nil, err
		}
		durations, answers = append(durations, time.Since(began)), append(answers, found)
	}
	return durations, answers, nil
}

// plain completes a prefix as the tutorial does: it reads the whole range and sorts the terms. A
// space at the end of the prefix also matches the end of a term.
func (b *suggestions) plain(ctx context.Context, prefix string) ([]suggest.Suggestion, error) {
	ranges := []string{prefix}
	if term, ok := strings.CutSuffix(prefix, " "); ok {
		ranges = append(ranges, term+":")
	}
	var all []suggest.Suggestion
	for _, from := range ranges {
		found, err := b.client.Do(ctx, b.client.B().Zrangebylex().Key("plain").Min("["+from).Max("["+from+"\xff").Build()).AsStrSlice()
		if err != nil {
			return nil, err
		}
		for _, member := range found {
			parts := strings.SplitN(member, ":", 3)
			n, _ := strconv.ParseInt(parts[1], 10, 64) // valid, because load wrote it
			all = append(all, suggest.Suggestion{Term: parts[2], Count: n})
		}
	}
	b.read += len(all)
	slices.SortFunc(all, func(a, b suggest.Suggestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term)))
	})
	return all[:min(suggestBest, len(all))], nil
}
