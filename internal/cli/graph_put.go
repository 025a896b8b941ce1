package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/graph"
)

// graphInput is what a file of triples looks like, for a help text.
const graphInput = `A line is subject, tab, predicate, tab, object; in a name \t \n \r and \\ are a tab,
a line feed, a carriage return and a backslash. Or it is one of N-Triples, whose
terms are kept as names: <http://…>, "text"@en, _:b0. Which one it is the name of
the file tells (.tsv, .nt), or else its first line.`

func newGraphPut(env Env) *cobra.Command {
	var flags graphFlags
	var declared graph.Options
	var format *choice
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put triples into a graph",
		Long: `Puts the triples of some files, or of standard input, into a graph, which is made if
it is not there.

` + graphInput + `

A bad line is told by its file and number, and the rest goes in; the exit code is
then 1. Putting a triple again changes nothing.`,
		Example: `  retwis graph put people friends.tsv
  printf 'matteo\tfriend-of\tlucio\n' | retwis graph put people
  zcat dump.nt.gz | retwis graph put facts --compact`,
		Args: named(1, -1, "retwis graph put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.change(cmd, env, args, format, &declared, (*graph.Graph).PutMany)
		},
	}
	format = addGraphFormat(cmd)
	addGraphOptions(cmd, &declared)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

func newGraphDel(env Env) *cobra.Command {
	var flags graphFlags
	var format *choice
	cmd := &cobra.Command{
		Use:   "del [flags] KEY [FILE...]",
		Short: "Delete triples from a graph",
		Long: `Deletes the triples of some files, or of standard input, from a graph.

` + graphInput + `

A bad line is told by its file and number, and the rest is deleted; the exit code
is then 1. A triple that is not there is no mistake.`,
		Example: `  retwis graph del people gone.tsv
  retwis graph match people matteo '*' '*' --json | jq -r '[.s,.p,.o]|@tsv' | retwis graph del people`,
		Args: named(1, -1, "retwis graph del KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.change(cmd, env, args, format, nil, (*graph.Graph).DelMany)
		},
	}
	format = addGraphFormat(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// addGraphOptions adds the flags that declare a graph which is not there yet.
func addGraphOptions(cmd *cobra.Command, declared *graph.Options) {
	cmd.Flags().BoolVar(&declared.Compact, "compact", false, "of a new graph: keep three orders instead of six, for half the memory")
	cmd.Flags().IntVar(&declared.Partitions, "partitions", 0, "of a new graph: over how many slots of a Cluster it is spread (default 1)")
}

func addGraphFormat(cmd *cobra.Command) *choice {
	return addChoice(cmd, "format", "what the input is", "auto", "tsv", "nt")
}

// change puts or deletes the triples of files, and tells what came of it.
func (flags *graphFlags) change(cmd *cobra.Command, env Env, args []string, format *choice, declared *graph.Options,
	do func(*graph.Graph, context.Context, iter.Seq[graph.Triple]) (int, error),
) error {
	in, err := openTriples(cmd, env, args[1:], format)
	if err != nil {
		return err
	}
	defer in.close()
	return flags.open(cmd, env, args[0], declared, func(ctx context.Context, g *graph.Graph) error {
		var failed error // of a file
		_, err := do(g, ctx, func(yield func(graph.Triple) bool) {
			for t, err := range in.triples(false) {
				if failed = err; err != nil || !yield(t) {
					return
				}
			}
		})
		if err = cmp.Or(err, failed); err != nil {
			in.wipe()
			return err
		}
		return in.tell(flags.json)
	})
}

// triplesInput are files of triples.
type triplesInput struct {
	*inputs
	formats []graph.Format
}

// openTriples opens all files before anything of them is put.
func openTriples(cmd *cobra.Command, env Env, names []string, format *choice) (*triplesInput, error) {
	files, err := openInputs(cmd, env, names, "triples")
	if err != nil {
		return nil, err
	}
	in := &triplesInput{inputs: files}
	for _, name := range files.names {
		of := graph.Format(format.value)
		if of == graph.Auto {
			switch strings.ToLower(filepath.Ext(name)) {
			case ".tsv", ".tab":
				of = graph.TSV
			case ".nt":
				of = graph.NTriples
			}
		}
		in.formats = append(in.formats, of)
	}
	return in, nil
}

// triples yields the triples of all files. Bad lines are told and passed over,
// or, where the input must be whole, the error that ends it.
func (in *triplesInput) triples(whole bool) iter.Seq2[graph.Triple, error] {
	return func(yield func(graph.Triple, error) bool) {
		for i, f := range in.files {
			for t, err := range graph.Read(f, in.formats[i]) {
				var syntax *graph.SyntaxError
				switch bad := errors.As(err, &syntax); {
				case bad && whole:
					yield(t, fmt.Errorf("%s:%d: %w", in.names[i], syntax.Line, inLine(syntax)))
					return
				case bad:
					in.wrong(in.names[i], syntax.Line, inLine(syntax))
					continue
				case err != nil:
					yield(t, fmt.Errorf("%s: %w", in.names[i], err))
					return
				}
				in.right()
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// inLine is what is wrong with a line that is told already.
func inLine(err *graph.SyntaxError) error {
	if err.Column == 0 {
		return errors.New(err.Text)
	}
	return fmt.Errorf("column %d: %s", err.Column, err.Text)
}

func newGraphExport(env Env) *cobra.Command {
	var flags graphFlags
	var format *choice
	cmd := &cobra.Command{
		Use:   "export [flags] KEY",
		Short: "Write all triples of a graph, to be put again",
		Long: `Writes all triples of a graph to standard output, by subject, predicate and object,
as "graph put" reads them. N-Triples are only for a graph whose names are terms of
N-Triples.`,
		Example: `  retwis graph export people > people.tsv
  retwis graph export facts --format nt | gzip > facts.nt.gz`,
		Args: named(1, 1, "retwis graph export KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], nil, func(ctx context.Context, g *graph.Graph) error {
				_, err := graph.Write(cmd.OutOrStdout(), graph.Format(format.value), g.Match(ctx, graph.Pattern{}, index.Page{}))
				return err
			})
		},
	}
	format = addChoice(cmd, "format", "what to write", "tsv", "nt")
	flags.add(cmd, env, "")
	return cmd
}
