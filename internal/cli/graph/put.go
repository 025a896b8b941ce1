package graph

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

func newPut(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put triples into a graph",
		Long: `Puts the triples of files, or of standard input, into a graph. A graph that does not
exist is created.

` + filesHelp + `

A bad line is reported with its file and number, and the other lines are put; the exit
code is then 1. Putting a triple again changes nothing.`,
		Example: `  retwis graph put people friends.tsv
  printf 'matteo\tfriend-of\tlucio\n' | retwis graph put people
  zcat dump.tsv.gz | retwis graph put facts --compact`,
		Args: shell.Arguments(1, -1, ""),
	})
	var declared declaration
	declared.add(c)
	return shell.Feed[*graph.Graph, graph.Triple]{
		Noun: declared.noun(), Unit: "triples", Read: triples, Write: (*graph.Graph).PutMany,
	}.BuildPut(c)
}

// byteOrderMark is a mark that some editors write at the start of a file; it is not part of a name.
const byteOrderMark = "\ufeff"

func newExport(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "export [flags] KEY",
		Short: "Write all triples of a graph, as \"graph put\" reads them",
		Long: `Writes all triples of a graph to standard output, by subject, predicate and object, as
"graph put" reads them.`,
		Example: `  retwis graph export people > people.tsv`,
		Args:    shell.Arguments(1, 1, ""),
	})
	return existing.Build(c, "", func(ctx context.Context, g *graph.Graph, _ []string) error {
		out := bufio.NewWriterSize(c.Stdout, 64<<10)
		first := true
		for t, err := range g.All(ctx, index.Page{}) {
			if err != nil {
				return errors.Join(err, out.Flush())
			}
			line := t.TSV()
			if first && strings.HasPrefix(line, byteOrderMark) {
				line = byteOrderMark + line // "graph put" drops the first mark
			}
			first = false
			if _, err := out.WriteString(line + "\n"); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}
