package rdf

import "strings"

// Literal is a literal of N-Triples taken apart.
type Literal struct {
	Text     string // without quotes and escapes
	Language string // such as en-GB; empty: none
	Datatype string // the IRI without its brackets; empty: xsd:string
}

// ParseLiteral parses a term such as "36"^^<http://www.w3.org/2001/XMLSchema#int>. It
// returns false if the term is not a literal.
func ParseLiteral(term string) (Literal, bool) {
	if term == "" || term[0] != '"' {
		return Literal{}, false
	}
	n := nt{line: term, at: 1}
	var text strings.Builder
	for {
		r, err := n.rune("", 0)
		if err == nil && r == '"' {
			break
		}
		if err == nil && r == '\\' {
			r, err = n.escape()
		}
		if err != nil {
			return Literal{}, false
		}
		text.WriteRune(r)
	}
	l := Literal{Text: text.String()}
	suffix, err := n.annotation()
	if err != nil || n.at != len(term) {
		return Literal{}, false
	}
	if iri, ok := strings.CutPrefix(suffix, "^^<"); ok {
		l.Datatype = strings.TrimSuffix(iri, ">")
	} else {
		l.Language = strings.TrimPrefix(suffix, "@")
	}
	return l, true
}

// IsNumeric reports whether the datatype is one of the numeric types of XML Schema.
func (l Literal) IsNumeric() bool {
	name, ok := strings.CutPrefix(l.Datatype, "http://www.w3.org/2001/XMLSchema#")
	if !ok {
		return false
	}
	switch name {
	case "integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
		"nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte":
		return true
	}
	return false
}

// ScanLiteral reads the literal that text begins with. It returns the literal in
// canonical form and its length in text; on an error, the length is the offset of what
// is wrong.
func ScanLiteral(text string) (term string, length int, err error) {
	n := nt{line: text}
	if n.peek() != '"' {
		return "", 0, n.expected("a literal")
	}
	term, err = n.literal()
	return term, n.at, err
}
