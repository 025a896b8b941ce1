package graph

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/graph"
	"retwis/index/graph/rdf"
	"retwis/internal/cli/shell"
)

func newPut(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put triples into a graph",
		Long: `Puts the triples of files, or of standard input, into a graph. A graph that does not
exist is created.

` + filesHelp + `

A bad line is reported with its file and number, and the rest is put; the exit code is
then 1. Putting a triple again changes nothing.`,
		Example: `  retwis graph put people friends.tsv
  printf 'matteo\tfriend-of\tlucio\n' | retwis graph put people
  zcat dump.nt.gz | retwis graph put facts --compact`,
		Args: shell.Arguments(1, -1, ""),
	})
	format := addFormat(c)
	var declared declaration
	declared.add(c)
	return shell.Feed[*graph.Graph, graph.Triple]{
		Noun: declared.noun(), Unit: "triples", Read: readTriples(format), Write: (*graph.Graph).PutMany,
	}.BuildPut(c)
}

func newExport(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "export [flags] KEY",
		Short: "Write all triples of a graph, as \"graph put\" reads them",
		Long: `Writes all triples of a graph to standard output, by subject, predicate and object, as
"graph put" reads them. N-Triples can be written only if the names in the graph are
terms of N-Triples.`,
		Example: `  retwis graph export people > people.tsv
  retwis graph export facts --format nt | gzip > facts.nt.gz`,
		Args: shell.Arguments(1, 1, ""),
	})
	format := c.AddChoice("format", "the format to write", "tsv", "nt")
	return existing.Build(c, "", func(ctx context.Context, g *graph.Graph, _ []string) error {
		_, err := rdf.Write(c.Stdout, rdf.Format(format.Value), g.All(ctx, index.Page{}))
		return err
	})
}
