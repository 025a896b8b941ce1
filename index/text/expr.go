package text

import (
	"fmt"
	"strconv"
	"strings"

	"retwis/index/text/internal/words"
)

// Expr is a condition on documents. Parse builds one from a typed query; Word, Phrase, Prefix,
// Exact, And, Or and Not build one in a program.
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

// Word matches documents that contain a word. Text that is indexed as several words, such as
// wi-fi, example.com or 東京都, matches consecutive words if Options.Text is set, and otherwise
// words anywhere in the document.
func Word(text string) *Expr { return &Expr{op: opWord, text: text} }

// Phrase matches documents that contain the words consecutively. It needs Options.Text.
func Phrase(text string) *Expr { return &Expr{op: opPhrase, text: text} }

// Prefix matches documents that contain the word itself or one of the 8 most frequent words
// with this prefix.
func Prefix(text string) *Expr { return &Expr{op: opPrefix, text: text} }

// Exact matches documents that have an exact term, as given in Document.Terms.
func Exact(term string) *Expr { return &Expr{op: opExact, text: term} }

// And matches documents that match all expressions. At least one of them must not be a Not. Nil
// expressions are ignored.
func And(args ...*Expr) *Expr { return combine(opAnd, args) }

// Or matches documents that match at least one expression. Nil expressions are ignored.
func Or(args ...*Expr) *Expr { return combine(opOr, args) }

// Not matches documents that do not match an expression. It is only valid within And.
func Not(arg *Expr) *Expr {
	if arg == nil {
		return nil
	}
	return &Expr{op: opNot, args: []*Expr{arg}}
}

// combine drops nil expressions and flattens an And in an And, or an Or in an Or.
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

// String formats the expression for Parse. The fields given to Parse must include the names of
// its exact terms.
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

// nested is String, in parentheses if necessary.
func (e *Expr) nested() string {
	if e.op == opAnd || e.op == opOr {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// Limits of a query.
const (
	maxWords = 32  // typed words
	maxTerms = 128 // resulting terms
	maxDepth = 16  // nested parentheses
)

// check returns an error for an expression that cannot be searched.
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

// excludes reports whether an expression only excludes documents.
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

// size counts the words of an expression and validates its arguments.
func (e *Expr) size(depth int) (n int, err error) {
	if depth > maxDepth {
		return 0, invalid("the query is nested more than %d deep", maxDepth)
	}
	switch e.op {
	case opExact:
		return 1, checkTerm(e.text)
	case opWord, opPhrase, opPrefix:
		return max(1, countWords(plainAtoms(e.text))), nil
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

// countWords counts atoms, treating joined characters as one.
func countWords(atoms []words.Atom) (n int) {
	for _, a := range atoms {
		if !a.Joined {
			n++
		}
	}
	return n
}

// plainAtoms splits a text without stemming.
func plainAtoms(text string) []words.Atom {
	var plain words.Splitter
	return plain.Atoms(text)
}

// SyntaxError describes a syntax error in a query and its position. It is an index.ErrValue.
type SyntaxError struct {
	Column int // in characters, from 1
	Text   string
}

// Error returns the text with its position.
func (e *SyntaxError) Error() string { return fmt.Sprintf("text: column %d: %s", e.Column, e.Text) }
