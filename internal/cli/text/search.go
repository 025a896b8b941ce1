package text

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

// queryHelp describes the syntax of a query.
const queryHelp = `  redis fast       both words, in any order
  redis OR valkey  one of the words; OR binds less tightly than a space
  redis -slow      without the second word
  red*             red, or a frequent word that begins with red
  from:ann         the exact term: a name, a colon and a value that is not a link; or the
                   words, if no document has a term with this name
  (a OR b) c       grouping
  "redis is fast"  a phrase, with --from or --texts
Words match in any case, and with or without accents. The index does not store the order of
words, so phrases need the texts: those of the hashes whose keys match a pattern (--from),
or of a file in the format of "text put" (--texts), which is read into memory.`

// maxPage is the largest Query.Limit.
const maxPage = 1000

// queryFlags are the flags of search and explain.
type queryFlags struct {
	text.Query
	texts textFlags
}

func (q *queryFlags) add(c *shell.Command, limit string) {
	f := c.Flags()
	f.IntVarP(&q.Limit, "limit", "n", 20, limit)
	f.Int64Var(&q.Before, "before", 0, "only ids below this `ID`; to continue, use the id of the last line")
	f.Int64Var(&q.After, "since", 0, "only ids above this `ID`")
	f.StringArrayVar(&q.With, "with", nil, "only documents with this exact `TERM`; may be repeated")
	f.StringArrayVar(&q.Without, "without", nil, "only documents without this exact `TERM`; may be repeated")
	q.texts.add(c)
}

// parse parses the query, which may be empty with --with.
func (q *queryFlags) parse(typed string) error {
	switch {
	case q.Limit < 0:
		return shell.Usage(errors.New("--limit cannot be negative"))
	case q.Before < 0 || q.After < 0 || q.Before > text.MaxID || q.After > text.MaxID:
		return shell.Usage(errors.New("--before and --since take ids, from 1 to 2^53-1"))
	case strings.TrimSpace(typed) == "" && len(q.With) > 0:
		return q.texts.check()
	}
	var err error
	if q.Expr, err = text.Parse(typed, names(typed)...); err != nil {
		return shell.Usage(fmt.Errorf("the query: %s", shell.OneLine(err)))
	}
	return q.texts.check()
}

// names returns the names before the colons of exact terms in a query.
func names(typed string) (all []string) {
	for _, term := range exactTerms(typed) {
		name, _, _ := strings.Cut(term, ":")
		all = append(all, name)
	}
	return all
}

// exactTerms returns the words of a query that may be exact terms: a name, a colon and a value that
// is not a link.
func exactTerms(typed string) (all []string) {
	words := strings.FieldsFunc(typed, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`()"“”„`, r) })
	for _, word := range words {
		word = strings.TrimPrefix(word, "-")
		name, value, _ := strings.Cut(word, ":")
		digits := strings.Trim(name, "0123456789") == ""
		if !digits && value != "" && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ":") {
			all = append(all, word)
		}
	}
	return all
}

// resolveTerms parses the query with its exact terms. A term whose name no document has, such as
// localhost:8080, is treated as words, and reported.
func (q *queryFlags) resolveTerms(ctx context.Context, c *shell.Command, x *text.Index, typed string) error {
	terms := exactTerms(typed)
	if len(terms) == 0 {
		return nil
	}
	var exprs []*text.Expr
	for _, term := range terms {
		exprs = append(exprs, text.Exact(term))
	}
	found, err := x.Explain(ctx, text.Query{Expr: text.Or(exprs...), Limit: 1})
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, t := range found.Terms {
		name, _, _ := strings.Cut(t.Term, ":")
		has[name] = has[name] || t.Documents > 0
	}
	var fields []string
	for _, term := range terms {
		name, _, _ := strings.Cut(term, ":")
		if has[name] {
			fields = append(fields, name)
		} else if _, err := fmt.Fprintf(c.Stderr, "No document has the exact term %q: searching for its words.\n", term); err != nil {
			return err
		}
	}
	if q.Expr, err = text.Parse(typed, fields...); err != nil {
		return shell.Usage(fmt.Errorf("the query: %s", shell.OneLine(err)))
	}
	return nil
}

// run calls do with the index, which has texts if the flags name a source.
func (q *queryFlags) run(ctx context.Context, c *shell.Command, args []string, do func(x *text.Index) error) error {
	if err := q.parse(args[1]); err != nil {
		return err
	}
	return c.WithStore(ctx, func(db *store.Store) error {
		x, err := open(ctx, db.Client(), args[0])
		if err != nil {
			return err
		}
		if err := q.resolveTerms(ctx, c, x, args[1]); err != nil {
			return err
		}
		if err := q.texts.open(c, db.Client(), x); err != nil {
			return err
		}
		opt := x.Options()
		opt.Text = q.texts.lookup
		x, err = text.New(db.Client(), args[0], opt)
		if err == nil {
			err = do(x)
		}
		if errors.Is(err, text.ErrNoTexts) {
			return shell.Usage(errors.New("a phrase needs the texts: name them with --from or --texts"))
		}
		return errors.Join(err, q.texts.rejected())
	})
}

func newSearch(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "search [flags] KEY QUERY",
		Short: "Show the ids of the documents that match a query",
		Long: `Shows the ids of the documents that match a query, the largest first:
` + queryHelp + `
With --from or --texts, each id is followed by its text.`,
		Example: `  retwis text search posts 'redis fast -slow from:ann'
  retwis text search posts redis --limit 100 --before 4711
  retwis text search posts '"redis is fast"' --from 'post:*' --field body
  retwis text search posts '' --with has:link --json`,
		Args: shell.Arguments(2, 2, ""),
	})
	var q queryFlags
	q.add(c, "show at most this many results; 0 for all")
	c.AddJSON("print each document as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return q.run(ctx, c, args, func(x *text.Index) error {
			p := c.NewPrinter(false, false)
			return errors.Join(q.print(ctx, p, x), p.End())
		})
	})
}

// print prints documents page by page, up to the limit.
func (q *queryFlags) print(ctx context.Context, p *shell.Printer, x *text.Index) error {
	page, left := q.Query, q.Limit
	for {
		page.Limit = maxPage
		if q.Limit > 0 {
			page.Limit = min(left, maxPage)
		}
		found, err := x.Search(ctx, page)
		if err != nil {
			return err
		}
		if err := q.texts.print(ctx, p, found.IDs); err != nil {
			return err
		}
		left -= len(found.IDs)
		if page.Before = found.Next; found.Next == 0 || q.Limit > 0 && left == 0 {
			return nil
		}
	}
}
