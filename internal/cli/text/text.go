// Package text implements the retwis text commands.
package text

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis text command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "text",
		Short: "Find documents by the words in their texts, the newest first",
		Long: `Indexes the words of texts, and finds the documents that have certain words, those with
the largest ids first. A document has a number as its id, a text, and exact terms beside
it, such as from:ann. The index does not store the texts: to remove or change a document,
give the text that it had.`,
		Example: `  printf 'id,text,terms\n7,Redis is fast,from:ann\n' | retwis text put posts
  retwis text search posts 'redis fast -slow from:ann'
  retwis text search posts '"redis is fast"' --from 'post:*' --field body`,
	}, append([]*cobra.Command{newPut(env), newSearch(env), newExplain(env), newRemove(env)},
		append(maintenance.Commands(env), newDrop(env))...)...)
}
