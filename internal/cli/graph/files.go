package graph

import (
	"iter"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// filesHelp describes the format of the input.
const filesHelp = `A line is a subject, a predicate and an object, separated by tabs. In a name, \t, \n, \r
and \\ stand for a tab, a line feed, a carriage return and a backslash.`

// maxLine is the maximum length of a line in bytes: three names with every byte escaped.
const maxLine = 3 * (2*graph.MaxName + 1)

// triples yields the triples of all input files and rejects bad lines.
func triples(in *shell.Inputs, _ *graph.Graph) iter.Seq2[graph.Triple, error] {
	return shell.LongLines(in, maxLine, graph.ParseTSV)
}
