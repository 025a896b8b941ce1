package rdf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Write writes triples, one a line, and returns how many it wrote; Read reads them
// back unchanged. It takes this package's triples or a graph's. It stops at the first
// error of the sequence. Names that are not terms of N-Triples cannot be written as
// NTriples: the error names the triple.
func Write[T ~struct{ S, P, O string }](w io.Writer, format Format, triples iter.Seq2[T, error]) (int64, error) {
	var line func(Triple) (string, error)
	switch format {
	case TSV:
		line = formatTSV
	case NTriples:
		line = formatNTriples
	default:
		return 0, invalid("unknown format %q: use %s or %s", format, TSV, NTriples)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	for t, err := range triples {
		if err != nil {
			return n, errors.Join(err, out.Flush())
		}
		text, err := line(Triple(t))
		if err != nil {
			return n, errors.Join(err, out.Flush())
		}
		if n == 0 && strings.HasPrefix(text, byteOrderMark) { // Read drops the first
			text = byteOrderMark + text
		}
		if _, err := out.WriteString(text); err != nil {
			return n, fmt.Errorf("rdf: %w", err)
		}
		n++
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("rdf: %w", err)
	}
	return n, nil
}
