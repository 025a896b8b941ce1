// Package syntax reads and writes the text of queries: patterns, filters, and the paths in
// them. It knows no graph.
package syntax

import (
	"fmt"
	"regexp"
	"strings"

	"retwis/index/graph/rdf"
)

// Query is what a text says.
type Query struct {
	Patterns [][3]Term // subject, predicate and object
	Filters  []Filter
}

// Filter is a comparison of two terms, or an expression that matches a variable.
type Filter struct {
	Left, Right Term
	Operator    string
	Expression  *regexp.Regexp // of the operator ~, instead of Right
}

// Term is a part of a pattern.
type Term struct {
	Kind  Kind
	Text  string // of a name or a variable
	Route *Route // of a path
}

// Kind is the kind of a term.
type Kind int

// The kinds of terms.
const (
	Anything Kind = iota
	Name
	Variable
	Path
)

func name(text string) Term { return Term{Kind: Name, Text: text} }
func path(r *Route) Term    { return Term{Kind: Path, Route: r} }

// route returns the route of a name or a path.
func (t Term) route() *Route {
	if t.Kind == Name {
		return Step(t.Text)
	}
	return t.Route
}

// Error says what is wrong in a text, and where.
type Error struct {
	Column int // in characters, from 1
	Text   string
}

// Error returns the text with its column.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse reads the text of a query, which has one pattern at least. An invalid text is an
// *Error.
func Parse(text string) (Query, error) {
	p := parser{text: text}
	var q Query
	for {
		words, more, err := p.statement()
		if err == nil && len(words) > 0 {
			err = p.add(&q, words)
		}
		if err != nil {
			return Query{}, err
		}
		if !more {
			break
		}
	}
	if len(q.Patterns) == 0 {
		return Query{}, p.wrong(len(text), "there is no pattern; write one as: ?x likes beer")
	}
	return q, nil
}

// add adds a pattern or a filter to a query.
func (p *parser) add(q *Query, words []word) error {
	if len(words) > 1 && words[1].kind == bare && isOperator(words[1].text) && !words[1].back {
		return p.filter(q, words)
	}
	if len(words) != 3 {
		at := words[len(words)-1].at
		if len(words) > 3 {
			at = words[3].at
		}
		return p.wrong(at, "a pattern is a subject, a predicate and an object; found %s before the next dot", countWords(len(words)))
	}
	if words[1].kind == bracketed && words[1].text == "<>" {
		return p.wrong(words[1].at, "there is no operator <>; use !=")
	}
	var terms [3]Term
	for i, w := range words {
		var err error
		if terms[i], err = p.term(w, i == 1); err != nil {
			return err
		}
	}
	q.Patterns = append(q.Patterns, terms)
	return nil
}

func countWords(n int) string {
	if n == 1 {
		return "1 word"
	}
	return fmt.Sprintf("%d words", n)
}

// filter adds a comparison, or "?x ~ expression".
func (p *parser) filter(q *Query, words []word) error {
	if len(words) != 3 {
		return p.wrong(words[1].at, "a filter is a variable, %s, and a variable or a name", words[1].text)
	}
	left, err := p.term(words[0], false)
	if err != nil {
		return err
	}
	if left.Kind != Variable {
		return p.wrong(words[0].at, "a filter begins with a variable, such as ?x; for a predicate named %s write \"%s\"", words[1].text, words[1].text)
	}
	if words[1].text == "~" {
		text := words[2].text
		if words[2].back {
			text = "^" + text
		}
		expression, err := regexp.Compile(text)
		if err != nil {
			return p.wrong(words[2].at, "%v", err)
		}
		q.Filters = append(q.Filters, Filter{Left: left, Operator: "~", Expression: expression})
		return nil
	}
	right, err := p.term(words[2], false)
	if err != nil {
		return err
	}
	if right.Kind == Anything {
		return p.wrong(words[2].at, "* cannot be compared; for the name * write \"*\"")
	}
	q.Filters = append(q.Filters, Filter{Left: left, Operator: words[1].text, Right: right})
	return nil
}

// term converts a word to a term.
func (p *parser) term(w word, predicate bool) (Term, error) {
	switch {
	case w.back && !predicate && w.kind == bare: // a name
		w.text = "^" + w.text
		return name(w.text), p.checkLength(w)
	case w.back && !predicate:
		return Term{}, p.wrong(w.at, "only a predicate can have a ^; for the name write all of it in double quotes")
	case w.kind == pathWord:
		return w.path, nil
	case w.kind != bare:
		return name(w.text), p.checkLength(w)
	}
	if variable, ok := strings.CutPrefix(w.text, "?"); ok {
		if !isVariable(variable) {
			return Term{}, p.wrong(w.at, "%q is not a variable: use letters, digits, - and _ after the question mark; for a name write \"%s\"", w.text, w.text)
		}
		return Term{Kind: Variable, Text: variable}, nil
	}
	if advice := lookalike(w.text, predicate); advice != "" {
		return Term{}, p.wrong(w.at, "%s; for the name write \"%s\"", advice, w.text)
	}
	if w.text == "*" {
		return Term{}, nil
	}
	return name(w.text), p.checkLength(w)
}

// checkLength checks the length of a name.
func (p *parser) checkLength(w word) error {
	if w.text == "" {
		return p.wrong(w.at, "a name must not be empty")
	}
	if len(w.text) > rdf.MaxName {
		return p.wrong(w.at, "the name has %d bytes: at most %d are allowed", len(w.text), rdf.MaxName)
	}
	return nil
}
