package graph

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
	"retwis/index/graph/rdf"
	"retwis/internal/cli/shell"
)

// inputHelp is what a file of triples looks like, for a help text.
const inputHelp = `A line is subject, tab, predicate, tab, object; in a name \t \n \r and \\ are a tab,
a line feed, a carriage return and a backslash. Or it is one of N-Triples, whose
terms are kept as names: <http://…>, "text"@en, _:b0. Which one it is the name of
the file tells (.tsv, .nt), or else its first line.`

func newPut(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared graph.Options
	var format *shell.Choice
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put triples into a graph",
		Long: `Puts the triples of some files, or of standard input, into a graph, which is made if
it is not there.

` + inputHelp + `

A bad line is told by its file and number, and the rest goes in; the exit code is
then 1. Putting a triple again changes nothing.`,
		Example: `  retwis graph put people friends.tsv
  printf 'matteo\tfriend-of\tlucio\n' | retwis graph put people
  zcat dump.nt.gz | retwis graph put facts --compact`,
		Args: shell.Arguments(1, -1, "retwis graph put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.change(cmd, env, args, format, &declared, (*graph.Graph).PutMany)
		},
	}
	format = addFormat(cmd)
	addOptions(cmd, &declared)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

func newDel(env shell.Env) *cobra.Command {
	var flags commonFlags
	var format *shell.Choice
	cmd := &cobra.Command{
		Use:   "del [flags] KEY [FILE...]",
		Short: "Delete triples from a graph",
		Long: `Deletes the triples of some files, or of standard input, from a graph.

` + inputHelp + `

A bad line is told by its file and number, and the rest is deleted; the exit code
is then 1. A triple that is not there is no mistake.`,
		Example: `  retwis graph del people gone.tsv
  retwis graph match people matteo '*' '*' --json | jq -r '[.s,.p,.o]|@tsv' | retwis graph del people`,
		Args: shell.Arguments(1, -1, "retwis graph del KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.change(cmd, env, args, format, nil, (*graph.Graph).RemoveMany)
		},
	}
	format = addFormat(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// addOptions adds the flags that declare a graph which is not there yet.
func addOptions(cmd *cobra.Command, declared *graph.Options) {
	cmd.Flags().BoolVar(&declared.Compact, "compact", false, "of a new graph: keep three orders instead of six, for half the memory")
	cmd.Flags().IntVar(&declared.Partitions, "partitions", 0, "of a new graph: over how many slots of a Cluster it is spread (default 1)")
}

func addFormat(cmd *cobra.Command) *shell.Choice {
	return shell.AddChoice(cmd, "format", "what the input is", "auto", "tsv", "nt")
}

// change puts or deletes the triples of files, and tells what came of it.
func (flags *commonFlags) change(cmd *cobra.Command, env shell.Env, args []string, format *shell.Choice, declared *graph.Options,
	do func(*graph.Graph, context.Context, iter.Seq[graph.Triple]) (int, error),
) error {
	in, err := openTriples(cmd, env, args[1:], format)
	if err != nil {
		return err
	}
	defer in.Close()
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
			in.Clear()
			return err
		}
		return in.Report(flags.json)
	})
}

// triplesInput are files of triples.
type triplesInput struct {
	*shell.Inputs
	formats []rdf.Format
}

// openTriples opens all files before anything of them is put.
func openTriples(cmd *cobra.Command, env shell.Env, names []string, format *shell.Choice) (*triplesInput, error) {
	files, err := shell.OpenInputs(cmd, env, names, "triples")
	if err != nil {
		return nil, err
	}
	in := &triplesInput{Inputs: files}
	for _, name := range files.Names {
		of := rdf.Format(format.Value)
		if of == rdf.Auto {
			switch strings.ToLower(filepath.Ext(name)) {
			case ".tsv", ".tab":
				of = rdf.TSV
			case ".nt":
				of = rdf.NTriples
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
		for i, f := range in.Files {
			for t, err := range rdf.Read(f, in.formats[i]) {
				var syntax *rdf.SyntaxError
				switch bad := errors.As(err, &syntax); {
				case bad && whole:
					yield(graph.Triple{}, fmt.Errorf("%s:%d: %w", in.Names[i], syntax.Line, inLine(syntax)))
					return
				case bad:
					in.Reject(in.Names[i], syntax.Line, inLine(syntax))
					continue
				case err != nil:
					yield(graph.Triple{}, fmt.Errorf("%s: %w", in.Names[i], err))
					return
				}
				in.Accept()
				if !yield(graph.Triple(t), nil) {
					return
				}
			}
		}
	}
}

// inLine is what is wrong with a line that is told already.
func inLine(err *rdf.SyntaxError) error {
	if err.Column == 0 {
		return errors.New(err.Text)
	}
	return fmt.Errorf("column %d: %s", err.Column, err.Text)
}

func newExport(env shell.Env) *cobra.Command {
	var flags commonFlags
	var format *shell.Choice
	cmd := &cobra.Command{
		Use:   "export [flags] KEY",
		Short: "Write all triples of a graph, to be put again",
		Long: `Writes all triples of a graph to standard output, by subject, predicate and object,
as "graph put" reads them. N-Triples are only for a graph whose names are terms of
N-Triples.`,
		Example: `  retwis graph export people > people.tsv
  retwis graph export facts --format nt | gzip > facts.nt.gz`,
		Args: shell.Arguments(1, 1, "retwis graph export KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], nil, func(ctx context.Context, g *graph.Graph) error {
				_, err := rdf.Write(cmd.OutOrStdout(), rdf.Format(format.Value), g.Select(ctx, graph.Pattern{}, index.Page{}))
				return err
			})
		},
	}
	format = shell.AddChoice(cmd, "format", "what to write", "tsv", "nt")
	flags.add(cmd, env, "")
	return cmd
}
