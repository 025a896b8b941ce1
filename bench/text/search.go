package text

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/text"
)

// side is a kind of search: draw returns a random one, to run again and again.
type side struct {
	name  string
	times int
	draw  func() func() error
}

// same returns a side of one search.
func same(name string, times int, run func() error) side {
	return side{name, times, func() func() error { return run }}
}

// kinds returns searches for one, two and three words, and for the terms that never meet.
func (b *posts) kinds(times [4]int, find func(terms []string) error) []side {
	r := rand.New(rand.NewPCG(5, 6))
	word := rand.NewZipf(r, 1.05, 8, 20_000)
	words := func(n int) func() func() error {
		return func() func() error {
			some := make([]string, n)
			for i := range some {
				some[i] = b.words[word.Uint64()]
			}
			return func() error { return find(some) }
		}
	}
	return []side{
		{"one word", times[0], words(1)},
		{"two words", times[1], words(2)},
		{"three words", times[2], words(3)},
		same("two terms of half of all posts that never meet", times[3], func() error { return find([]string{apart + ":0", apart + ":1"}) }),
	}
}

// setSides searches sorted sets.
func (b *posts) setSides(ctx context.Context) []side {
	return b.kinds([4]int{searches / 10, 200, 200, 5}, func(terms []string) error {
		keys := make([]string, len(terms))
		for i, term := range terms {
			keys[i] = "set:" + term
		}
		if len(keys) == 1 {
			return b.client.Do(ctx, b.client.B().Zrevrange().Key(keys[0]).Start(0).Stop(19).Build()).Error()
		}
		return b.client.Do(ctx, b.client.B().Zinter().Numkeys(int64(len(keys))).Key(keys...).Build()).Error()
	})
}

// stringSides searches strings: one by its end, several in whole.
func (b *posts) stringSides(ctx context.Context) []side {
	return b.kinds([4]int{searches / 10, 1000, 1000, 100}, func(terms []string) error {
		if len(terms) == 1 {
			return b.client.Do(ctx, b.client.B().Getrange().Key("string:"+terms[0]).Start(-160).End(-1).Build()).Error()
		}
		var all []string
		for _, term := range terms {
			ids, err := b.client.Do(ctx, b.client.B().Get().Key("string:"+term).Build()).ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
			all = append(all, ids)
		}
		newest(all, 20)
		return nil
	})
}

// newest returns the last ids that all strings have.
func newest(all []string, most int) (found []string) {
	last := func(i int) string { return all[i][len(all[i])-8:] }
	for len(found) < most {
		least := ""
		for i, ids := range all {
			if ids == "" {
				return found
			}
			if id := last(i); least == "" || id < least {
				least = id
			}
		}
		every := true
		for i := range all {
			for all[i] != "" && last(i) > least {
				all[i] = all[i][:len(all[i])-8]
				every = false
			}
		}
		if every {
			found = append(found, least)
			all[0] = all[0][:len(all[0])-8]
		}
	}
	return found
}

// textSides searches index/text.
func (b *posts) textSides(ctx context.Context) []side {
	sides := b.kinds([4]int{searches, searches, searches, 200}, func(terms []string) error {
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
	})
	r := rand.New(rand.NewPCG(5, 6))
	word := rand.NewZipf(r, 1.05, 8, 20_000)
	return append(sides, side{"a prefix of two letters", searches / 10, func() func() error {
		letters := b.words[word.Uint64()][:2]
		return func() error {
			_, err := b.x.Search(ctx, text.Query{Expr: text.Prefix(letters)})
			return err
		}
	}})
}

// search measures how long searches on a server take, beside a GET.
func (b *posts) search(ctx context.Context, out io.Writer, name string, sides []side) error {
	if err := b.client.Do(ctx, b.client.B().Set().Key("bare").Value(strings.Repeat("x", 1024)).Build()).Error(); err != nil {
		return err
	}
	get := same("`GET` of 1 KB", searches, func() error { return b.client.Do(ctx, b.client.B().Get().Key("bare").Build()).Error() })
	return table(out, name, append([]side{get}, sides...), meters{
		time: func(times int) measure.Meter { return measure.ServerTime(ctx, b.client, times) },
		slow: func() (int64, error) { return b.slow(ctx) },
	})
}

// meters are how searches are measured.
type meters struct {
	time func(times int) measure.Meter
	slow func() (int64, error) // commands of a millisecond since the last call
}

// attempts is how often each search runs. What the fastest of them takes is its work: the others
// may have waited for a processor.
const attempts = 3

// table measures searches and writes a row of each.
func table(out io.Writer, name string, sides []side, by meters) error {
	fmt.Fprintf(out, "\n%s, at a load average of %s:\n\n", name, loadAverage())
	measure.Head(out, "", "times", "median", "99 %", "99 %, fastest of three", "CPU", "commands of 1 ms")
	for _, side := range sides {
		took := make([]time.Duration, 0, attempts*side.times)
		fastest := make([]time.Duration, 0, side.times)
		micros, err := by.time(attempts * side.times)(measure.Times(side.times, func() error {
			run := side.draw()
			for range attempts {
				began := time.Now()
				if err := run(); err != nil {
					return err
				}
				took = append(took, time.Since(began))
			}
			fastest = append(fastest, slices.Min(took[len(took)-attempts:]))
			return nil
		}))
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		n, err := by.slow()
		if err != nil {
			return err
		}
		slices.Sort(took)
		slices.Sort(fastest)
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %.0f µs | %d |\n", side.name, measure.Thousands(side.times),
			measure.Milliseconds(took[len(took)/2]), measure.Milliseconds(took[len(took)*99/100]),
			measure.Milliseconds(fastest[len(fastest)*99/100]), micros, n)
	}
	return nil
}

// loadAverage is that of the last minute, where the system has it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// processTime returns the microseconds that this process computes for each of n repetitions.
func processTime(n int) measure.Meter {
	return func(run func() error) (float64, error) {
		before := measure.ProcessSeconds(os.Getpid())
		err := run()
		return (measure.ProcessSeconds(os.Getpid()) - before) * 1e6 / float64(n), err
	}
}

// bleve loads and searches bleve, with fewer posts.
func (b *posts) bleve(ctx context.Context, out, searched io.Writer, base cost) error {
	all := b.n
	defer func() { b.n = all }()
	b.n = min(b.n, blevePosts)
	dir := filepath.Join(b.opt.Dir, "bleve")
	index, err := openBleve(dir)
	if err != nil {
		return err
	}
	defer index.Close()
	var c cost
	c.micros, err = processTime(b.n)(func() error {
		return fillBleve(index, func(yield func(int64, string) bool) {
			for id, d := range b.all {
				if !yield(id, d.Text+" "+strings.Join(d.Terms, " ")) {
					return
				}
			}
		})
	})
	if err != nil {
		return err
	}
	if c.bytes, err = size(dir); err != nil {
		return err
	}
	c.bytes /= float64(b.n)
	c.write(out, fmt.Sprintf("bleve, %s posts in batches of 1,000", measure.Thousands(b.n)), base, "")
	sides := b.kinds([4]int{500, 500, 500, 20}, func(terms []string) error {
		all := bleve.NewConjunctionQuery()
		for _, term := range terms {
			one := bleve.NewTermQuery(term)
			one.SetField(field)
			all.AddQuery(one)
		}
		request := bleve.NewSearchRequestOptions(all, 20, 0, false)
		request.Score = "none"
		request.SortBy([]string{"-_id"})
		_, err := index.SearchInContext(ctx, request)
		return err
	})
	return table(searched, "bleve", sides, meters{processTime, func() (int64, error) { return 0, nil }})
}

// size returns how many bytes the files of a directory have.
func size(dir string) (sum float64, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		info, statErr := os.Stat(path)
		if err == nil && statErr == nil && info.Mode().IsRegular() {
			sum += float64(info.Size())
		}
		return err
	})
	return sum, err
}
