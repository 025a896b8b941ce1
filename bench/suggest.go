package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index/suggest"
	"retwis/internal/redis/redisserver"
)

const (
	suggestBest   = 10  // completions per request
	suggestAsked  = 300 // requests of a round, for each length
	suggestWarm   = 30  // requests before them: the tutorial's way evicts the CPU caches
	suggestLength = 8   // the longest prefix
)

// suggestBench measures completion on its own server, where the tutorial's index
// has the same terms.
type suggestBench struct {
	opt    options
	client rueidis.Client
	x      *suggest.Index
	terms  []suggest.Suggestion // the most frequent first
	zipf   *rand.Zipf           // picks the searched term
	loaded [2]float64           // seconds of the server for bare ZADDs and AddMany of all terms
}

func measureSuggest(ctx context.Context, dir string, opt options) (string, error) {
	server, err := redisserver.Start(ctx, redisserver.Options{
		Dir:    filepath.Join(dir, "suggest"),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Config: []string{`save ""`, "appendonly no"},
	})
	if err != nil {
		return "", err
	}
	defer func() { _ = server.Stop(context.WithoutCancel(ctx)) }()
	client, err := rueidisClient(server.Socket())
	if err != nil {
		return "", err
	}
	defer client.Close()
	x, err := suggest.New(client, "ours", suggest.Options{})
	if err != nil {
		return "", err
	}
	b := &suggestBench{opt: opt, client: client, x: x, terms: makeTerms(opt.stored)}
	b.zipf = rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.1, 10, uint64(opt.stored-1))
	var text strings.Builder
	fmt.Fprintf(&text, `## Completion

%s random terms of one or two words, with Zipf-distributed counts, in `+"`index/suggest`"+` and in
the sorted set of the tutorial, `+"`name:count:original`"+`. One client on one connection.

`, thousands(opt.stored))
	for _, part := range []func(context.Context, io.Writer) error{b.load, b.complete, b.fuzzy, b.write, b.combine} {
		if err := part(ctx, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
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

// load adds all terms to both, by turns, and reports their sizes.
func (b *suggestBench) load(ctx context.Context, out io.Writer) error {
	shuffled := slices.Clone(b.terms)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for piece := range slices.Chunk(shuffled, suggestSearches) {
		for i, add := range []func(context.Context, []suggest.Suggestion) error{b.plainAdd, b.addMany} {
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			if err := add(ctx, piece); err != nil {
				return err
			}
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			b.loaded[i] += after - before
		}
	}
	size := func(keys ...string) (all float64, err error) {
		for _, key := range keys {
			n, err := b.client.Do(ctx, b.client.B().MemoryUsage().Key(key).Samples(0).Build()).AsInt64()
			if err != nil {
				return 0, err
			}
			all += float64(n) / (1 << 20)
		}
		return all, nil
	}
	plain, err := size("plain")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| memory | MiB | ratio |\n| --- | ---: | ---: |\n| the tutorial's sorted set | %.0f | 1.00 |\n", plain)
	for _, row := range []struct {
		name string
		keys []string
	}{
		{"with `.content`, to find a term by its name", []string{"ours", "ours.content"}},
		{"with the top-k cache of short prefixes: all of `index/suggest`", []string{"ours", "ours.content", "ours.heads", "ours.meta"}},
	} {
		n, err := size(row.keys...)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %.0f | %.2f |\n", row.name, n, n/plain)
	}
	heads, err := b.client.Do(ctx, b.client.B().Hlen().Key("ours.heads").Build()).AsInt64()
	fmt.Fprintf(out, "\n%s prefixes are in the top-k cache.\n\n", thousands(int(heads-1)))
	return err
}

// plain completes as the tutorial does: it reads the whole range and sorts it. A space at
// the end of the prefix also matches the end of a term.
func (b *suggestBench) plain(ctx context.Context, prefix string) ([]suggest.Suggestion, int, error) {
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
func (b *suggestBench) prefix(length int) string {
	for {
		if term := strings.ToLower(b.terms[b.zipf.Uint64()].Term); len(term) >= length {
			return term[:length]
		}
	}
}

// waits are latencies, sorted.
type waits []time.Duration

func (w waits) at(share float64) time.Duration { return w[int(float64(len(w)-1)*share)] }

// complete measures prefixes of each length.
func (b *suggestBench) complete(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, `The ten best completions of prefixes of searched terms, %d rounds of %d. The tutorial's way
is measured on some of the same prefixes, and each of its answers compared with ours. A PING
between any two of ours shows the latency that the machine adds.

| letters | terms read by the tutorial's way, mean | it takes, median | ours, median | p99 | a PING, median | p99 | ratio of the medians |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, b.opt.rounds, suggestAsked)
	for length := 1; length <= suggestLength; length++ {
		var ours, plain, pings waits
		read := 0
		for range b.opt.rounds {
			var asked []string
			for range suggestAsked {
				asked = append(asked, b.prefix(length))
			}
			answers := make(map[string][]suggest.Suggestion, len(asked))
			runtime.GC() // of the garbage of the tutorial's way in the round before
			for i, prefix := range slices.Concat(asked[:suggestWarm], asked) {
				begin := time.Now()
				found, err := b.x.Complete(ctx, prefix, suggestBest)
				if i >= suggestWarm {
					ours = append(ours, time.Since(begin))
				}
				if err != nil {
					return err
				}
				answers[prefix] = found
				begin = time.Now()
				err = b.client.Do(ctx, b.client.B().Ping().Build()).Error()
				pings = append(pings, time.Since(begin))
				if err != nil {
					return err
				}
			}
			for spent, i := time.Now(), 0; i < len(asked) && (i == 0 || time.Since(spent) < 300*time.Millisecond); i++ {
				begin := time.Now()
				found, n, err := b.plain(ctx, asked[i])
				plain = append(plain, time.Since(begin))
				if err != nil {
					return err
				}
				if !slices.Equal(found, answers[asked[i]]) {
					return fmt.Errorf("the completions of %q are %v, and should be %v", asked[i], answers[asked[i]], found)
				}
				read += n
			}
		}
		slices.Sort(ours)
		slices.Sort(plain)
		slices.Sort(pings)
		fmt.Fprintf(out, "| %d | %s | %s | %s | %s | %s | %s | %.1f |\n", length, thousands(read/len(plain)), milliseconds(plain.at(0.5)),
			milliseconds(ours.at(0.5)), milliseconds(ours.at(0.99)), milliseconds(pings.at(0.5)), milliseconds(pings.at(0.99)), float64(plain.at(0.5))/float64(ours.at(0.5)))
	}
	fmt.Fprintln(out)
	return nil
}

// fuzzy measures prefixes with a typo in them.
func (b *suggestBench) fuzzy(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "With one typo allowed, for prefixes with two neighbouring letters swapped:\n\n| letters | median | p99 |\n| ---: | ---: | ---: |\n")
	r := rand.New(rand.NewPCG(7, 8))
	for _, length := range []int{3, 4, 6, 8} {
		var took waits
		for range b.opt.rounds * suggestAsked / 5 {
			typed := []byte(b.prefix(length))
			i := r.IntN(length - 1)
			typed[i], typed[i+1] = typed[i+1], typed[i]
			begin := time.Now()
			if _, err := b.x.CompleteFuzzy(ctx, string(typed), suggestBest); err != nil {
				return err
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		fmt.Fprintf(out, "| %d | %s | %s |\n", length, milliseconds(took.at(0.5)), milliseconds(took.at(0.99)))
	}
	fmt.Fprintln(out)
	return nil
}
