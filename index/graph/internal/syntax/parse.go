// Package syntax parses and formats the text form of queries: patterns and filters.
package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Query is a parsed query.
type Query struct {
	Patterns [][3]Term // subject, predicate and object
	Filters  []Filter
}

// Filter is a comparison of two terms, or a regular expression that must match a variable.
type Filter struct {
	Left, Right Term
	Operator    string
	Expression  *regexp.Regexp // for the operator ~, instead of Right
}

// Term is a part of a pattern.
type Term struct {
	Kind     Kind
	Text     string // of a name or a variable; of a path, its predicate
	Min, Max int    // the length of a path; Max 0: no limit
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

// MaxSteps is the maximum length of a bounded path.
const MaxSteps = 1000

// Error describes a syntax error and its position.
type Error struct {
	Column int // in characters, from 1
	Text   string
}

// Error returns the text with its column.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse parses a query, which must have at least one pattern. Errors are of type *Error.
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
		return Query{}, p.errorf(len(text), "there is no pattern; write one as: ?x likes beer")
	}
	return q, nil
}

// add adds a pattern or a filter to a query.
func (p *parser) add(q *Query, words []word) error {
	if len(words) > 1 && !words[1].quoted && isOperator(words[1].text) {
		return p.filter(q, words)
	}
	if len(words) != 3 {
		at := words[len(words)-1].at
		if len(words) > 3 {
			at = words[3].at
		}
		return p.errorf(at, "a pattern is a subject, a predicate and an object; found %s before the next dot", countWords(len(words)))
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
		return p.errorf(words[1].at, "a filter is a variable, %s, and a variable or a name", words[1].text)
	}
	left, err := p.term(words[0], false)
	if err != nil {
		return err
	}
	if left.Kind != Variable {
		return p.errorf(words[0].at, "a filter begins with a variable, such as ?x; for a predicate named %s write \"%s\"", words[1].text, words[1].text)
	}
	if words[1].text == "~" {
		expression, err := regexp.Compile(words[2].text)
		if err != nil {
			return p.errorf(words[2].at, "%v", err)
		}
		q.Filters = append(q.Filters, Filter{Left: left, Operator: "~", Expression: expression})
		return nil
	}
	right, err := p.term(words[2], false)
	if err != nil {
		return err
	}
	if right.Kind == Anything {
		return p.errorf(words[2].at, "* cannot be compared; for the name * write \"*\"")
	}
	q.Filters = append(q.Filters, Filter{Left: left, Operator: words[1].text, Right: right})
	return nil
}

// term converts a word to a term.
func (p *parser) term(w word, predicate bool) (Term, error) {
	if w.quoted {
		if w.steps != "" && !predicate {
			return Term{}, p.missingBlank(w.end, w.steps)
		}
		return p.named(w)
	}
	if variable, ok := strings.CutPrefix(w.text, "?"); ok {
		if !isVariable(variable) {
			return Term{}, p.errorf(w.at, "%q is not a variable: use letters, digits, - and _ after the question mark; for a name write \"%s\"", w.text, w.text)
		}
		return Term{Kind: Variable, Text: variable}, nil
	}
	if w.text == "*" {
		return Term{}, nil
	}
	if predicate {
		w.text, w.steps = cutSteps(w.text)
	}
	if advice := lookalike(w.text, predicate); advice != "" {
		return Term{}, p.errorf(w.at, "%s; for the name write \"%s\"", advice, w.text)
	}
	return p.named(w)
}

// named returns the term for a name or a path.
func (p *parser) named(w word) (Term, error) {
	switch {
	case w.text == "":
		return Term{}, p.errorf(w.at, "a name must not be empty")
	case w.steps != "":
		return p.path(w)
	}
	return Term{Kind: Name, Text: w.text}, nil
}

// path parses the length of a path.
func (p *parser) path(w word) (Term, error) {
	t := Term{Kind: Path, Text: w.text}
	switch from, to, isRange := strings.Cut(strings.TrimPrefix(w.steps, "*"), ".."); {
	case w.steps == "+":
		t.Min = 1
	case w.steps == "*":
	default:
		var err error
		if t.Min, err = strconv.Atoi(from); err == nil && isRange && to != "" {
			t.Max, err = strconv.Atoi(to)
		}
		if !isRange {
			t.Max = t.Min
		}
		if err != nil || t.Max == 0 && (!isRange || to != "") || t.Max > 0 && t.Max < t.Min || t.Min > MaxSteps || t.Max > MaxSteps {
			return Term{}, p.errorf(w.at, "%q is not the length of a path: use *1..3, *2, *2.., + or *, with at most %d steps", w.steps, MaxSteps)
		}
	}
	return t, nil
}
