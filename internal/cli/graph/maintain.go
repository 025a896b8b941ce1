package graph

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
	"retwis/maintain"
)

// newVerify makes graph verify, and graph repair.
func newVerify(env shell.Env, repair bool) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
	var format *shell.Choice
	cmd := &cobra.Command{
		Use:   "verify [flags] KEY [FILE...]",
		Short: "Check that every triple of a graph is there in every order",
		Long: `Looks whether every triple is there in every order, in short steps, while the graph
is in use, and shows what is not. With files it also shows which of their triples
are missing altogether. It changes nothing: "graph repair" mends. The exit code is
1 if there is a problem.`,
		Example: `  retwis graph verify people
  retwis graph verify people friends.tsv --json`,
		Args: shell.Arguments(1, -1, "retwis graph verify KEY [FILE...]"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] KEY [FILE...]", "Mend triples of a graph that are not there in every order"
		cmd.Long = `Mends what "graph verify" finds, in short steps, while the graph is in use: where at
least half of the orders of a triple are left the others are brought back, else
they are removed. Triples of the files that are missing are put.`
		cmd.Example = `  retwis graph repair people --rate 10000
  retwis graph repair people friends.tsv`
		cmd.Args = shell.Arguments(1, -1, "retwis graph repair KEY [FILE...]")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var source iter.Seq2[graph.Triple, error]
		bad := func() int64 { return 0 }
		if len(args) > 1 {
			in, err := openTriples(cmd, env, args[1:], format)
			if err != nil {
				return err
			}
			defer in.Close()
			source, bad = in.triples(false), func() int64 { return in.Rejected }
		}
		return flags.open(cmd, env, args[0], nil, func(ctx context.Context, g *graph.Graph) error {
			run := g.Verify
			if repair {
				run = g.Repair
			}
			err := up.Run(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) { return run(ctx, source, opt) })
			if err == nil && bad() > 0 {
				err = shell.ErrReported
			}
			return err
		})
	}
	format = addFormat(cmd)
	up.Add(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

func newRebuild(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared graph.Options
	var up shell.MaintainFlags
	var format *shell.Choice
	cmd := &cobra.Command{
		Use:   "rebuild [flags] KEY [FILE...]",
		Short: "Make a graph anew from its source, while it is in use",
		Long: `Makes a graph anew of the triples of some files, or of standard input, which look as
those of "graph put". The present graph serves until the new one takes its place
in one step. What others write meanwhile is in the new one. At the first bad line
it gives up, and nothing has changed.`,
		Example: `  retwis graph rebuild people friends.tsv`,
		Args:    shell.Arguments(1, -1, "retwis graph rebuild KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openTriples(cmd, env, args[1:], format)
			if err != nil {
				return err
			}
			defer in.Close()
			return flags.open(cmd, env, args[0], &declared, func(ctx context.Context, g *graph.Graph) error {
				opt, _ := up.Options(cmd)
				opt.Progress = nil // in shows it
				if _, err := g.Rebuild(ctx, in.triples(true), opt); err != nil {
					in.Clear()
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	format = addFormat(cmd)
	addOptions(cmd, &declared)
	up.AddRate(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
