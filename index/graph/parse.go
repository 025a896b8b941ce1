package graph

import (
	"errors"

	"retwis/index/graph/internal/syntax"
)

// maxQuery is the maximum length of a query, in bytes.
const maxQuery = 64 << 10

// Parse reads the text form of a query: patterns of three words, separated by a dot
// between blanks.
//
//	?x likes beer . ?x lives-in barcelona . matteo friend-of ?x
//
// A word is one of
//
//	beer              a name
//	"ice cream"       a name with blanks in it; \" and \\ are " and \, \n and \t too
//	<http://a.b/c>    terms of N-Triples, names that include their brackets or
//	"text"@en         quotes. A literal without language or type needs a second
//	                  pair of quotes: "\"text\""
//	?x                a variable
//	*                 anything
//	friend-of*1..3    as a predicate, a path of 1 to 3 steps; *2 two, *2.. two or
//	                  more, + one or more, * zero or more. "c++" is a name
//	^friend-of        as a predicate, the inverse: from object to subject.
//	                  "^friend-of" is a name
//	knows/likes       as a predicate, a sequence, without blanks. "knows/likes" and
//	                  http://a/b are names
//	(knows/^likes)+   a sequence that repeats; ^(knows/likes) is its inverse
//
// A filter is a variable, an operator, and a variable or a name. See [Compare] for the
// order of names.
//
//	?n > 10           also <, <= and >=
//	?x != ?y          not equal; = equal: the same number, or the same name
//	?x ~ ^b           a regular expression matches
//
// Syntax of other query languages, such as a|b, !p and p? as predicates, and $x, is
// refused with the equivalent. In double quotes it is a name.
//
// An invalid query is a *SyntaxError with its column.
func Parse(text string) (Query, error) {
	if len(text) > maxQuery {
		return Query{}, invalid("the query has %d bytes: at most %d are allowed", len(text), maxQuery)
	}
	parsed, err := syntax.Parse(text)
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		return Query{}, &SyntaxError{Column: wrong.Column, Text: wrong.Text}
	}
	if err != nil {
		return Query{}, err
	}
	var q Query
	for _, t := range parsed.Patterns {
		q.Where = append(q.Where, Pattern{S: termOf(t[0]), P: termOf(t[1]), O: termOf(t[2])}.simple())
	}
	for _, f := range parsed.Filters {
		if f.Expression != nil {
			q.Filters = append(q.Filters, Matches(f.Left.Text, f.Expression))
		} else {
			q.Filters = append(q.Filters, Compare(termOf(f.Left), f.Operator, termOf(f.Right)))
		}
	}
	return q, q.check()
}

func termOf(t syntax.Term) Term { return Term{kind: t.Kind, text: t.Text, route: t.Route} }
