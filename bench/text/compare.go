package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/text"
)

// comparisons is the number of queries on each corpus.
const comparisons = 1000

// engine finds the ids of the documents that match each query, the largest first.
type engine interface {
	search(ctx context.Context, queries []*query) ([][]int64, error)
}

// Compare compares the results of index/text with those of SQLite FTS5 and bleve. All have
// the same words, those of index/text. The differences are an error. Without texts on this
// machine it says where they come from, and returns nothing.
func Compare(ctx context.Context, opt measure.Options) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, `## Full-text search beside SQLite FTS5 and bleve

%s random queries on each of some corpora, of words, phrases and prefixes that occur in it, with
AND, OR and NOT. All three have the same words, those of `+"`index/text`"+`; prefixes are those that
it completes in full. Differences are queries with other results. To compare again:
`+"`make bench ARGS='--only text-compare'`"+`, with the packages `+"`%s`"+`.

`, measure.Thousands(comparisons), packages)
	measure.Head(&out, "corpus", "documents", "words", "with a phrase", "with a prefix", "with NOT", "results", "FTS5 differs", "bleve differs")
	wrong := 0
	for i, c := range corpora() {
		documents, err := c.read(ctx)
		if err == nil && len(documents) == 0 {
			err = errors.New("no documents")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w; apt-get install %s", c.name, err, packages)
		}
		n, err := compareCorpus(ctx, filepath.Join(opt.Dir, fmt.Sprint(i)), &corpus{name: c.name, documents: documents}, &out)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.name, err)
		}
		wrong += n
	}
	if wrong > 0 {
		return "", fmt.Errorf("%d results differ", wrong)
	}
	return out.String(), nil
}

// compareCorpus returns the number of results that differ.
func compareCorpus(ctx context.Context, dir string, c *corpus, out io.Writer) (wrong int, err error) {
	err = measure.OnServer(ctx, filepath.Join(dir, "server"), func(client rueidis.Client, _ string) error {
		x, err := text.New(client, "corpus", text.Options{Text: c.texts})
		if err != nil {
			return err
		}
		if err := c.fold(ctx, x); err != nil {
			return err
		}
		queries := c.queries(rand.New(rand.NewPCG(7, 8)), comparisons)
		redis, err := newRedis(ctx, x, c)
		if err != nil {
			return err
		}
		want, err := redis.search(ctx, queries)
		if err != nil {
			return err
		}
		sqlite := &sqliteEngine{path: filepath.Join(dir, "fts.db"), corpus: c}
		bleve, err := newBleve(filepath.Join(dir, "bleve"), c)
		if err != nil {
			return err
		}
		defer bleve.close()
		var differ [2]int
		for i, other := range []engine{sqlite, bleve} {
			got, err := other.search(ctx, queries)
			if err != nil {
				return err
			}
			differ[i] = differences(queries, want, got)
			wrong += differ[i]
		}
		c.row(out, queries, want, differ)
		return nil
	})
	return wrong, err
}

// differences counts the queries with other results, and prints the first few.
func differences(queries []*query, want, got [][]int64) (n int) {
	for i, q := range queries {
		if slices.Equal(want[i], got[i]) {
			continue
		}
		if n++; n <= 5 {
			fmt.Fprintf(os.Stderr, "%s: %d results of index/text, %d of the other engine\n", q.expr(), len(want[i]), len(got[i]))
		}
	}
	return n
}

// row writes what was compared.
func (c *corpus) row(out io.Writer, queries []*query, results [][]int64, differ [2]int) {
	has := map[operator]int{}
	for _, q := range queries {
		for op := range q.operators() {
			has[op]++
		}
	}
	sum := 0
	for _, ids := range results {
		sum += len(ids)
	}
	fmt.Fprintf(out, "| %s | %s | %s | %d | %d | %d | %s | **%d** | **%d** |\n", c.name, measure.Thousands(len(c.documents)),
		measure.Thousands(len(c.vocabulary)), has[phrase], has[prefix], has[not], measure.Thousands(sum), differ[0], differ[1])
}

// redisEngine is index/text.
type redisEngine struct{ x *text.Index }

func newRedis(ctx context.Context, x *text.Index, c *corpus) (*redisEngine, error) {
	_, err := x.PutMany(ctx, func(yield func(int64, text.Document) bool) {
		for i, words := range c.documents {
			if !yield(int64(i+1), text.Document{Text: strings.Join(words, " ")}) {
				return
			}
		}
	})
	return &redisEngine{x}, err
}

func (e *redisEngine) search(ctx context.Context, queries []*query) ([][]int64, error) {
	all := make([][]int64, len(queries))
	for i, q := range queries {
		read := text.Query{Expr: q.expr(), Limit: 1000}
		for {
			r, err := e.x.Search(ctx, read)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", read.Expr, err)
			}
			all[i] = append(all[i], r.IDs...)
			if r.Next == 0 {
				break
			}
			read.Before = r.Next
		}
	}
	return all, nil
}
