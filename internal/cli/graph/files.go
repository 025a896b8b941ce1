package graph

import (
	"iter"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// filesHelp explains the input.
const filesHelp = `A line is a subject, a tab, a predicate, a tab and an object; in a name \t \n \r and \\
are a tab, a line feed, a carriage return and a backslash.`

// maxLine is the maximum length of a line in bytes: three names with every byte escaped.
const maxLine = 3 * (2*graph.MaxName + 1)

// triples yields the triples of all files and rejects bad lines.
func triples(in *shell.Inputs, _ *graph.Graph) iter.Seq2[graph.Triple, error] {
	return shell.LongLines(in, maxLine, graph.ParseTSV)
}
