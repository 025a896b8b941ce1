package index

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newQuery(env shell.Env) *cobra.Command {
	var flags commonFlags
	var page index.Page
	var count, cursor bool
	cmd := &cobra.Command{
		Use:   "query [flags] KEY [CONDITION...]",
		Short: "Show the entries for which all conditions hold, in order",
		Long: `Shows the entries for which all conditions hold, in the order of the index:
  room=56         this value
  price=10..30    from 10 to 30, both included; 10.. and ..30 are open
  price>10  price>=10  price<30  price<=30     (quote these for your shell)
  name=Ma*        a prefix of a string
  name==Ma*       this very value
Conditions on the first columns, with one value each, and one more on the next are
found at once, whatever the size of the index. Others are looked at entry by entry.`,
		Example: `  retwis index query rooms room=56 price=10..30
  retwis index query rooms room=56 --reverse --limit 3
  retwis index query rooms --limit 100 --cursor    then again with --after CURSOR
  retwis index query rooms 'price<20' --count`,
		Args: shell.Arguments(1, -1, "retwis index query KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shell.CheckPage(page); err != nil {
				return err
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				conditions, err := parseConditions(args[1:], x.Columns())
				if err != nil {
					return shell.Usage(errors.New(shell.OneLine(err)))
				}
				if count {
					n, err := x.count(ctx, conditions)
					if err == nil {
						err = printCount(cmd.OutOrStdout(), flags.json, n)
					}
					return err
				}
				p := newEntryPrinter(cmd.OutOrStdout(), x.Columns(), flags.json, cursor)
				for e, err := range x.query(ctx, page, conditions) {
					if err == nil {
						err = p.print(e)
					}
					if err != nil {
						return errors.Join(err, p.end())
					}
				}
				return p.end()
			})
		},
	}
	shell.AddPage(cmd, &page, &cursor)
	cmd.Flags().BoolVar(&count, "count", false, "show only how many there are")
	flags.add(cmd, env, "print each entry as a line of JSON")
	return cmd
}

// printCount prints how many there are: as JSON {"count":3}.
func printCount(out io.Writer, asJSON bool, n int64) (err error) {
	if asJSON {
		return shell.PrintNumber(out, true, "count", n)
	}
	_, err = fmt.Fprintln(out, n)
	return err
}
