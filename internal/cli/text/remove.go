package text

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
)

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove [flags] KEY [FILE...]",
		Short: "Remove documents from an index",
		Long: `Removes the documents of files, or of standard input, from an index. Their text and terms
must be the same as in the index, because the index does not store them.

` + filesHelp + `

Bad records, and documents that the index does not have, or has with another text, are
reported with their file and line; the other documents are removed, and the exit code is
then 1. Removing a document twice does no harm. The id of a removed document stays marked:
"text put" refuses the document, so that an interrupted "text put" does not bring it back,
and "text repair" puts it again.`,
		Example: `  retwis text remove posts deleted.csv
  printf 'id,text,terms\n7,Redis is fast,from:ann\n' | retwis text remove posts`,
		Args: shell.Arguments(1, -1, ""),
	})
	var field string
	addField(c, &field)
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		in, err := c.OpenInputs(args[1:], "documents")
		if err != nil {
			return err
		}
		defer in.Close()
		return existing.With(ctx, c, args[0], func(x *text.Index) error {
			w := writer{in: in, key: args[0], writeOne: func(ctx context.Context, d document) error {
				return x.Remove(ctx, d.id, d.Document)
			}}
			return w.write(ctx, documents(in, field, x))
		})
	})
}
