package graph

import (
	"errors"

	"retwis/index/graph/internal/syntax"
)

// maxQuery is the maximum length of a query, in bytes, so that every name in it is valid.
const maxQuery = MaxName

// Parse parses the text form of a query: patterns of three words, separated by a dot surrounded
// by blanks.
//
//	?x likes beer . ?x lives-in barcelona . matteo friend-of ?x
//
// A word is one of
//
//	beer              a name
//	"ice cream"       a name with blanks; the escapes are \" \\ \n and \t
//	?x                a variable
//	*                 anything
//	friend-of*1..3    as a predicate, a path of 1 to 3 steps; *2 two, *2.. two or
//	                  more, + one or more, * zero or more. "c++" is a name
//
// A filter is a variable, an operator, and a variable or a name. See [Compare] for the
// order of names.
//
//	?n > 10           also <, <= and >=
//	?x != ?y          not equal; = equal: the same number, or the same name
//	?x ~ ^b           a regular expression matches
//
// Syntax of other query languages, such as $x, or a|b, a/b, ^p, !p and p? as predicates, is
// refused with a hint. In double quotes, such syntax is a name.
//
// For an invalid query, Parse returns an index.ErrValue that gives the column.
func Parse(text string) (Query, error) {
	if len(text) > maxQuery {
		return Query{}, invalid("the query has %d bytes: at most %d are allowed", len(text), maxQuery)
	}
	parsed, err := syntax.Parse(text)
	if syntaxErr := (*syntax.Error)(nil); errors.As(err, &syntaxErr) {
		return Query{}, &syntaxError{Column: syntaxErr.Column, Text: syntaxErr.Text}
	}
	if err != nil {
		return Query{}, err
	}
	var q Query
	for _, t := range parsed.Patterns {
		q.Where = append(q.Where, Pattern{S: Term{t[0]}, P: Term{t[1]}, O: Term{t[2]}}.simple())
	}
	for _, f := range parsed.Filters {
		if f.Expression != nil {
			q.Filters = append(q.Filters, matches(f.Left.Text, f.Expression))
		} else {
			q.Filters = append(q.Filters, Compare(Term{f.Left}, f.Operator, Term{f.Right}))
		}
	}
	return q, q.check()
}
