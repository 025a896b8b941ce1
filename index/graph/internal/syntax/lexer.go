package syntax

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"retwis/index/graph/rdf"
)

// word is a token of a query.
type word struct {
	text string
	at   int // offset in the query
	kind wordKind
	path Term // of a path
	back bool // there is a ^ before it
}

type wordKind int

const (
	bare wordKind = iota
	quotedWord
	bracketed
	pathWord
)

type parser struct {
	text string
	at   int
}

// wrong returns a syntax error at an offset.
func (p *parser) wrong(at int, format string, args ...any) error {
	return &Error{Column: utf8.RuneCountInString(p.text[:at]) + 1, Text: fmt.Sprintf(format, args...)}
}

// statement reads the words up to the next dot, and reports whether there is one.
func (p *parser) statement() (words []word, more bool, err error) {
	for {
		for p.at < len(p.text) && blank(p.text[p.at]) {
			p.at++
		}
		if p.at == len(p.text) {
			return words, false, p.lastDot(words)
		}
		read := p.word
		if len(words) == 1 {
			read = p.predicate
		}
		w, err := read()
		if err != nil {
			return nil, false, err
		}
		if w.kind == bare && w.text == "." {
			if len(words) == 0 {
				return nil, false, p.wrong(w.at, "there is no pattern before this dot")
			}
			return words, true, nil
		}
		words = append(words, w)
	}
}

// lastDot refuses a last word that ends with a dot. In other query languages that dot
// ends the pattern.
func (p *parser) lastDot(words []word) error {
	if len(words) == 0 {
		return nil
	}
	if w := words[len(words)-1]; w.kind == bare && len(w.text) > 1 && strings.HasSuffix(w.text, ".") {
		return p.wrong(w.at+len(w.text)-1, "separate patterns with a dot between blanks, and write none after the last; for the name write \"%s\"", w.text)
	}
	return nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// word reads the next word.
func (p *parser) word() (word, error) {
	w := word{at: p.at}
	if rest := p.text[p.at:]; len(rest) > 1 && rest[0] == '^' && !blank(rest[1]) && rest[1] != '^' {
		w.back = true
		p.at++
	}
	if c := p.text[p.at]; c == '"' || c == '<' && !isOperator(p.peekBlank()) {
		if err := p.delimited(&w); err != nil {
			return w, err
		}
		if rest := p.toBlank(); rest != "" {
			return w, p.noBlank(rest)
		}
		return w, nil
	}
	w.text = p.toBlank()
	return w, nil
}

// noBlank returns the error for text right after a name.
func (p *parser) noBlank(rest string) error {
	return p.wrong(p.at-len(rest), "there is no blank before %q", rest)
}

// delimited reads a name in double quotes or in brackets.
func (p *parser) delimited(w *word) error {
	if p.text[p.at] == '"' {
		return p.quotes(w)
	}
	end := strings.IndexByte(p.text[p.at:], '>')
	if end < 0 {
		return p.wrong(w.at, "this < is never closed; for a name with a < in it use double quotes")
	}
	w.kind, w.text = bracketed, p.text[p.at:p.at+end+1]
	p.at += end + 1
	return nil
}

// toBlank reads up to the next blank.
func (p *parser) toBlank() string {
	text := p.peekBlank()
	p.at += len(text)
	return text
}

// peekBlank returns the text up to the next blank.
func (p *parser) peekBlank() string {
	end := p.at
	for end < len(p.text) && !blank(p.text[end]) {
		end++
	}
	return p.text[p.at:end]
}

// isOperator reports whether a text is the operator of a filter.
func isOperator(text string) bool {
	switch text {
	case "=", "!=", "<", "<=", ">", ">=", "~":
		return true
	}
	return false
}

// quotes reads a name in double quotes.
func (p *parser) quotes(w *word) error {
	start := p.at
	w.kind = quotedWord
	var out strings.Builder
	for p.at++; ; p.at++ {
		if p.at == len(p.text) {
			return p.wrong(w.at, "this quote is never closed")
		}
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			w.text = out.String()
			return p.literal(w, start)
		case '\\':
			if p.at++; p.at == len(p.text) {
				return p.wrong(w.at, "this quote is never closed")
			}
			at := strings.IndexByte(`"\nt`, p.text[p.at])
			if at < 0 {
				return p.wrong(p.at-1, `use \" \\ \n or \t, not \%c`, firstRune(p.text[p.at:]))
			}
			out.WriteByte("\"\\\n\t"[at])
		default:
			out.WriteByte(c)
		}
	}
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// literal ends a name in double quotes. If a language or a type follows, the name is a
// literal of N-Triples.
func (p *parser) literal(w *word, start int) error {
	rest := p.text[p.at:]
	if !strings.HasPrefix(rest, "@") && !strings.HasPrefix(rest, "^^") {
		return nil
	}
	term, length, err := rdf.ScanLiteral(p.text[start:])
	if err != nil {
		return p.wrong(start+length, "%v", err)
	}
	p.at = start + length
	w.text = term
	return nil
}

const doubleInverse = "write one ^ before a predicate, without a blank"

// lookalike recognizes syntax of other query languages. It returns what to write here,
// or "".
func lookalike(text string, predicate bool) string {
	if name, ok := strings.CutPrefix(text, "$"); ok && isVariable(name) && (name[0] < '0' || name[0] > '9') {
		return "a variable begins with a question mark: ?" + name
	}
	if !predicate || isURL(text) {
		return ""
	}
	switch {
	case text == "==":
		return "compare names with ="
	case text == "=<", text == "<>", text == "=~", text == "!~":
		return "there is no operator " + text + "; use =, !=, <, <=, >, >= or ~"
	case strings.HasPrefix(text, "^"):
		return doubleInverse
	case strings.HasPrefix(text, "!"):
		return "a predicate cannot be excluded; write ?x ?p ?y . ?p != " + cmp.Or(text[1:], "likes")
	case strings.Contains(text, "|"):
		return "alternative predicates are not supported; run one query for each"
	case len(text) > 1 && strings.HasSuffix(text, "?"):
		return "zero or one step is written " + text[:len(text)-1] + "*0..1"
	}
	return ""
}

func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return name != ""
}

// cutSteps cuts the length of a path from a predicate: "+", "*", "*2", "*2..",
// "*2..3".
func cutSteps(text string) (name, steps string) {
	if name, ok := strings.CutSuffix(text, "+"); ok && name != "" {
		return name, "+"
	}
	at := strings.LastIndexByte(text, '*')
	if at < 1 || strings.Trim(text[at+1:], "0123456789.") != "" {
		return text, ""
	}
	return text[:at], text[at:]
}
