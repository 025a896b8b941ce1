package toolkit

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/text"
)

const (
	vocabulary = 1_000_000 // number of distinct words
	authors    = 50_000
	postWords  = 17 // words of a post, drawn at random; a frequent word can occur twice
	// halfTerm is the prefix of two terms. Each post has exactly one of these terms.
	halfTerm = "apart:"
)

// posts measures the search of posts.
type posts struct {
	client rueidis.Client
	x      *text.Index
	n      int
	words  []string // most frequent first
}

// Text compares full-text search with a sorted set per term.
func Text(ctx context.Context, opt measure.Options) (string, error) {
	b := &posts{n: opt.Stored, words: makeWords(vocabulary)}
	terms := 0
	for _, d := range b.all {
		terms += len(termsOf(d))
	}
	var out strings.Builder
	fmt.Fprintf(&out, `## Full-text search

%s posts with Zipf-distributed words, in `+"`index/text`"+` and in a sorted set of IDs per
term. Each post has an exact term for its author, and one of two terms that exclude each other.

Loading, %.1f terms per post:

`, measure.Thousands(b.n), float64(terms)/float64(b.n))
	var results [2][]searchResult
	var sides []measure.Side
	for i, side := range []struct {
		name   string
		load   func(ctx context.Context) error
		times  [4]int
		search func(ctx context.Context, terms []string) error
	}{
		{"`ZADD` to a sorted set per term, pipelines of 1,000", b.addToSets, [4]int{1000, 200, 200, 5}, b.searchSets},
		{"`PutMany`", b.put, [4]int{10_000, 10_000, 10_000, 200}, b.searchText},
	} {
		sides = append(sides, measure.Side{Name: side.name, Measure: func() (costs []float64, err error) {
			_, err = measure.OnServer(ctx, filepath.Join(opt.Dir, strconv.Itoa(i)), func(_ io.Writer, server *measure.Server) (err error) {
				b.client = server.Client
				if b.x, err = text.New(b.client, "posts", text.Options{}); err != nil {
					return err
				}
				load := func() error { return side.load(ctx) }
				costs, err = measure.PerOp(b.n, load, measure.ServerMemory(ctx, b.client), measure.ServerCPU(ctx, b.client))()
				if err != nil {
					return err
				}
				results[i], err = b.search(ctx, side.times, side.search)
				return err
			})
			return costs, err
		}})
	}
	err := measure.Table{
		Rounds: 1, Head: []string{"", "bytes per post", "ratio", "CPU per post", "ratio"}, Formats: []string{"%.0f", "%.1f µs"}, Sides: sides,
	}.Write(&out)
	if err != nil {
		return "", err
	}
	writeSearches(&out, results)
	return out.String(), nil
}

// makeWords returns n distinct words of 2 to 10 letters.
func makeWords(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	drawn := 0
	var word []byte
	return distinct(n, func() string {
		word = word[:0]
		for range 2 + min(8, r.IntN(4)+drawn/100_000) {
			word = append(word, letters[r.IntN(len(letters))])
		}
		drawn++
		return string(word)
	})
}

// all yields the posts, which are the same in each call.
func (b *posts) all(yield func(int64, text.Document) bool) {
	r := rand.New(rand.NewPCG(3, 4))
	word := rand.NewZipf(r, 1.05, 8, vocabulary-1)
	author := rand.NewZipf(r, 1.1, 20, authors-1)
	words := make([]string, postWords)
	for i := range b.n {
		for w := range words {
			words[w] = b.words[word.Uint64()]
		}
		d := text.Document{
			Text:  strings.Join(words, " "),
			Terms: []string{"from:" + strconv.FormatUint(author.Uint64(), 10), halfTerm + strconv.Itoa(r.IntN(2))},
		}
		if !yield(int64(i+1), d) {
			return
		}
	}
}

// termsOf returns the distinct terms of a post.
func termsOf(d text.Document) []string {
	all := append(strings.Fields(d.Text), d.Terms...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (b *posts) addToSets(ctx context.Context) error {
	return measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for id, d := range b.all {
			for _, term := range termsOf(d) {
				if !yield(b.client.B().Zadd().Key("set:"+term).ScoreMember().ScoreMember(float64(id), strconv.FormatInt(id, 10)).Build()) {
					return
				}
			}
		}
	})
}

func (b *posts) put(ctx context.Context) error {
	_, err := b.x.PutMany(ctx, b.all)
	return err
}

func (b *posts) searchSets(ctx context.Context, terms []string) error {
	keys := make([]string, len(terms))
	for i, term := range terms {
		keys[i] = "set:" + term
	}
	if len(keys) == 1 {
		return b.client.Do(ctx, b.client.B().Zrevrange().Key(keys[0]).Start(0).Stop(19).Build()).Error()
	}
	return b.client.Do(ctx, b.client.B().Zinter().Numkeys(int64(len(keys))).Key(keys...).Build()).Error()
}

func (b *posts) searchText(ctx context.Context, terms []string) error {
	var q text.Query
	for _, term := range terms {
		if strings.Contains(term, ":") {
			q.With = append(q.With, term)
		} else {
			q.Expr = text.And(q.Expr, text.Word(term))
		}
	}
	_, err := b.x.Search(ctx, q)
	return err
}

// searchKinds names the measured queries.
var searchKinds = [4]string{"one word", "two words", "three words", "two terms, each of half of all posts, that exclude each other"}

// searchResult summarizes the searches of one kind.
type searchResult struct {
	measure.Result
	micros float64 // server CPU time per search
}

// search measures each kind of query. Words have the same distribution as in posts.
func (b *posts) search(ctx context.Context, times [4]int, find func(ctx context.Context, terms []string) error) (all []searchResult, err error) {
	word := rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.05, 8, 20_000)
	for kind, n := range times {
		var durations []time.Duration
		costs, err := measure.PerOp(n, measure.Repeat(n, func() error {
			terms := []string{halfTerm + "0", halfTerm + "1"}
			if kind < 3 {
				terms = make([]string, kind+1)
				for i := range terms {
					terms[i] = b.words[word.Uint64()]
				}
			}
			began := time.Now()
			err := find(ctx, terms)
			durations = append(durations, time.Since(began))
			return err
		}), measure.ServerCPU(ctx, b.client))()
		if err != nil {
			return nil, err
		}
		result, err := measure.Summarize(durations, time.Second)
		if err != nil {
			return nil, err
		}
		all = append(all, searchResult{result, costs[0]})
	}
	return all, nil
}

func writeSearches(out io.Writer, all [2][]searchResult) {
	fmt.Fprint(out, "The newest 20 results, one query at a time. Query words have the same distribution as words in\nposts. CPU is that of the server:\n\n")
	measure.Head(out, "", "sorted sets, median", "p99", "CPU", "`index/text`, median", "p99", "CPU")
	for kind, name := range searchKinds {
		row := []string{name}
		for _, side := range all {
			s := side[kind]
			row = append(row, fmt.Sprintf(measure.Milliseconds, s.P50), fmt.Sprintf(measure.Milliseconds, s.P99), measure.Thousands(int(s.micros))+" µs")
		}
		measure.Row(out, row...)
	}
}
