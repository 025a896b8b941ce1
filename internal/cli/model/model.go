// Package model implements the retwis model commands.
package model

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis model command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "model",
		Short: "Find and maintain the records that programs keep with package model",
		Long: `Shows the models of a database, which are the records and indexes that programs keep
with the Go package retwis/model, finds records, checks that records and indexes agree,
and repairs them.`,
		Example: `  retwis model list
  retwis model find user city=Bari --order-by age
  retwis model verify user
  retwis model repair user --rate 10000`,
	}, append([]*cobra.Command{newList(env), newGet(env), newFind(env), newCount(env), newMigrate(env), newDrop(env)}, maintenance.Commands(env)...)...)
}
