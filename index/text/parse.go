package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/index"
)

// maxQuery is the maximum length of a query, in bytes.
const maxQuery = 4096

// Parse parses a query as people type it:
//
//	a b         documents with both words, in any order
//	a OR b      with at least one of the words; OR binds less tightly than a blank
//	-a          without the word; not alone
//	"a b"       with one word after the other
//	wor*        with wor or a frequent word that begins with wor: see Prefix
//	from:7      with an exact term whose name, such as from, is in fields
//	(a OR b) c  parentheses
//
// Words without letters, digits and symbols, such as &, are ignored. Errors are of type
// *SyntaxError. A query has at most 32 words and 4,096 bytes.
func Parse(text string, fields ...string) (*Expr, error) {
	if len(text) > maxQuery {
		return nil, &SyntaxError{Column: 1, Text: fmt.Sprintf("the query has %d bytes: at most %d are allowed", len(text), maxQuery)}
	}
	if i := invalidUTF8(text); i >= 0 {
		return nil, &SyntaxError{Column: column(text, i), Text: "the query is not valid UTF-8"}
	}
	p := &parser{text: text, fields: fields}
	e, err := p.or(0)
	switch {
	case err != nil:
		return nil, err
	case p.at < len(text):
		return nil, p.errorf(p.at, "unmatched closing parenthesis")
	case e == nil:
		return nil, p.errorf(0, "the query has no words")
	}
	return e, nil
}

// Unwrap returns index.ErrValue.
func (e *SyntaxError) Unwrap() error { return index.ErrValue }

type parser struct {
	text   string
	fields []string
	at     int // in bytes
	words  int
}

// errorf returns a syntax error at a position in bytes.
func (p *parser) errorf(at int, format string, args ...any) error {
	return &SyntaxError{Column: column(p.text, at), Text: fmt.Sprintf(format, args...)}
}

// column returns the column of a position in bytes.
func column(text string, at int) int { return utf8.RuneCountInString(text[:at]) + 1 }

// invalidUTF8 returns the position of the first invalid byte, or -1.
func invalidUTF8(text string) int {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return -1
}

// or parses expressions separated by OR, up to a closing parenthesis or the end. It returns nil
// if all words are ignored.
func (p *parser) or(depth int) (*Expr, error) {
	var args []*Expr
	for {
		start, empty := p.skipBlanks(), true
		var parts []*Expr
		for !p.atEnd() && !p.isOr() {
			arg, err := p.unary(depth)
			if err != nil {
				return nil, err
			}
			empty = false
			parts = append(parts, arg)
			p.skipBlanks()
		}
		isOr := p.isOr()
		if empty && (isOr || len(args) > 0) {
			return nil, p.errorf(start, "OR needs a word on both sides")
		}
		e := And(parts...)
		if e != nil && excludes(e) {
			return nil, p.errorf(start, "the query only excludes words: add a word to find")
		}
		if args = append(args, e); !isOr {
			return Or(args...), nil
		}
		p.at += len("OR")
	}
}

// skipBlanks skips white space and returns the position after it.
func (p *parser) skipBlanks() int {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
	return p.at
}

// atEnd reports whether an expression ends here.
func (p *parser) atEnd() bool { return p.at == len(p.text) || p.text[p.at] == ')' }

// isOr reports whether the next word is OR.
func (p *parser) isOr() bool {
	rest, found := strings.CutPrefix(p.text[p.at:], "OR")
	return found && (rest == "" || wordEnd(rest) == 0)
}

// wordEnd returns the length of the word at the start of text.
func wordEnd(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || r == '(' || r == ')' || isQuote(r)
	})
	if end < 0 {
		return len(text)
	}
	return end
}

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' }

// unary parses a word, a phrase or an expression in parentheses, with an optional minus.
func (p *parser) unary(depth int) (*Expr, error) {
	negated := p.text[p.at] == '-'
	if negated {
		p.at++
	}
	e, err := p.primary(depth)
	if negated {
		return Not(e), err
	}
	return e, err
}

// primary parses a word, a phrase or an expression in parentheses.
func (p *parser) primary(depth int) (*Expr, error) {
	start, rest := p.at, p.text[p.at:]
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == '(':
		return p.parentheses(depth)
	case isQuote(first):
		end := strings.IndexFunc(rest[size:], isQuote)
		if end < 0 {
			return nil, p.errorf(start, "the phrase has no closing quote")
		}
		_, closing := utf8.DecodeRuneInString(rest[size+end:])
		p.at += size + end + closing
		return p.counted(start, Phrase(rest[size:size+end]))
	}
	word := rest[:wordEnd(rest)]
	p.at += len(word)
	if name, value, found := strings.Cut(word, ":"); found && value != "" && slices.Contains(p.fields, name) {
		if err := checkTerm(word); err != nil {
			return nil, p.errorf(start, "%s is too long: an exact term has at most %d bytes", name, maxTerm)
		}
		return p.counted(start, Exact(word))
	}
	if prefix, found := strings.CutSuffix(word, "*"); found {
		return p.counted(start, Prefix(strings.TrimRight(prefix, "*")))
	}
	return p.counted(start, Word(word))
}

// parentheses parses an expression in parentheses.
func (p *parser) parentheses(depth int) (*Expr, error) {
	start := p.at
	if depth == maxDepth {
		return nil, p.errorf(start, "the query is nested more than %d deep", maxDepth)
	}
	p.at++
	e, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.at == len(p.text) {
		return nil, p.errorf(start, "missing closing parenthesis")
	}
	p.at++
	return e, nil
}

// counted returns an expression, or nil if it has no words.
func (p *parser) counted(start int, e *Expr) (*Expr, error) {
	n := 1
	if e.op != opExact {
		n = countWords(plainAtoms(e.text))
	}
	if p.words += n; p.words > maxWords {
		return nil, p.errorf(start, "the query has more than %d words", maxWords)
	}
	if n == 0 {
		return nil, nil
	}
	return e, nil
}
