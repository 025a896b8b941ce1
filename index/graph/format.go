package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"retwis/index"
)

// Format is how triples are written in a file.
type Format string

// The formats.
const (
	// Auto is N-Triples where the first line that says something is, and TSV
	// otherwise; Turtle and XML are refused. It is for Read only.
	Auto Format = "auto"
	// TSV is subject, tab, predicate, tab, object on a line, each a name. In a
	// name \t \n \r and \\ are a tab, a line feed, a carriage return and a
	// backslash. Empty lines mean nothing.
	TSV Format = "tsv"
	// NTriples is that of https://www.w3.org/TR/n-triples/. The names are the
	// terms in canonical form, as they stand there: <http://…>, "text"@en, _:b0.
	NTriples Format = "nt"
)

// maxLine is the most bytes of a line: three names with every character escaped.
const maxLine = 4 << 20

// Read yields the triples of a file as it reads it. A line that is wrong is
// yielded as a *SyntaxError; whoever goes on gets the lines behind it. Any other
// error is one of the reader, and the last.
func Read(r io.Reader, format Format) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		lines := lineReader{r: bufio.NewReaderSize(r, 64<<10)}
		if head, _ := lines.r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
			_, _ = lines.r.Discard(len(head)) // they were peeked
		}
		parse := parseTSV
		switch format {
		case TSV:
		case NTriples:
			parse = parseNT
		case Auto, "":
			if lines.looksLikeNT() {
				parse = parseNT
			} else if other := lines.looksLikeOther(); other != "" {
				yield(Triple{}, invalid("the input is %s", other))
				return
			}
		default:
			yield(Triple{}, invalid("the format %q is none of %s, %s, %s", format, Auto, TSV, NTriples))
			return
		}
		for {
			line, err := lines.next()
			if err == io.EOF {
				return
			}
			var t Triple
			ok := true
			if err == nil {
				t, ok, err = parse(line)
			}
			if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
				syntax.Line = lines.number
				err = syntax
			} else if err != nil {
				yield(Triple{}, fmt.Errorf("graph: line %d: %w", lines.number, err))
				return
			}
			if (ok || err != nil) && !yield(t, err) {
				return
			}
		}
	}
}

// byteOrderMark is what some editors begin a file with; it is no part of a name.
const byteOrderMark = "\ufeff"

// lineReader reads lines of bounded length.
type lineReader struct {
	r      *bufio.Reader
	number int
}

// next returns the next line without its end, or a *SyntaxError for one that is
// too long, which is passed over.
func (l *lineReader) next() (string, error) {
	l.number++
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) == 0 && !tooLong:
			return "", io.EOF
		case err != nil && err != io.EOF:
			return "", err
		case tooLong:
			return "", &SyntaxError{Text: fmt.Sprintf("the line has more than %d bytes", maxLine)}
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		return string(line), nil
	}
}

// looksLikeNT looks at the first line that says something.
func (l *lineReader) looksLikeNT() bool {
	ahead, _ := l.r.Peek(64 << 10) // an error comes again when it is read
	comments := false
	for line := range strings.Lines(string(ahead)) {
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

// looksLikeOther names another format of triples, by the first line that says something,
// and what to do; or it returns nothing.
func (l *lineReader) looksLikeOther() string {
	const convert = "convert it to N-Triples: riot --output=nt FILE, or rapper -i %s -o ntriples FILE"
	ahead, _ := l.r.Peek(64 << 10) // an error comes again when it is read
	for line := range strings.Lines(string(ahead)) {
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

// parseTSV reads a line of TSV. ok is false for one that is empty.
func parseTSV(line string) (t Triple, ok bool, err error) {
	if line == "" {
		return t, false, nil
	}
	parts := strings.SplitN(line, "\t", 5)
	if len(parts) != 3 {
		found := fmt.Sprintf("%d parts", len(parts))
		switch len(parts) {
		case 1:
			found = "1 part"
		case 5:
			found = "more"
		}
		return t, false, &SyntaxError{Text: "expected subject, tab, predicate, tab, object; found " + found}
	}
	column := 1
	for i, part := range parts {
		name, at := unescapeTSV(part)
		if at >= 0 {
			return t, false, &SyntaxError{Column: column + utf8.RuneCountInString(part[:at]), Text: `write a backslash as \\; \t, \n and \r are the others that there are`}
		}
		if name == "" || len(name) > MaxName {
			return t, false, &SyntaxError{Column: column, Text: fmt.Sprintf("the %s has %d bytes: it must have from 1 to %d", partName(i), len(name), MaxName)}
		}
		t.set("spo"[i], name)
		column += utf8.RuneCountInString(part) + 1
	}
	return t, true, nil
}

// unescapeTSV undoes escapeTSV, or tells where a backslash means nothing.
func unescapeTSV(text string) (name string, wrong int) {
	if strings.IndexByte(text, '\\') < 0 {
		return text, -1
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) || strings.IndexByte(`tnr\`, text[i]) < 0 {
			return "", i - 1
		}
		out.WriteByte("\t\n\r\\"[strings.IndexByte(`tnr\`, text[i])])
	}
	return out.String(), -1
}

// parseNT reads a line of N-Triples.
func parseNT(line string) (Triple, bool, error) {
	n := nt{line: line}
	t, ok, err := n.triple()
	if err != nil {
		return Triple{}, false, &SyntaxError{Column: utf8.RuneCountInString(line[:n.at]) + 1, Text: err.Error()}
	}
	if ok {
		if err := t.check(); err != nil {
			return Triple{}, false, &SyntaxError{Text: strings.TrimPrefix(err.Error(), index.ErrValue.Error()+": ")}
		}
	}
	return t, ok, nil
}

// Write writes triples as they come, a line each, and tells how many. Read gives
// back the same. Names that are no terms of N-Triples cannot be written as such:
// that is an error which names the triple.
func Write(w io.Writer, format Format, triples iter.Seq2[Triple, error]) (int64, error) {
	line := lineTSV
	switch format {
	case TSV:
	case NTriples:
		line = lineNT
	default:
		return 0, invalid("the format %q is none of %s, %s", format, TSV, NTriples)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	for t, err := range triples {
		if err != nil {
			return n, errors.Join(err, out.Flush())
		}
		text, err := line(t)
		if err != nil {
			return n, errors.Join(err, out.Flush())
		}
		if _, err := out.WriteString(text); err != nil {
			return n, fmt.Errorf("graph: %w", err)
		}
		n++
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("graph: %w", err)
	}
	return n, nil
}

func lineTSV(t Triple) (string, error) {
	r := strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`, `\`, `\\`)
	return r.Replace(t.S) + "\t" + r.Replace(t.P) + "\t" + r.Replace(t.O) + "\n", nil
}

func lineNT(t Triple) (string, error) {
	line := t.S + " " + t.P + " " + t.O + " ."
	if same, ok, err := parseNT(line); err != nil || !ok || same != t {
		return "", invalid("%q %q %q is no triple of N-Triples: write it as TSV", t.S, t.P, t.O)
	}
	return line + "\n", nil
}
