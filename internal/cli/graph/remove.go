package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// removeFlags are the flags of retwis graph remove.
type removeFlags struct {
	shell.RunFlags
	format *shell.Choice
	where  string
	yes    bool
}

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove [flags] KEY [FILE...]",
		Short: "Remove triples from a graph",
		Long: `Removes the triples of files, or of standard input, from a graph, or those that match a
pattern.

` + filesHelp + `

A bad line is reported with its file and number, and the rest is removed; the exit
code is then 1. A triple that is not in the graph is no error.

With --where, it removes the triples that match a pattern in the form of "graph query",
if needed with filters: 'ada likes *', or '?x expires ?day . ?day < 2026-01-01'. It works
in steps of 500 triples while the graph is in use. If it is interrupted, the rest is
still there; run it again. A pattern that matches every triple needs --yes.`,
		Example: `  retwis graph remove people gone.tsv
  retwis graph remove people --where 'ada likes *'
  retwis graph remove people --where '?x age ?n . ?n < 18' --rate 10000
  retwis graph query people '?x age ?n . ?x lives-in rome' --json | jq -r '[.x,"age",.n]|@tsv' | retwis graph remove people`,
		Args: shell.Arguments(1, -1, ""),
	})
	var flags removeFlags
	flags.format = addFormat(c)
	c.Flags().StringVar(&flags.where, "where", "", "remove the triples that match this `PATTERN`, instead of those of files")
	c.Flags().BoolVar(&flags.yes, "yes", false, "delete all of it")
	flags.AddRate(c)
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		if !c.Flags().Changed("where") {
			return removeFiles(ctx, c, flags, args)
		}
		if len(args) > 1 {
			return shell.Usage(errors.New("--where and files are two ways to say what to remove: use one"))
		}
		return removeWhere(ctx, c, flags, args[0])
	})
}

// removeFiles removes the triples of files.
func removeFiles(ctx context.Context, c *shell.Command, flags removeFlags, args []string) error {
	for _, flag := range []string{"yes", "rate"} {
		if c.Flags().Changed(flag) {
			return shell.Usage(fmt.Errorf("--%s is for --where", flag))
		}
	}
	return shell.Feed[*graph.Graph, graph.Triple]{
		Noun: existing, Unit: "triples", Read: readTriples(flags.format), Write: (*graph.Graph).RemoveMany,
	}.Run(ctx, c, args[0], args[1:])
}

// removeWhere removes the triples that match a pattern.
func removeWhere(ctx context.Context, c *shell.Command, flags removeFlags, key string) error {
	q, err := graph.Parse(flags.where)
	if err != nil {
		return shell.Usage(errors.New("--where: " + shell.OneLine(err)))
	}
	return existing.With(ctx, c, key, func(g *graph.Graph) error {
		if q.MatchesAll() && !flags.yes {
			n, err := g.Len(ctx)
			if err != nil {
				return err
			}
			return shell.Hint(
				fmt.Errorf("the pattern matches all %s of %q: nothing was removed", shell.Plural(n, "triple", "triples"), key),
				"Add --yes to remove them all.",
			)
		}
		opt, wipe := flags.Options(c, func(p shell.Progress) string {
			return fmt.Sprintf("%s of %s checked, %s removed", shell.Thousands(p.Checked), shell.Thousands(p.Total), shell.Thousands(p.Repaired))
		})
		n, err := g.RemoveWhere(ctx, q, opt)
		wipe()
		if err != nil {
			if n > 0 {
				err = shell.Hint(err, fmt.Sprintf("Before that it removed %s. Run it again for the rest.", shell.Plural(n, "triple", "triples")))
			}
			return err
		}
		return c.PrintNumber("removed", int64(n))
	})
}
