// Package space implements the retwis space commands.
package space

import (
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis space command.
func New(env shell.Env) *cobra.Command {
	n := shell.EntriesNoun{
		Name: "space", Unit: "points", Declare: "--dims", From: "point:*",
		Declaration: func() shell.Declaration { return new(declaration) },
		Open:        open,
		Help:        help,
		Maintenance: maintenanceHelp,
	}
	return shell.Group(&cobra.Command{
		Use:   "space",
		Short: "Find points with several dimensions: in a box, or nearest to a place",
		Long: `Keeps points of 1 to 16 dimensions, finds those in a box and those nearest to a place,
and counts them. Points come from CSV, and the index stores its dimensions.
Putting an id again moves its point.`,
		Example: `  printf 'id,x,y\n90,75,200\n' | retwis space put points --dims 'x:int(0..400),y:int(0..400)'
  retwis space select points x=50..100 y=100..300
  retwis space nearest points x=75 y=200 -n 5
  retwis space put cities cities.csv --dims geo
  retwis space nearest cities lat=38.1 lon=13.4 --within 200000`,
	}, append(n.Commands(env), newNearest(env, n), newExplain(env, n))...)
}
