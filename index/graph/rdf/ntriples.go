package rdf

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseNTriples reads a line of N-Triples. ok is false for a comment or an empty line.
func parseNTriples(line string) (Triple, bool, error) {
	n := nt{line: line}
	t, ok, err := n.triple()
	if err != nil {
		return Triple{}, false, &SyntaxError{Column: utf8.RuneCountInString(line[:n.at]) + 1, Text: err.Error()}
	}
	for i := range 3 {
		if text := lengthError(i, *t.part(i)); ok && text != "" {
			return Triple{}, false, &SyntaxError{Text: text}
		}
	}
	return t, ok, nil
}

func formatNTriples(t Triple) (string, error) {
	line := t.S + " " + t.P + " " + t.O + " ."
	if same, ok, err := parseNTriples(line); err != nil || !ok || same != t {
		return "", invalid("%q %q %q is not a triple of N-Triples: write it as TSV", t.S, t.P, t.O)
	}
	return line + "\n", nil
}

// nt parses one line of N-Triples, https://www.w3.org/TR/n-triples/, into terms in
// canonical form: a term is the same string however it was escaped.
type nt struct {
	line string
	at   int
}

// triple reads a line. ok is false for a comment or an empty line.
func (n *nt) triple() (t Triple, ok bool, err error) {
	n.blanks()
	if n.at == len(n.line) || n.line[n.at] == '#' {
		return t, false, nil
	}
	if t.S, err = n.subject(); err != nil {
		return t, false, err
	}
	n.blanks()
	if t.P, err = n.predicate(); err != nil {
		return t, false, err
	}
	n.blanks()
	if t.O, err = n.object(); err != nil {
		return t, false, err
	}
	n.blanks()
	if n.peek() != '.' {
		return t, false, n.expected("a dot after the object")
	}
	n.at++
	n.blanks()
	if n.at < len(n.line) && n.line[n.at] != '#' {
		return t, false, n.expected("nothing but a comment after the dot")
	}
	return t, true, nil
}

func (n *nt) blanks() {
	for n.at < len(n.line) && (n.line[n.at] == ' ' || n.line[n.at] == '\t') {
		n.at++
	}
}

// peek returns the next byte, 0 at the end.
func (n *nt) peek() byte {
	if n.at < len(n.line) {
		return n.line[n.at]
	}
	return 0
}

// expected returns an error that names the expected and the actual character.
func (n *nt) expected(what string) error {
	if n.at == len(n.line) {
		return fmt.Errorf("expected %s, and the line ends", what)
	}
	r, size := utf8.DecodeRuneInString(n.line[n.at:])
	if r == utf8.RuneError && size == 1 {
		return errors.New("the line is not UTF-8")
	}
	return fmt.Errorf("expected %s, found %q", what, r)
}

func (n *nt) subject() (string, error) {
	switch n.peek() {
	case '<':
		return n.iri()
	case '_':
		return n.blankNode()
	}
	return "", n.expected("a subject, <IRI> or _:label")
}

func (n *nt) predicate() (string, error) {
	if n.peek() == '<' {
		return n.iri()
	}
	return "", n.expected("a predicate, <IRI>")
}

func (n *nt) object() (string, error) {
	switch n.peek() {
	case '<':
		return n.iri()
	case '_':
		return n.blankNode()
	case '"':
		return n.literal()
	}
	return "", n.expected(`an object, <IRI>, _:label or "literal"`)
}

// iri reads an IRI with its brackets.
func (n *nt) iri() (string, error) {
	var out strings.Builder
	start := n.at
	for n.at++; ; {
		r, err := n.rune("this < is never closed", start)
		switch {
		case err != nil:
			return "", err
		case r == '>':
			if !absolute(out.String()) {
				n.at = start
				return "", fmt.Errorf("the IRI <%.100s> has no scheme such as http", out.String())
			}
			return "<" + out.String() + ">", nil
		case r == '\\':
			if r, err = n.unicode(); err != nil {
				return "", err
			}
			if forbidden(r) {
				fmt.Fprintf(&out, `\u%04X`, r)
				continue
			}
		case forbidden(r):
			n.at -= utf8.RuneLen(r)
			return "", fmt.Errorf("%q cannot be in an IRI", r)
		}
		out.WriteRune(r)
	}
}

// forbidden reports whether an IRI must escape a character.
func forbidden(r rune) bool { return r <= ' ' || strings.ContainsRune(`<>"{}|^`+"`\\", r) }

// absolute reports whether an IRI has a scheme.
func absolute(iri string) bool {
	scheme, _, ok := strings.Cut(iri, ":")
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !('0' <= scheme[i] && scheme[i] <= '9') && strings.IndexByte("+-.", scheme[i]) < 0) {
			return false
		}
	}
	return ok && scheme != ""
}

// rune reads the next character.
func (n *nt) rune(unclosed string, start int) (rune, error) {
	if n.at == len(n.line) {
		n.at = start
		return 0, errors.New(unclosed)
	}
	r, size := utf8.DecodeRuneInString(n.line[n.at:])
	if r == utf8.RuneError && size == 1 {
		return 0, errors.New("the line is not UTF-8")
	}
	n.at += size
	return r, nil
}

// unicode reads an escaped character after its backslash: u and 4 digits, or U and 8.
func (n *nt) unicode() (rune, error) {
	begin := n.at - 1
	wrong := func() (rune, error) {
		n.at = begin
		return 0, errors.New(`expected \u and 4 hexadecimal digits, or \U and 8, of a character`)
	}
	digits := 0
	switch n.peek() {
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return wrong()
	}
	n.at++
	var r rune
	for range digits {
		d := strings.IndexByte("0123456789abcdef", n.peek()|0x20)
		if n.at == len(n.line) || d < 0 || r > utf8.MaxRune {
			return wrong()
		}
		r = r<<4 | rune(d)
		n.at++
	}
	if !utf8.ValidRune(r) {
		return wrong()
	}
	return r, nil
}

// literal reads a literal with its quotes, and its language or type.
func (n *nt) literal() (string, error) {
	var out strings.Builder
	out.WriteByte('"')
	start := n.at
	for n.at++; ; {
		r, err := n.rune("this quote is never closed", start)
		if err == nil && r == '\\' {
			if r, err = n.escape(); err == nil {
				writeEscaped(&out, r)
				continue
			}
		}
		if err != nil {
			return "", err
		}
		if r == '"' {
			break
		}
		if r == '\n' || r == '\r' {
			n.at--
			return "", errors.New(`write the end of a line within a literal as \n or \r`)
		}
		writeEscaped(&out, r)
	}
	out.WriteByte('"')
	suffix, err := n.annotation()
	return out.String() + suffix, err
}

// annotation reads the language or type after a literal. A plain literal is the same
// as one of type xsd:string, and has no type in canonical form.
func (n *nt) annotation() (string, error) {
	switch {
	case n.peek() == '@':
		start := n.at
		n.at++
		for n.at < len(n.line) && (n.line[n.at] == '-' || alphanumeric(n.line[n.at])) {
			n.at++
		}
		if !isLanguage(n.line[start+1 : n.at]) {
			n.at = start
			return "", errors.New("expected a language after the @, such as @en or @en-GB")
		}
		return n.line[start:n.at], nil
	case strings.HasPrefix(n.line[n.at:], "^^"):
		n.at += 2
		if n.peek() != '<' {
			return "", n.expected("the <IRI> of a type after ^^")
		}
		iri, err := n.iri()
		if err != nil || iri == "<http://www.w3.org/2001/XMLSchema#string>" {
			return "", err
		}
		return "^^" + iri, nil
	}
	return "", nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// isLanguage reports whether a tag is letters, then parts separated by hyphens.
func isLanguage(tag string) bool {
	for i, part := range strings.Split(tag, "-") {
		if part == "" || i == 0 && strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return true
}

// escape reads an escape sequence of a literal after its backslash.
func (n *nt) escape() (rune, error) {
	if at := strings.IndexByte(`tbnrf"'\`, n.peek()); at >= 0 && n.at < len(n.line) {
		n.at++
		return rune("\t\b\n\r\f\"'\\"[at]), nil
	}
	r, err := n.unicode()
	if err != nil && n.at < len(n.line) {
		return 0, errors.New(`expected \t \b \n \r \f \" \' \\ or \u and 4 hexadecimal digits, or \U and 8`)
	}
	return r, err
}

// writeEscaped writes a character of a literal in canonical form.
func writeEscaped(out *strings.Builder, r rune) {
	switch r {
	case '"':
		out.WriteString(`\"`)
	case '\\':
		out.WriteString(`\\`)
	case '\n':
		out.WriteString(`\n`)
	case '\r':
		out.WriteString(`\r`)
	default:
		out.WriteRune(r)
	}
}

// blankNode reads a blank node with its underscore and colon.
func (n *nt) blankNode() (string, error) {
	start := n.at
	if !strings.HasPrefix(n.line[n.at:], "_:") {
		return "", n.expected("_: and the label of a blank node")
	}
	n.at += 2
	first := true
	for n.at < len(n.line) {
		r, size := utf8.DecodeRuneInString(n.line[n.at:])
		if r == utf8.RuneError && size == 1 || !labelRune(r, first) {
			break
		}
		n.at, first = n.at+size, false
	}
	for n.at > start+2 && n.line[n.at-1] == '.' { // the dot ends the triple
		n.at--
	}
	if n.at == start+2 {
		return "", n.expected("the label of a blank node")
	}
	return n.line[start:n.at], nil
}

// labelRune reports whether a character can be in the label of a blank node: first
// PN_CHARS_U or a digit, then also dots and PN_CHARS.
func labelRune(r rune, first bool) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == ':':
		return true
	case r == '.', r == '-', r == 0xB7, 0x300 <= r && r <= 0x36F, 0x203F <= r && r <= 0x2040:
		return !first
	}
	for _, in := range [...][2]rune{
		{0xC0, 0xD6},
		{0xD8, 0xF6},
		{0xF8, 0x2FF},
		{0x370, 0x37D},
		{0x37F, 0x1FFF},
		{0x200C, 0x200D},
		{0x2070, 0x218F},
		{0x2C00, 0x2FEF},
		{0x3001, 0xD7FF},
		{0xF900, 0xFDCF},
		{0xFDF0, 0xFFFD},
		{0x10000, 0xEFFFF},
	} {
		if in[0] <= r && r <= in[1] {
			return true
		}
	}
	return false
}
