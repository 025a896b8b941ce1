// Package suggest implements the retwis suggest commands.
package suggest

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis suggest command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "suggest",
		Short: "Complete what people type with the most frequent searches",
		Long: `Counts terms in an index, and completes a prefix with the most frequent terms, quickly,
however many terms there are. A prefix matches in any case, and with or without accents
and punctuation. Different spellings of a term are counted together; the term is shown in
its most frequent spelling.`,
		Example: `  retwis suggest add words /usr/share/dict/words
  cut -f2 searches.tsv | retwis suggest add words
  retwis suggest complete words ban -n 5`,
	}, append([]*cobra.Command{
		newAdd(env), newSet(env), newComplete(env), newGet(env), newList(env), newRemove(env), newBlocked(env),
		newCleanup(env), newSweep(env),
	}, maintenance.Commands(env)...)...)
}
