package graph

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"retwis/index/graph/rdf"
)

// maxQuery is the most bytes that Parse reads.
const maxQuery = 64 << 10

// Parse reads a query as people write it: patterns of three words, with a dot
// that stands alone between them.
//
//	?x likes beer . ?x lives-in barcelona . matteo friend-of ?x
//
// A word is one of
//
//	beer              a name
//	"ice cream"       a name with blanks in it; \" and \\ are " and \, \n and \t too
//	<http://a.b/c>    a name that includes its brackets, and "text"@en one that
//	                  includes its quotes: terms of N-Triples. A literal that has
//	                  nothing behind its quotes needs a second pair: "\"text\""
//	?x                a variable
//	*                 anything
//	friend-of*1..3    as a predicate, a path of 1 to 3 steps; *2 two, *2.. two or
//	                  more, + one or more, * none or more. "c++" is a name
//	^friend-of        as a predicate, the same the other way round: from object to
//	                  subject. "^friend-of" is a name
//
// Between patterns there may be filters, each a variable, an operator and what it
// is compared with, a variable or a name. See [Compare] for the order of names.
//
//	?n > 10           also <, <= and >=
//	?x != ?y          is not the same name; = is the same
//	?x ~ ^b           what a regular expression matches
//
// What other query languages read as something else, such as a|b, p/q, !p and p?
// in the place of a predicate, and $x, is refused. In double quotes each is a name.
//
// What is wrong is a *SyntaxError, with its column.
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

// word is a word of a query and where it begins.
type word struct {
	text  string
	at    int
	kind  wordKind
	steps string // what is behind the closing quote or bracket
	back  bool   // there was a ^ before it
}

type wordKind int

const (
	bare wordKind = iota
	quotedWord
	bracketed
)

type parser struct {
	text string
	at   int
}

func (p *parser) wrong(at int, format string, args ...any) error {
	return &SyntaxError{Column: utf8.RuneCountInString(p.text[:at]) + 1, Text: fmt.Sprintf(format, args...)}
}

// statement reads words up to a dot, and tells whether there was one.
func (p *parser) statement() (words []word, more bool, err error) {
	for {
		for p.at < len(p.text) && blank(p.text[p.at]) {
			p.at++
		}
		if p.at == len(p.text) {
			return words, false, p.lastDot(words)
		}
		w, err := p.word()
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

// lastDot refuses a dot at the end that stands against the last word, which other query
// languages take for the end of the pattern.
func (p *parser) lastDot(words []word) error {
	if len(words) == 0 {
		return nil
	}
	if w := words[len(words)-1]; w.kind == bare && len(w.text) > 1 && strings.HasSuffix(w.text, ".") {
		return p.wrong(w.at+len(w.text)-1, "a dot between patterns stands alone, and there is none behind the last; for the name write \"%s\"", w.text)
	}
	return nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// word reads a word.
func (p *parser) word() (word, error) {
	w := word{at: p.at}
	if rest := p.text[p.at:]; len(rest) > 1 && rest[0] == '^' && !blank(rest[1]) && rest[1] != '^' {
		w.back = true
		p.at++
	}
	switch p.text[p.at] {
	case '"':
		return p.quotes(w)
	case '<':
		if isOperator(p.peekBlank()) {
			break
		}
		end := strings.IndexByte(p.text[p.at:], '>')
		if end < 0 {
			return w, p.wrong(w.at, "this < is never closed; for a name with a < in it use double quotes")
		}
		w.kind, w.text = bracketed, p.text[p.at:p.at+end+1]
		p.at += end + 1
		w.steps = p.toBlank()
		return w, nil
	}
	w.text = p.toBlank()
	return w, nil
}

// toBlank reads up to the next blank.
func (p *parser) toBlank() string {
	text := p.peekBlank()
	p.at += len(text)
	return text
}

// peekBlank returns what stands before the next blank.
func (p *parser) peekBlank() string {
	end := p.at
	for end < len(p.text) && !blank(p.text[end]) {
		end++
	}
	return p.text[p.at:end]
}

// isOperator reports whether a word between two others makes a filter of them.
func isOperator(text string) bool {
	switch text {
	case "=", "!=", "<", "<=", ">", ">=", "~":
		return true
	}
	return false
}

// quotes reads a word in double quotes.
func (p *parser) quotes(w word) (word, error) {
	w.kind = quotedWord
	var out strings.Builder
	for p.at++; ; p.at++ {
		if p.at == len(p.text) {
			return w, p.wrong(w.at, "this quote is never closed")
		}
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return p.literal(w, out.String())
		case '\\':
			if p.at++; p.at == len(p.text) {
				return w, p.wrong(w.at, "this quote is never closed")
			}
			at := strings.IndexByte(`"\nt`, p.text[p.at])
			if at < 0 {
				return w, p.wrong(p.at-1, `use \" \\ \n or \t, not \%c`, firstRune(p.text[p.at:]))
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

// literal ends a word in double quotes, or reads on where it is a literal of
// N-Triples with a language or a type.
func (p *parser) literal(w word, text string) (word, error) {
	w.text = text
	rest := p.text[p.at:]
	if !strings.HasPrefix(rest, "@") && !strings.HasPrefix(rest, "^^") {
		w.steps = p.toBlank()
		return w, nil
	}
	term, length, err := rdf.ScanLiteral(p.text[w.at:])
	if err != nil {
		return w, p.wrong(w.at+length, "%v", err)
	}
	p.at = w.at + length
	w.text = term
	if after := p.toBlank(); after != "" {
		return w, p.wrong(p.at-len(after), "there is no blank before %q", after)
	}
	return w, nil
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
		return p.wrong(at, "a pattern is a subject, a predicate and an object, and there %s before the next dot", are(len(words)))
	}
	if words[1].kind == bracketed && words[1].text == "<>" {
		return p.wrong(words[1].at, "there is no operator <>; use != between a variable and what it is compared with")
	}
	var terms [3]Term
	for i, w := range words {
		var err error
		if terms[i], err = p.term(w, i == 1); err != nil {
			return err
		}
	}
	if words[1].back {
		terms[0], terms[2] = terms[2], terms[0]
	}
	q.Where = append(q.Where, Pattern{S: terms[0], P: terms[1], O: terms[2]})
	return nil
}

func are(n int) string {
	if n == 1 {
		return "is 1 word"
	}
	return fmt.Sprintf("are %d words", n)
}

// filter adds a comparison, or "?x ~ expression".
func (p *parser) filter(q *Query, words []word) error {
	if len(words) != 3 {
		return p.wrong(words[1].at, "a filter is a variable, %s and what it is compared with", words[1].text)
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
		return p.wrong(words[2].at, "nothing compares with anything; for the name * write \"*\"")
	}
	q.Filters = append(q.Filters, Compare(left, words[1].text, right))
	return nil
}

// term makes a term of a word.
func (p *parser) term(w word, predicate bool) (Term, error) {
	switch {
	case w.back && !predicate && w.kind == bare: // a name
		w.text = "^" + w.text
		return Name(w.text), p.short(w)
	case w.back && !predicate:
		return Term{}, p.wrong(w.at, "a ^ stands before a predicate; for the name write all of it in double quotes")
	case w.kind != bare:
		return p.withSteps(w, predicate)
	}
	if name, ok := strings.CutPrefix(w.text, "?"); ok {
		if !isVariable(name) {
			return Term{}, p.wrong(w.at, "%q is not a variable: use letters, digits, - and _ behind the question mark; for a name write \"%s\"", w.text, w.text)
		}
		return Var(name), nil
	}
	if advice := lookalike(w.text, predicate); advice != "" {
		return Term{}, p.wrong(w.at, "%s; for the name write \"%s\"", advice, w.text)
	}
	if w.text == "*" {
		return Term{}, nil
	}
	if predicate {
		if name, steps := cutSteps(w.text); steps != "" {
			return p.path(w, name, steps)
		}
	}
	return Name(w.text), p.short(w)
}

// lookalike says of a word that other query languages read as something else what to
// write for that, or returns nothing.
func lookalike(text string, predicate bool) string {
	if name, ok := strings.CutPrefix(text, "$"); ok && isVariable(name) && (name[0] < '0' || name[0] > '9') {
		return "a variable begins with a question mark: ?" + name
	}
	if !predicate || strings.Contains(text, "://") {
		return ""
	}
	switch {
	case text == "==":
		return "same names are compared with ="
	case text == "=<", text == "<>", text == "=~", text == "!~":
		return "there is no operator " + text + "; use =, !=, <, <=, >, >= or ~"
	case strings.HasPrefix(text, "^"):
		return "one ^ stands before a predicate, with no blank between"
	case strings.HasPrefix(text, "!"):
		return "a predicate cannot be excluded; write ?x ?p ?y . ?p != " + cmp.Or(text[1:], "likes")
	case strings.ContainsAny(text, "|()"):
		return "there is no choice of predicates; ask once for each"
	case strings.Contains(text, "/"):
		return "there are no steps with different predicates; write a pattern for each, as in ?x likes ?1 . ?1 lives-in ?y"
	case len(text) > 1 && strings.HasSuffix(text, "?"):
		return "none or one step is written " + text[:len(text)-1] + "*0..1"
	}
	return ""
}

// withSteps makes a term of a word in quotes or brackets, which may have the
// length of a path behind it.
func (p *parser) withSteps(w word, predicate bool) (Term, error) {
	if w.steps == "" {
		return Name(w.text), p.short(w)
	}
	if name, steps := cutSteps("p" + w.steps); predicate && name == "p" && steps != "" {
		return p.path(w, w.text, steps)
	}
	return Term{}, p.wrong(w.at, "there is no blank before %q", w.steps)
}

func (p *parser) short(w word) error {
	if w.text == "" {
		return p.wrong(w.at, "a name is not empty")
	}
	if len(w.text) > MaxName {
		return p.wrong(w.at, "the name has %d bytes: at most %d are allowed", len(w.text), MaxName)
	}
	return nil
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

// path reads how long a path is.
func (p *parser) path(w word, predicate, steps string) (Term, error) {
	w.text = predicate
	if err := p.short(w); err != nil {
		return Term{}, err
	}
	least, most := 0, 0
	switch from, to, two := strings.Cut(strings.TrimPrefix(steps, "*"), ".."); {
	case steps == "+":
		return Path(predicate, 1, 0), nil
	case steps == "*":
		return Path(predicate, 0, 0), nil
	default:
		var err error
		if least, err = strconv.Atoi(from); err == nil && two && to != "" {
			most, err = strconv.Atoi(to)
		}
		if !two {
			most = least
		}
		if err != nil || most == 0 && (!two || to != "") || most > 0 && most < least || least > maxSteps || most > maxSteps {
			return Term{}, p.wrong(w.at, "%q is not the length of a path: use *1..3, *2, *2.., + or *, with at most %d steps", steps, maxSteps)
		}
	}
	return Path(predicate, least, most), nil
}

// quoted writes a name as Parse reads it.
func quoted(name string) string {
	if plain(name) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(name) + `"`
}

// plain tells whether a name stands in a query as it is.
func plain(name string) bool {
	if strings.ContainsAny(name, " \t\n\r") {
		return false
	}
	if name == "" || name == "*" || name == "<>" || isOperator(name) || strings.HasSuffix(name, ".") {
		return false
	}
	if name[0] == '<' {
		return strings.IndexByte(name, '>') == len(name)-1
	}
	_, steps := cutSteps(name)
	return name[0] != '?' && name[0] != '"' && name[0] != '^' && steps == "" && lookalike(name, true) == ""
}
