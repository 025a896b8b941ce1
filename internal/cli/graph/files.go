package graph

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"retwis/index/graph"
	"retwis/index/graph/rdf"
	"retwis/internal/cli/shell"
)

// filesHelp explains the input.
const filesHelp = `A line is a subject, a tab, a predicate, a tab and an object; in a name \t \n \r and \\
are a tab, a line feed, a carriage return and a backslash. Or it is a line of
N-Triples, whose terms are kept as names: <http://…>, "text"@en, _:b0. The extension
of the file (.tsv, .nt) or else its first line tells the format.`

func addFormat(c *shell.Command) *shell.Choice {
	return c.AddChoice("format", "the format of the input", "auto", "tsv", "nt")
}

// formatOf returns the format of a file: that of the flag, or that of its name.
func formatOf(file string, flag *shell.Choice) rdf.Format {
	format := rdf.Format(flag.Value)
	if format == rdf.Auto {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".tsv", ".tab":
			return rdf.TSV
		case ".nt":
			return rdf.NTriples
		}
	}
	return format
}

// readTriples returns a reader of the triples of all files.
func readTriples(format *shell.Choice) func(*shell.Inputs, *graph.Graph) iter.Seq2[graph.Triple, error] {
	return func(in *shell.Inputs, _ *graph.Graph) iter.Seq2[graph.Triple, error] { return triples(in, format) }
}

// triples yields the triples of all files, and rejects bad lines.
func triples(in *shell.Inputs, format *shell.Choice) iter.Seq2[graph.Triple, error] {
	return func(yield func(graph.Triple, error) bool) {
		for _, f := range in.Files {
			for t, err := range rdf.Read(f, formatOf(f.Name, format)) {
				var syntax *rdf.SyntaxError
				if errors.As(err, &syntax) {
					if err = in.Reject(f.Name, syntax.Line, withoutLine(syntax)); err == nil {
						continue
					}
				} else if err != nil {
					err = fmt.Errorf("%s: %w", f.Name, err)
				}
				if err != nil {
					yield(graph.Triple{}, err)
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

// withoutLine returns the error without the number of the line.
func withoutLine(err *rdf.SyntaxError) error {
	if err.Column == 0 {
		return errors.New(err.Text)
	}
	return fmt.Errorf("column %d: %s", err.Column, err.Text)
}
