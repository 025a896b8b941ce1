package toolkit

import (
	"cmp"
	"context"
	"fmt"
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
	suggestAsked  = 300    // requests of a round, for each length
	suggestLength = 8      // the longest prefix
	suggestPiece  = 64_000 // terms that are added at once
)

// suggestions measures completion; the index of the tutorial has the same terms.
type suggestions struct {
	client rueidis.Client
	x      *suggest.Index
	terms  []suggest.Suggestion // the most frequent first
	zipf   *rand.Zipf           // picks the searched term
}

// Suggest measures completion.
func Suggest(ctx context.Context, opt measure.Options) (string, error) {
	var text strings.Builder
	err := measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, _ string) error {
		x, err := suggest.New(client, "ours", suggest.Options{})
		if err != nil {
			return err
		}
		b := &suggestions{client: client, x: x, terms: makeTerms(opt.Stored)}
		b.zipf = rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.1, 10, uint64(opt.Stored-1))
		if err := b.load(ctx); err != nil {
			return err
		}
		fmt.Fprintf(&text, `## Completion

%s random terms of one or two words, with Zipf-distributed counts, in `+"`index/suggest`"+` and in
the sorted set of the tutorial, `+"`name:count:original`"+`. One client on one connection.

The ten best completions of prefixes of searched terms, %d rounds of %d. The tutorial's way
is measured on some of the same prefixes, and each of its answers compared with ours.

`, measure.Thousands(opt.Stored), opt.Rounds, suggestAsked)
		measure.Head(&text, "letters", "terms read by the tutorial's way, mean", "it takes, median", "ours, median", "p99", "ratio of the medians")
		for length := 1; length <= suggestLength; length++ {
			var c completed
			for range opt.Rounds {
				if err := b.ask(ctx, length, &c); err != nil {
					return err
				}
			}
			plain, err := measure.Summarize(c.plain, time.Second)
			ours, err2 := measure.Summarize(c.ours, time.Second)
			if err := cmp.Or(err, err2); err != nil {
				return err
			}
			fmt.Fprintf(&text, "| %d | %s | %.2f ms | %.2f ms | %.2f ms | %.1f |\n", length, measure.Thousands(c.read/plain.Count), plain.P50, ours.P50, ours.P99, plain.P50/ours.P50)
		}
		return nil
	})
	return text.String(), err
}

// makeTerms returns distinct terms, the most frequent first. First letters are
// unevenly distributed.
func makeTerms(n int) []suggest.Suggestion {
	const letters = "aeitonshrdlucmfwypvbgkjqxz"
	r := rand.New(rand.NewPCG(1, 2))
	letter := rand.NewZipf(r, 1.2, 3, uint64(len(letters)-1))
	seen := make(map[string]bool, n)
	terms := make([]suggest.Suggestion, 0, n)
	var word []byte
	for len(terms) < n {
		word = word[:0]
		for w := range 1 + r.IntN(2) {
			if w > 0 {
				word = append(word, ' ')
			}
			for range 3 + r.IntN(7) {
				word = append(word, letters[letter.Uint64()])
			}
		}
		if seen[string(word)] {
			continue
		}
		seen[string(word)] = true
		term := strings.ToUpper(string(word[:1])) + string(word[1:])
		terms = append(terms, suggest.Suggestion{Term: term, Count: int64(1 + n/(len(terms)+1))})
	}
	return terms
}

// load adds all terms to both.
func (b *suggestions) load(ctx context.Context) error {
	for piece := range slices.Chunk(b.terms, suggestPiece) {
		if _, err := b.x.AddMany(ctx, slices.Values(piece)); err != nil {
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

// plain completes as the tutorial does: it reads the whole range and sorts it. A space at
// the end of the prefix also matches the end of a term.
func (b *suggestions) plain(ctx context.Context, prefix string) ([]suggest.Suggestion, int, error) {
	ranges := []string{prefix}
	if whole, ended := strings.CutSuffix(prefix, " "); ended {
		ranges = append(ranges, whole+":")
	}
	var all []suggest.Suggestion
	for _, from := range ranges {
		found, err := b.client.Do(ctx, b.client.B().Zrangebylex().Key("plain").Min("["+from).Max("["+from+"\xff").Build()).AsStrSlice()
		if err != nil {
			return nil, 0, err
		}
		for _, member := range found {
			parts := strings.SplitN(member, ":", 3)
			n, err := strconv.ParseInt(parts[1], 10, 64)
			if err != nil {
				return nil, 0, err
			}
			all = append(all, suggest.Suggestion{Term: parts[2], Count: n})
		}
	}
	slices.SortFunc(all, func(a, b suggest.Suggestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term)))
	})
	return all[:min(suggestBest, len(all))], len(all), nil
}

// prefix returns the beginning of a searched term.
func (b *suggestions) prefix(length int) string {
	for {
		if term := strings.ToLower(b.terms[b.zipf.Uint64()].Term); len(term) >= length {
			return term[:length]
		}
	}
}

// completed is how long completions took, and how many terms the tutorial's way read.
type completed struct {
	plain, ours []time.Duration
	read        int
}

// ask completes prefixes of a length in both ways.
func (b *suggestions) ask(ctx context.Context, length int, c *completed) error {
	var asked []string
	for range suggestAsked {
		asked = append(asked, b.prefix(length))
	}
	answers := make(map[string][]suggest.Suggestion, len(asked))
	runtime.GC() // of the garbage of the tutorial's way in the round before
	for _, prefix := range asked {
		began := time.Now()
		found, err := b.x.Complete(ctx, prefix, suggestBest)
		if err != nil {
			return err
		}
		c.ours = append(c.ours, time.Since(began))
		answers[prefix] = found
	}
	end := time.Now().Add(300 * time.Millisecond)
	for i, prefix := range asked {
		if i > 0 && time.Now().After(end) {
			break
		}
		began := time.Now()
		found, n, err := b.plain(ctx, prefix)
		if err != nil {
			return err
		}
		c.plain = append(c.plain, time.Since(began))
		if !slices.Equal(found, answers[prefix]) {
			return fmt.Errorf("the completions of %q are %v, and should be %v", prefix, answers[prefix], found)
		}
		c.read += n
	}
	return nil
}
