// Package graph implements the retwis graph commands.
package graph

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis graph command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "graph",
		Short: "Keep facts with three parts, and find them by any part",
		Long: `Keeps facts, each with a subject, a predicate and an object, in one sorted set. Each fact
is stored in all six orders of its parts (a hexastore), and found by the parts that are
known, or by several patterns that share variables.`,
		Example: `  retwis graph put people friends.tsv
  retwis graph select people matteo friend-of '*'
  retwis graph query people '?x likes beer . ?x lives-in barcelona . matteo friend-of ?x'
  retwis graph export people > people.tsv`,
	}, append([]*cobra.Command{newPut(env), newRemove(env), newSelect(env), newCount(env), newQuery(env), newExport(env)},
		maintenance.Commands(env)...)...)
}
