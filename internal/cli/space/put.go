package space

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newPut(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared newDims
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put points from CSV; those that are there move",
		Long: `Puts the records of some CSV files, or of standard input, into an index. The header
names id and every dimension, in any order; other columns are passed over. An index
that is not there is made of --dims, each a name, a type and a range:
  x:int(0..400)                     integers of up to 64 bits, negative ones too
  price:decimal(2)(0..1000)         two digits behind the point
  f:float(-1..1)
  at:time(2020-01-01..2030-01-01)   2026-11-21T10:00:00Z, or 2026-11-21
  geo                               lat and lon in degrees; distances are metres
A value outside of its range is refused.

A bad record is told by its file and line, and the rest goes in; the exit code is
then 1. Putting a file twice does no harm.`,
		Example: `  retwis space put points points.csv --dims 'x:int(0..400),y:int(0..400)'
  retwis space put points more.csv
  retwis space put cities cities.csv --dims geo`,
		Args: shell.Arguments(1, -1, "retwis space put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := shell.OpenInputs(cmd, env, args[1:], "points")
			if err != nil {
				return err
			}
			defer in.Close()
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				var wrong error
				_, err = x.PutMany(ctx, func(yield func(space.Entry) bool) {
					for o, err := range points(in, x) {
						if wrong = err; err != nil || !yield(space.Entry{ID: o.ID, Values: o.Value}) {
							return
						}
					}
				})
				if err = cmp.Or(err, wrong); err != nil {
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	declared.add(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// points yields the good records of all files, and tells the bad ones.
func points(in *shell.Inputs, x *space.Index) iter.Seq2[index.Object[[]any], error] {
	return func(yield func(index.Object[[]any], error) bool) {
		err := in.Records(dimNames(x), func(r shell.Record) bool {
			values := make([]any, len(r.Texts))
			for i, text := range r.Texts {
				values[i] = strings.TrimSpace(text)
			}
			if err := x.Check(r.Id, values...); err != nil {
				in.Reject(r.File, r.Line, errors.New(strings.TrimPrefix(shell.OneLine(err), x.Key()+": ")))
				return true
			}
			in.Accept()
			return yield(index.Object[[]any]{ID: r.Id, Value: values}, nil)
		})
		if err != nil {
			yield(index.Object[[]any]{}, err)
		}
	}
}
