package text

import (
	"fmt"
	"strconv"
	"strings"

	"retwis/index/text/internal/words"
)

// Expr is a condition on documents. Parse makes one from what people type; the functions
// of this file make one in a program.
type Expr struct {
	op   operation
	text string
	args []*Expr
}

type operation string

const (
	opWord   operation = "word"
	opPhrase operation = "phrase"
	opPrefix operation = "prefix"
	opExact  operation = "exact"
	opAnd    operation = "and"
	opOr     operation = "or"
	opNot    operation = "not"
)

// Word matches documents with a word. Text that the index has as several words, such as
// wi-fi, example.com or 東京都, matches where they follow each other if Options.Text is
// set, and anywhere in the document if not.
func Word(text string) *Expr { return &Expr{op: opWord, text: text} }

// Phrase matches documents in which the words follow each other: it needs Options.Text.
func Phrase(text string) *Expr { return &Expr{op: opPhrase, text: text} }

// Prefix matches documents with the word itself or with one of the 8 words that begin
// with it and have most documents.
func Prefix(text string) *Expr { return &Expr{op: opPrefix, text: text} }

// Exact matches documents with an exact term, as given in Document.Terms.
func Exact(term string) *Expr { return &Expr{op: opExact, text: term} }

// And matches documents that match all of some expressions. At least one of these must
// not be a Not. Nil ones do not count.
func And(args ...*Expr) *Expr { return combine(opAnd, args) }

// Or matches documents that match one of some expressions. Nil ones do not count.
func Or(args ...*Expr) *Expr { return combine(opOr, args) }

// Not matches documents that do not match an expression. It is only valid within And.
func Not(arg *Expr) *Expr {
	if arg == nil {
		return nil
	}
	return &Expr{op: opNot, args: []*Expr{arg}}
}

// combine drops nil expressions and joins an And in an And, or an Or in an Or.
func combine(op operation, args []*Expr) *Expr {
	e := &Expr{op: op}
	for _, arg := range args {
		switch {
		case arg == nil:
		case arg.op == op:
			e.args = append(e.args, arg.args...)
		default:
			e.args = append(e.args, arg)
		}
	}
	switch {
	case len(e.args) == 0:
		return nil
	case len(e.args) == 1:
		return e.args[0]
	}
	return e
}

// String returns the expression as Parse would read it, if the name of each exact term is
// one of its fields.
func (e *Expr) String() string {
	if e == nil {
		return ""
	}
	switch e.op {
	case opWord, opExact:
		return e.text
	case opPrefix:
		return e.text + "*"
	case opPhrase:
		return strconv.Quote(e.text)
	case opNot:
		return "-" + e.args[0].nested()
	}
	separator := " "
	if e.op == opOr {
		separator = " OR "
	}
	parts := make([]string, len(e.args))
	for i, arg := range e.args {
		parts[i] = arg.nested()
	}
	return strings.Join(parts, separator)
}

// nested is String in brackets where they are necessary.
func (e *Expr) nested() string {
	if e.op == opAnd || e.op == opOr {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// Bounds of a query.
const (
	maxWords = 32  // words that people type
	maxTerms = 128 // terms that they become
	maxDepth = 16  // of brackets
)

// check returns an error for an expression that cannot be searched for.
func (e *Expr) check() error {
	if excludes(e) {
		return invalid("the query only excludes documents: add a word that they must have")
	}
	n, err := e.size(0)
	if err == nil && n > maxWords {
		err = invalid("the query has %d words: at most %d are allowed", n, maxWords)
	}
	return err
}

// excludes reports whether an expression matches everything but some documents.
func excludes(e *Expr) bool {
	if e.op == opAnd {
		for _, arg := range e.args {
			if !excludes(arg) {
				return false
			}
		}
		return true
	}
	return e.op == opNot
}

// size counts the words, and validates what is below an expression.
func (e *Expr) size(depth int) (n int, err error) {
	if depth > maxDepth {
		return 0, invalid("the query is nested more than %d deep", maxDepth)
	}
	switch e.op {
	case opExact:
		return 1, checkTerm(e.text)
	case opWord, opPhrase, opPrefix:
		return max(1, spaced(plainAtoms(e.text))), nil
	}
	for _, arg := range e.args {
		if (e.op == opOr || e.op == opNot) && excludes(arg) {
			return 0, invalid("%q only excludes documents: add a word that they must have", arg)
		}
		size, err := arg.size(depth + 1)
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

// spaced counts atoms, joined characters as one.
func spaced(atoms []words.Atom) (n int) {
	for _, a := range atoms {
		if !a.Joined {
			n++
		}
	}
	return n
}

// plainAtoms splits a text without stems.
func plainAtoms(text string) []words.Atom {
	var plain words.Splitter
	return plain.Atoms(text)
}

// SyntaxError describes what is wrong in the text of a query, and where. It is an
// index.ErrValue.
type SyntaxError struct {
	Column int // in characters, from 1
	Text   string
}

// Error returns the text with its position.
func (e *SyntaxError) Error() string { return fmt.Sprintf("text: column %d: %s", e.Column, e.Text) }
