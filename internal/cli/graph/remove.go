package graph

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove [flags] KEY [FILE...]",
		Short: "Remove triples from a graph",
		Long: `Removes the triples of files, or of standard input, from a graph.

` + filesHelp + `

A bad line is reported with its file and number, and the other triples are removed; the
exit code is then 1. A triple that is not in the graph is not an error.`,
		Example: `  retwis graph remove people gone.tsv
  retwis graph select people ada likes '*' --json | jq -r '[.s,.p,.o]|@tsv' | retwis graph remove people
  retwis graph query people '?x age ?n . ?n < 18' --json | jq -r '[.x,"age",.n]|@tsv' | retwis graph remove people`,
		Args: shell.Arguments(1, -1, ""),
	})
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return shell.Feed[*graph.Graph, graph.Triple]{
			Noun: existing, Unit: "triples", Read: triples, Write: (*graph.Graph).RemoveMany,
		}.Run(ctx, c, args[0], args[1:])
	})
}
