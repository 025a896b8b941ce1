package rdf

import (
	"bufio"
	"fmt"
	"strings"
)

// Format is a file format of triples.
type Format string

// The formats.
const (
	// Auto is for Read only: N-Triples if the first line with content is N-Triples,
	// else TSV. Turtle and XML are refused.
	Auto Format = "auto"
	// TSV has three names on a line, separated by tabs: subject, predicate, object.
	// In a name \t \n \r and \\ are a tab, a line feed, a carriage return and a
	// backslash. Empty lines are ignored.
	TSV Format = "tsv"
	// NTriples is the format of https://www.w3.org/TR/n-triples/. A name is a term
	// in canonical form with its delimiters: <http://…>, "text"@en, _:b0.
	NTriples Format = "nt"
)

// parser reads one line. ok is false for a line without a triple.
type parser func(line string) (t Triple, ok bool, err error)

// parserOf returns the parser of a format. For Auto it looks ahead in the input.
func parserOf(format Format, r *bufio.Reader) (parser, error) {
	switch format {
	case TSV:
		return parseTSV, nil
	case NTriples:
		return parseNTriples, nil
	case Auto, "":
		ahead, _ := r.Peek(64 << 10) // the next read returns the error again
		if looksLikeNTriples(string(ahead)) {
			return parseNTriples, nil
		}
		if other := otherFormat(string(ahead)); other != "" {
			return nil, invalid("the input is %s", other)
		}
		return parseTSV, nil
	}
	return nil, invalid("unknown format %q: use %s, %s or %s", format, Auto, TSV, NTriples)
}

// looksLikeNTriples inspects the first line with content.
func looksLikeNTriples(ahead string) bool {
	comments := false
	for line := range strings.Lines(ahead) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line[0] == '#' && strings.Count(line, "\t") != 2:
			comments = true
		default:
			_, ok, err := (&nt{line: line}).triple()
			return ok && err == nil || (line[0] == '<' || strings.HasPrefix(line, "_:")) && strings.HasSuffix(line, ".")
		}
	}
	return comments
}

// otherFormat recognizes a format that this package does not read, by the first line
// with content. It returns its name and how to convert it, or "".
func otherFormat(ahead string) string {
	const convert = "convert it to N-Triples: riot --output=nt FILE, or rapper -i %s -o ntriples FILE"
	for line := range strings.Lines(ahead) {
		line = strings.ToLower(strings.TrimSpace(line))
		switch {
		case line == "" || line[0] == '#':
			continue
		case strings.HasPrefix(line, "@prefix "), strings.HasPrefix(line, "@base "),
			(strings.HasPrefix(line, "prefix ") || strings.HasPrefix(line, "base ")) && strings.HasSuffix(line, ">"):
			return "Turtle; " + fmt.Sprintf(convert, "turtle")
		case strings.HasPrefix(line, "<?xml"), strings.HasPrefix(line, "<rdf:rdf"):
			return "XML; if it is RDF/XML, " + fmt.Sprintf(convert, "rdfxml")
		}
		return ""
	}
	return ""
}
