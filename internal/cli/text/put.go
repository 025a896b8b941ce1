package text

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

func newPut(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put documents into an index",
		Long: `Puts the documents of files, or of standard input, into an index. An index that does not
exist is created.

` + filesHelp + `

A bad record is reported with its file and line, and the other documents are put; the exit
code is then 1. Putting a document twice does no harm. A document whose text differs from
that in the index, or that was removed, is refused; "text repair" with the file puts such
documents. Ascending ids are fastest.`,
		Example: `  retwis text put posts posts.csv
  printf 'id,text,terms\n7,Redis is fast,from:ann\n' | retwis text put posts
  printf '{"id":8,"text":"Valkey is fast","terms":["from:ben"]}\n' | retwis text put posts
  retwis text put articles articles.jsonl.gz --language english --field body`,
		Args: shell.Arguments(1, -1, ""),
	})
	var declared declaration
	var field string
	addField(c, &field)
	declared.add(c)
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error {
		in, err := c.OpenInputs(args[1:], "documents")
		if err != nil {
			return err
		}
		defer in.Close()
		return c.WithStore(ctx, func(db *store.Store) error {
			x, err := declared.open(ctx, db.Client(), args[0], c.Flags().Changed)
			if err != nil {
				return err
			}
			return putter(in, x, args[0]).write(ctx, documents(in, field, x))
		})
	})
}

// putter returns a writer that puts documents.
func putter(in *shell.Inputs, x *text.Index, key string) *writer {
	return &writer{
		in: in, key: key,
		writeBatch: func(ctx context.Context, batch []document) (complete bool, err error) {
			n, err := x.PutMany(ctx, func(yield func(int64, text.Document) bool) {
				for _, d := range batch {
					if !yield(d.id, d.Document) {
						return
					}
				}
			})
			if errors.Is(err, text.ErrConflict) {
				return false, nil // PutMany does not report which documents conflict; writeOne does
			}
			return n == len(batch), err // PutMany does not report removed documents
		},
		writeOne: func(ctx context.Context, d document) error { return x.Put(ctx, d.id, d.Document) },
	}
}
