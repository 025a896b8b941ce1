// Package text compares full-text search with a sorted set of ids for each word.
package text

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
	vocabulary  = 1_000_000 // words that a post can have
	authors     = 50_000
	wordsOfPost = 17     // drawn; the most frequent ones occur twice
	searches    = 20_000 // of each kind
	apart       = "apart"
)

// posts measures the search of posts.
type posts struct {
	opt    measure.Options
	client rueidis.Client
	x      *text.Index
	n      int
	words  []string // the most frequent first
}

// Text measures full-text search.
func Text(ctx context.Context, opt measure.Options) (string, error) {
	var out strings.Builder
	b := &posts{opt: opt, n: opt.Stored, words: makeWords()}
	fmt.Fprintf(&out, `## Full-text search

%s posts, whose words are Zipf-distributed, each with the exact term of its author and one
of two terms that never meet, in `+"`index/text`"+` and in a sorted set of ids for each term.

`, measure.Thousands(b.n))
	err := b.load(ctx, &out)
	return out.String(), err
}

// makeWords returns distinct words of 2 to 10 letters.
func makeWords() []string {
	const letters = "aeitonshrdlucmfwypvbgkjqxz"
	r := rand.New(rand.NewPCG(1, 2))
	seen := make(map[string]bool, vocabulary)
	words := make([]string, 0, vocabulary)
	var word []byte
	for len(words) < vocabulary {
		word = word[:0]
		for range 2 + min(8, r.IntN(4)+len(words)/100_000) {
			word = append(word, letters[r.IntN(len(letters))])
		}
		if w := string(word); !seen[w] && w != apart {
			seen[w] = true
			words = append(words, w)
		}
	}
	return words
}

// all yields the posts, the same each time.
func (b *posts) all(yield func(int64, text.Document) bool) {
	r := rand.New(rand.NewPCG(3, 4))
	word := rand.NewZipf(r, 1.05, 8, vocabulary-1)
	author := rand.NewZipf(r, 1.1, 20, authors-1)
	some := make([]string, wordsOfPost)
	for i := range b.n {
		for w := range some {
			some[w] = b.words[word.Uint64()]
		}
		d := text.Document{
			Text:  strings.Join(some, " "),
			Terms: []string{"from:" + strconv.FormatUint(author.Uint64(), 10), apart + ":" + strconv.Itoa(r.IntN(2))},
		}
		if !yield(int64(i+1), d) {
			return
		}
	}
}

// terms returns the terms of a post, each once.
func terms(d text.Document) []string {
	all := append(strings.Fields(d.Text), d.Terms...)
	slices.Sort(all)
	return slices.Compact(all)
}

// sets yields a ZADD for each term of each post.
func (b *posts) sets(yield func(rueidis.Completed) bool) {
	for id, d := range b.all {
		for _, term := range terms(d) {
			if !yield(b.client.B().Zadd().Key("set:"+term).ScoreMember().ScoreMember(float64(id), strconv.FormatInt(id, 10)).Build()) {
				return
			}
		}
	}
}

// load compares memory and time, each on a server that is empty, and then searches.
func (b *posts) load(ctx context.Context, out io.Writer) error {
	n := 0
	for _, d := range b.all {
		n += len(terms(d))
	}
	fmt.Fprintf(out, "Loading, %.1f terms a post:\n\n", float64(n)/float64(b.n))
	fmt.Fprint(out, "| | bytes a post | ratio | server CPU a post | ratio |\n| --- | ---: | ---: | ---: | ---: |\n")
	var base cost
	err := b.on(ctx, "sets", func() (err error) {
		base, err = b.cost(ctx, func() error { return measure.Send(ctx, b.client, b.sets) })
		base.write(out, "`ZADD` to a sorted set per term, pipelines of 1,000", base)
		return err
	})
	if err != nil {
		return err
	}
	return b.on(ctx, "text", func() error {
		c, err := b.cost(ctx, func() error {
			n, err := b.x.PutMany(ctx, b.all)
			if err == nil && n != b.n {
				err = fmt.Errorf("%d posts are new, want %d", n, b.n)
			}
			return err
		})
		if err != nil {
			return err
		}
		c.write(out, "`PutMany`", base)
		return b.search(ctx, out)
	})
}

// on runs a measurement on a separate server.
func (b *posts) on(ctx context.Context, name string, do func() error) error {
	return measure.OnServer(ctx, filepath.Join(b.opt.Dir, name), func(client rueidis.Client, _ string) (err error) {
		b.client = client
		if b.x, err = text.New(client, "posts", text.Options{}); err != nil {
			return err
		}
		return do()
	})
}

// cost is what a post costs the server.
type cost struct{ bytes, micros float64 }

func (b *posts) cost(ctx context.Context, load func() error) (c cost, err error) {
	c.bytes, err = measure.ServerMemory(ctx, b.client, b.n)(func() (err error) {
		c.micros, err = measure.ServerTime(ctx, b.client, b.n)(load)
		return err
	})
	return c, err
}

func (c cost) write(out io.Writer, name string, base cost) {
	fmt.Fprintf(out, "| %s | %.0f | **%.2f** | %.1f µs | **%.2f** |\n", name, c.bytes, c.bytes/base.bytes, c.micros, c.micros/base.micros)
}

// search measures how long a page of 20 takes, beside a GET.
func (b *posts) search(ctx context.Context, out io.Writer) error {
	if err := b.client.Do(ctx, b.client.B().Set().Key("bare").Value(strings.Repeat("x", 1024)).Build()).Error(); err != nil {
		return err
	}
	slow := b.client.B().Arbitrary("CONFIG", "SET", "slowlog-log-slower-than").Args("1000").Build()
	if err := b.client.Do(ctx, slow).Error(); err != nil {
		return err
	}
	if err := b.client.Do(ctx, b.client.B().Arbitrary("SLOWLOG", "RESET").Build()).Error(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(5, 6))
	word := rand.NewZipf(r, 1.05, 8, 20_000)
	page := func(n int, with ...string) func() error {
		return func() error {
			var words []*text.Expr
			for range n {
				words = append(words, text.Word(b.words[word.Uint64()]))
			}
			_, err := b.x.Search(ctx, text.Query{Expr: text.And(words...), With: with})
			return err
		}
	}
	fmt.Fprintf(out, "\nA page of 20, the words drawn as those of posts, %s times one after the other:\n\n", measure.Thousands(searches))
	measure.Head(out, "", "median", "99 %", "server CPU")
	for _, side := range []struct {
		name  string
		times int
		run   func() error
	}{
		{"`GET` of 1 KB", searches, func() error { return b.client.Do(ctx, b.client.B().Get().Key("bare").Build()).Error() }},
		{"one word", searches, page(1)},
		{"two words", searches, page(2)},
		{"three words", searches, page(3)},
		{"a prefix of two letters", searches / 10, func() error {
			_, err := b.x.Search(ctx, text.Query{Expr: text.Prefix(b.words[word.Uint64()][:2])})
			return err
		}},
		{"two terms of half of all posts that never meet", 200, page(0, apart+":0", apart+":1")},
	} {
		took := make([]time.Duration, 0, side.times)
		micros, err := measure.ServerTime(ctx, b.client, side.times)(measure.Times(side.times, func() error {
			began := time.Now()
			err := side.run()
			took = append(took, time.Since(began))
			return err
		}))
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		slices.Sort(took)
		fmt.Fprintf(out, "| %s | %s | %s | %.0f µs |\n", side.name, measure.Milliseconds(took[len(took)/2]), measure.Milliseconds(took[len(took)*99/100]), micros)
	}
	n, err := b.client.Do(ctx, b.client.B().Arbitrary("SLOWLOG", "LEN").Build()).AsInt64()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe slow log has %d commands of a millisecond or more.\n\n", n)
	return nil
}
