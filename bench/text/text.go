// Package text compares full-text search with a sorted set and with a string of ids for each
// word, with bleve and with SQLite FTS5.
package text

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/text"
)

const (
	vocabulary  = 1_000_000 // words that a post can have
	authors     = 50_000
	wordsOfPost = 17     // drawn; the most frequent ones occur twice
	searches    = 10_000 // of each kind
	blevePosts  = 100_000
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
of two terms that never meet, in `+"`index/text`"+`, in a sorted set of ids for each term, and in a
string of ids of 8 bytes for each term. bleve has %s of them, in files and in this process;
its CPU is that of this process.

`, measure.Thousands(b.n), measure.Thousands(min(b.n, blevePosts)))
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

// binaryID is an id in a string.
func binaryID(id int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(id))) }

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

// strings yields an APPEND for each term of each post.
func (b *posts) strings(yield func(rueidis.Completed) bool) {
	for id, d := range b.all {
		for _, term := range terms(d) {
			if !yield(b.client.B().Append().Key("string:" + term).Value(binaryID(id)).Build()) {
				return
			}
		}
	}
}

// put fills index/text.
func (b *posts) put(ctx context.Context) error {
	n, err := b.x.PutMany(ctx, b.all)
	if err == nil && n != b.n {
		err = fmt.Errorf("%d posts are new, want %d", n, b.n)
	}
	return err
}

// load compares memory and time, each on a server that is empty, and then searches.
func (b *posts) load(ctx context.Context, out io.Writer) error {
	n := 0
	for _, d := range b.all {
		n += len(terms(d))
	}
	fmt.Fprintf(out, "Loading, %.1f terms a post:\n\n", float64(n)/float64(b.n))
	measure.Head(out, "", "bytes a post", "ratio", "CPU a post", "ratio", "commands of 1 ms")
	var searched strings.Builder // is after the table
	var base cost
	for _, one := range []struct {
		name, what string
		load       func() error
		sides      func(ctx context.Context) []side
	}{
		{"sets", "`ZADD` to a sorted set per term, pipelines of 1,000", func() error { return measure.Send(ctx, b.client, b.sets) }, b.setSides},
		{"strings", "`APPEND` to a string per term, pipelines of 1,000", func() error { return measure.Send(ctx, b.client, b.strings) }, b.stringSides},
		{"text", "`PutMany`", func() error { return b.put(ctx) }, b.textSides},
	} {
		err := b.on(ctx, one.name, func() error {
			c, err := b.cost(ctx, one.load)
			if err != nil {
				return err
			}
			if base.bytes == 0 {
				base = c
			}
			slow, err := b.slow(ctx)
			if err != nil {
				return err
			}
			c.write(out, one.what, base, slow)
			return b.search(ctx, &searched, one.what, one.sides(ctx))
		})
		if err != nil {
			return err
		}
	}
	if err := b.bleve(ctx, out, &searched, base); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nA page of the newest 20, the words drawn as those of posts, one after the other, each three\ntimes. What the fastest takes is the work of a search; the others may have waited for a\nprocessor, as even a `GET` does at times:\n%s\n", searched.String())
	return nil
}

// on runs a measurement on a separate server, which notes commands of a millisecond.
func (b *posts) on(ctx context.Context, name string, do func() error) error {
	config := []string{"slowlog-log-slower-than 1000", "slowlog-max-len 100000"}
	return measure.OnServer(ctx, filepath.Join(b.opt.Dir, name), func(client rueidis.Client, _ string) (err error) {
		b.client = client
		for _, line := range config {
			name, value, _ := strings.Cut(line, " ")
			if err := client.Do(ctx, client.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error(); err != nil {
				return err
			}
		}
		if b.x, err = text.New(client, "posts", text.Options{}); err != nil {
			return err
		}
		return do()
	})
}

// slow returns how many commands took a millisecond or more, and forgets them.
func (b *posts) slow(ctx context.Context) (n int64, err error) {
	if n, err = b.client.Do(ctx, b.client.B().Arbitrary("SLOWLOG", "LEN").Build()).AsInt64(); err != nil {
		return 0, err
	}
	return n, b.client.Do(ctx, b.client.B().Arbitrary("SLOWLOG", "RESET").Build()).Error()
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

func (c cost) write(out io.Writer, name string, base cost, slow any) {
	fmt.Fprintf(out, "| %s | %.0f | **%.2f** | %.1f µs | **%.2f** | %v |\n", name, c.bytes, c.bytes/base.bytes, c.micros, c.micros/base.micros, slow)
}
