package index

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
	suggestAsked  = 300    // requests of a round, for each length
	suggestWarm   = 30     // requests before them: the tutorial's way evicts the CPU caches
	suggestLength = 8      // the longest prefix
	suggestPiece  = 64_000 // terms that are added at once
)

// suggestions measures completion; the index of the tutorial has the same terms.
type suggestions struct {
	opt    measure.Options
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
		b := &suggestions{opt: opt, client: client, x: x, terms: makeTerms(opt.Stored)}
		b.zipf = rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.1, 10, uint64(opt.Stored-1))
		fmt.Fprintf(&text, `## Completion

%s random terms of one or two words, with Zipf-distributed counts, in `+"`index/suggest`"+` and in
the sorted set of the tutorial, `+"`name:count:original`"+`. One client on one connection.

`, measure.Thousands(opt.Stored))
		for _, part := range []func(context.Context, io.Writer) error{b.load, b.complete} {
			if err := part(ctx, &text); err != nil {
				return err
			}
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

// load adds all terms to both, by turns, and reports what that costs.
func (b *suggestions) load(ctx context.Context, out io.Writer) error {
	shuffled := slices.Clone(b.terms)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	var spent [2]float64
	for piece := range slices.Chunk(shuffled, suggestPiece) {
		for i, add := range []func() error{
			func() error { return b.plainAdd(ctx, piece) },
			func() error { _, err := b.x.AddMany(ctx, slices.Values(piece)); return err },
		} {
			micros, err := measure.ServerTime(ctx, b.client, len(b.terms))(add)
			if err != nil {
				return err
			}
			spent[i] += micros
		}
	}
	fmt.Fprintf(out, `To write all terms into an empty key, in random order, takes the server %.1f µs a term
with bare `+"`ZADD`s and %.1f µs with `AddMany`"+`, which makes all cached lists.

`, spent[0], spent[1])
	measure.Head(out, "memory", "MiB", "ratio")
	plain := 0.0
	for _, row := range []struct {
		name string
		keys []string
	}{
		{"the tutorial's sorted set", []string{"plain"}},
		{"with `.content`, to find a term by its name", []string{"ours", "ours.content"}},
		{"with the top-k cache of short prefixes: all of `index/suggest`", []string{"ours", "ours.content", "ours.heads", "ours.meta"}},
	} {
		size := 0.0
		for _, key := range row.keys {
			n, err := b.client.Do(ctx, b.client.B().MemoryUsage().Key(key).Samples(0).Build()).AsInt64()
			if err != nil {
				return err
			}
			size += float64(n) / (1 << 20)
		}
		plain = cmp.Or(plain, size)
		fmt.Fprintf(out, "| %s | %.0f | %.2f |\n", row.name, size, size/plain)
	}
	heads, err := b.client.Do(ctx, b.client.B().Hlen().Key("ours.heads").Build()).AsInt64()
	fmt.Fprintf(out, "\n%s prefixes are in the top-k cache.\n\n", measure.Thousands(int(heads-1)))
	return err
}

// plainAdd adds terms as the tutorial does.
func (b *suggestions) plainAdd(ctx context.Context, terms []suggest.Suggestion) error {
	return measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for _, t := range terms {
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
	var members []string
	for _, from := range ranges {
		found, err := b.client.Do(ctx, b.client.B().Zrangebylex().Key("plain").Min("["+from).Max("["+from+"\xff").Build()).AsStrSlice()
		if err != nil {
			return nil, 0, err
		}
		members = append(members, found...)
	}
	all := make([]suggest.Suggestion, len(members))
	for i, member := range members {
		_, rest, _ := strings.Cut(member, ":")
		count, term, _ := strings.Cut(rest, ":")
		all[i].Term = term
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return nil, 0, err
		}
		all[i].Count = n
	}
	slices.SortFunc(all, func(a, b suggest.Suggestion) int {
		if by := cmp.Compare(b.Count, a.Count); by != 0 {
			return by
		}
		return strings.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term))
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

// complete measures prefixes of each length.
func (b *suggestions) complete(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, `The ten best completions of prefixes of searched terms, %d rounds of %d. The tutorial's way
is measured on some of the same prefixes, and each of its answers compared with ours. A PING
between any two of ours shows the latency that the machine adds.

`, b.opt.Rounds, suggestAsked)
	measure.Head(out, "letters", "terms read by the tutorial's way, mean", "it takes, median", "ours, median", "p99", "a PING, median", "p99", "ratio of the medians")
	for length := 1; length <= suggestLength; length++ {
		var c completed
		for range b.opt.Rounds {
			if err := b.ask(ctx, length, &c); err != nil {
				return err
			}
		}
		var results [3]measure.Result
		for i, took := range [3][]time.Duration{c.plain, c.ours, c.pings} {
			r, err := measure.Summarize(took, time.Second)
			if err != nil {
				return err
			}
			results[i] = r
		}
		plain, ours, pings := results[0], results[1], results[2]
		fmt.Fprintf(out, "| %d | %s | %s | %s | %s | %s | %s | %.1f |\n", length, measure.Thousands(c.read/plain.Count), measure.Milliseconds(plain.P50),
			measure.Milliseconds(ours.P50), measure.Milliseconds(ours.P99), measure.Milliseconds(pings.P50), measure.Milliseconds(pings.P99), float64(plain.P50)/float64(ours.P50))
	}
	fmt.Fprintln(out)
	return nil
}

// completed is how long completions took, and how many terms the tutorial's way read.
type completed struct {
	plain, ours, pings []time.Duration
	read               int
}

// ask completes prefixes of a length in both ways.
func (b *suggestions) ask(ctx context.Context, length int, c *completed) error {
	var asked []string
	for range suggestAsked {
		asked = append(asked, b.prefix(length))
	}
	answers := make(map[string][]suggest.Suggestion, len(asked))
	runtime.GC() // of the garbage of the tutorial's way in the round before
	for i, prefix := range slices.Concat(asked[:suggestWarm], asked) {
		began := time.Now()
		found, err := b.x.Complete(ctx, prefix, suggestBest)
		if err != nil {
			return err
		}
		if i >= suggestWarm {
			c.ours = append(c.ours, time.Since(began))
		}
		answers[prefix] = found
		began = time.Now()
		if err := b.client.Do(ctx, b.client.B().Ping().Build()).Error(); err != nil {
			return err
		}
		c.pings = append(c.pings, time.Since(began))
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
