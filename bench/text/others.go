package text

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/mapping"
)

// sqliteEngine is FTS5 in the program sqlite3.
type sqliteEngine struct {
	path   string
	corpus *corpus
}

// search sends the texts and all queries to one process. Each query is a line of its output.
func (e *sqliteEngine) search(ctx context.Context, queries []*query) ([][]int64, error) {
	program := exec.CommandContext(ctx, "sqlite3", "-batch", "-bail", e.path)
	in, err := program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var failed strings.Builder
	program.Stderr = &failed
	if err := program.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer in.Close()
		e.script(in, queries)
	}()
	all := make([][]int64, 0, len(queries))
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		ids, err := numbers(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		all = append(all, ids)
	}
	if err := program.Wait(); err != nil || len(all) != len(queries) {
		return nil, fmt.Errorf("sqlite3: %d of %d results: %w\n%s", len(all), len(queries), err, failed.String())
	}
	return all, nil
}

func (e *sqliteEngine) script(to io.Writer, queries []*query) {
	w := bufio.NewWriter(to)
	defer w.Flush()
	fmt.Fprintln(w, "CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'ascii');\nBEGIN;")
	for i, words := range e.corpus.documents {
		fmt.Fprintf(w, "INSERT INTO t(rowid, body) VALUES (%d, '%s');\n", i+1, encode(words))
	}
	fmt.Fprintln(w, "COMMIT;")
	for _, q := range queries {
		fmt.Fprintf(w, "SELECT ifnull(group_concat(rowid), '') FROM (SELECT rowid FROM t WHERE t MATCH '%s' ORDER BY rowid DESC);\n", q.fts5())
	}
}

func numbers(line string) (ids []int64, err error) {
	if line == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(line, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// bleveEngine is an index of bleve.
type bleveEngine struct {
	index     bleve.Index
	documents int
}

// blank splits texts at blanks and changes no word.
const blank = "blank"

// openBleve returns an empty index of texts in one field.
func openBleve(path string) (bleve.Index, error) {
	m := bleve.NewIndexMapping()
	if err := m.AddCustomAnalyzer(blank, map[string]any{"type": custom.Name, "tokenizer": whitespace.Name}); err != nil {
		return nil, err
	}
	m.DefaultAnalyzer = blank
	texts := mapping.NewTextFieldMapping()
	texts.Analyzer, texts.Store, texts.DocValues, texts.IncludeInAll = blank, false, false, false
	m.DefaultMapping = mapping.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt(field, texts)
	return bleve.New(path, m)
}

// fillBleve adds texts, a thousand at a time. The names of documents have the order of their
// ids.
func fillBleve(index bleve.Index, texts func(yield func(int64, string) bool)) error {
	batch := index.NewBatch()
	for id, text := range texts {
		if err := batch.Index(fmt.Sprintf("%016d", id), map[string]string{field: text}); err != nil {
			return err
		}
		if batch.Size() == 1000 {
			if err := index.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return index.Batch(batch)
}

func newBleve(path string, c *corpus) (*bleveEngine, error) {
	index, err := openBleve(path)
	if err != nil {
		return nil, err
	}
	return &bleveEngine{index, len(c.documents)}, fillBleve(index, func(yield func(int64, string) bool) {
		for i, words := range c.documents {
			if !yield(int64(i+1), encode(words)) {
				return
			}
		}
	})
}

func (e *bleveEngine) close() { e.index.Close() }

func (e *bleveEngine) search(ctx context.Context, queries []*query) ([][]int64, error) {
	all := make([][]int64, len(queries))
	for i, q := range queries {
		request := bleve.NewSearchRequestOptions(q.bleve(), e.documents, 0, false)
		request.Score = "none"
		r, err := e.index.SearchInContext(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("bleve: %s: %w", q.expr(), err)
		}
		for _, hit := range r.Hits {
			id, err := strconv.ParseInt(hit.ID, 10, 64)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], id)
		}
		slices.Sort(all[i])
		slices.Reverse(all[i])
	}
	return all, nil
}
