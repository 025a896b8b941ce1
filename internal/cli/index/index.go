// Package index implements the retwis index commands.
package index

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis index command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "index",
		Short: "Find ids by the values of columns, in order",
		Long: `Keeps ids in the order of one or more columns, and finds those whose values match
conditions: a room and a range of prices, a prefix, a range of time. Entries come
from CSV, and the index stores its columns. Putting an id again replaces its values.`,
		Example: `  printf 'id,room,price\n90,56,28.44\n' | retwis index put rooms --columns 'room:int,price:decimal(2)'
  retwis index select rooms room=56 price=10..30
  retwis index verify rooms --from 'room:*'`,
	}, shell.EntriesNoun{
		Name: "index", Unit: "entries", Declare: "--columns", From: "room:*",
		Declaration: func() shell.Declaration { return new(declaration) },
		Open:        open,
		Help:        help,
		Maintenance: maintenanceHelp,
	}.Commands(env)...)
}
