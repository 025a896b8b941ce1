package graph

import (
	"fmt"
	"regexp"
	"strings"
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
	p := parser{text: text}
	if len(text) > maxQuery {
		return Query{}, invalid("the query has %d bytes: at most %d are allowed", len(text), maxQuery)
	}
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
	if len(q.Where) == 0 {
		return Query{}, p.wrong(len(text), "there is no pattern; write one as: ?x likes beer")
	}
	return q, q.check()
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
	q.Where = append(q.Where, Pattern{S: terms[0], P: terms[1], O: terms[2]}.simple())
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
	if left.kind != variable {
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
		q.Filters = append(q.Filters, Matches(left.text, expression))
		return nil
	}
	right, err := p.term(words[2], false)
	if err != nil {
		return err
	}
	if right.kind == anything {
		return p.wrong(words[2].at, "* cannot be compared; for the name * write \"*\"")
	}
	q.Filters = append(q.Filters, Compare(left, words[1].text, right))
	return nil
}

// term converts a word to a term.
func (p *parser) term(w word, predicate bool) (Term, error) {
	switch {
	case w.back && !predicate && w.kind == bare: // a name
		w.text = "^" + w.text
		return Name(w.text), p.checkLength(w)
	case w.back && !predicate:
		return Term{}, p.wrong(w.at, "only a predicate can have a ^; for the name write all of it in double quotes")
	case w.kind == pathWord:
		return w.path, nil
	case w.kind != bare:
		return Name(w.text), p.checkLength(w)
	}
	if name, ok := strings.CutPrefix(w.text, "?"); ok {
		if !isVariable(name) {
			return Term{}, p.wrong(w.at, "%q is not a variable: use letters, digits, - and _ after the question mark; for a name write \"%s\"", w.text, w.text)
		}
		return Var(name), nil
	}
	if advice := lookalike(w.text, predicate); advice != "" {
		return Term{}, p.wrong(w.at, "%s; for the name write \"%s\"", advice, w.text)
	}
	if w.text == "*" {
		return Term{}, nil
	}
	return Name(w.text), p.checkLength(w)
}

// checkLength checks the length of a name.
func (p *parser) checkLength(w word) error {
	if w.text == "" {
		return p.wrong(w.at, "a name must not be empty")
	}
	if len(w.text) > MaxName {
		return p.wrong(w.at, "the name has %d bytes: at most %d are allowed", len(w.text), MaxName)
	}
	return nil
}
