package index

import (
	"cmp"
	"context"
	"iter"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newPut(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared newColumns
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put entries from CSV; those that are there move",
		Long: `Puts the records of some CSV files, or of standard input, into an index. The header
names id and every column, in any order; other columns are passed over. An index
that is not there is made of --columns:
  string  bytes   any text; equal, ranges, prefixes
  int  uint       64 bits; int(4): of at most four digits
  decimal(2)      two digits behind the point, 18 in all; decimal(30,2): 30 in all
  float  bigint(256)  bool
  time            2026-11-21T10:00:00Z, or 2026-11-21
each ascending, or "desc" for the greatest first.

A bad record is told by its file and line, and the rest goes in; the exit code is
then 1. Putting a file twice does no harm.`,
		Example: `  retwis index put rooms rooms.csv --columns 'room:int,price:decimal(2)'
  retwis index put rooms more.csv
  retwis index put ages people.csv --numeric --columns age:int`,
		Args: shell.Arguments(1, -1, "retwis index put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := shell.OpenInputs(cmd, env, args[1:], "entries")
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
				_, err = x.putMany(ctx, func(yield func(index.Entry) bool) {
					for e, err := range entries(in, x) {
						if wrong = err; err != nil || !yield(e) {
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

// entries yields the good records of all files, and tells the bad ones.
func entries(in *shell.Inputs, x ordered) iter.Seq2[index.Entry, error] {
	columns := x.Columns()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return func(yield func(index.Entry, error) bool) {
		err := in.Records(names, func(r shell.Record) bool {
			values, err := parseAll(columns, r.Texts)
			if err == nil {
				err = x.check(r.Id, values)
			}
			if err != nil {
				in.Reject(r.File, r.Line, err)
				return true
			}
			in.Accept()
			return yield(index.Entry{ID: r.Id, Values: values}, nil)
		})
		if err != nil {
			yield(index.Entry{}, err)
		}
	}
}

// parseAll reads the values of all columns.
func parseAll(columns []index.Column, texts []string) ([]any, error) {
	values := make([]any, len(columns))
	for i, c := range columns {
		var err error
		if values[i], err = c.Parse(texts[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
