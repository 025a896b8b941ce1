package graph

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/graph"
	"retwis/index/graph/rdf"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
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
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error {
		in, err := c.OpenInputs(args[1:], "triples")
		if err != nil {
			return err
		}
		defer in.Close()
		return c.WithStore(ctx, func(db *store.Store) error {
			g, err := declared.open(ctx, db.Client(), args[0])
			if err != nil {
				return err
			}
			all, failed := shell.UntilError(triples(in, format))
			_, err = g.PutMany(ctx, all)
			if err = cmp.Or(err, failed()); err != nil {
				return err
			}
			return in.Report()
		})
	})
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
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return withGraph(ctx, c, args[0], func(g *graph.Graph) error {
			_, err := rdf.Write(c.Stdout, rdf.Format(format.Value), g.All(ctx, index.Page{}))
			return err
		})
	})
}
