package syntax

import (
	"strconv"
	"strings"
)

const (
	// pathBytes are the bytes that make a predicate a path, unless it is a URL.
	pathBytes = "/()"
	// maxNested is how deep the parentheses of a path can be.
	maxNested = 32
)

// predicate reads the second word of a pattern: a path, or as word does.
func (p *parser) predicate() (word, error) {
	raw := p.peekBlank()
	_, steps := cutSteps(raw)
	switch raw[0] {
	case '?':
		return p.word()
	case '"', '(', ')':
	case '<':
		if isOperator(raw) {
			return p.word()
		}
	case '^':
		if len(raw) == 1 {
			return p.word()
		}
	default:
		if isURL(raw) { // one name
			if steps == "" {
				return p.word()
			}
		} else if steps == "" && !strings.ContainsAny(raw, pathBytes) {
			return p.word()
		}
	}
	first := pathParser{parser: p, w: word{at: p.at}}
	t, err := first.sequence(0)
	if err != nil {
		return word{}, err
	}
	if rest := p.toBlank(); rest != "" {
		if rest[0] == ')' {
			return word{}, p.wrong(p.at-len(rest), "there is no ( for this )")
		}
		return word{}, p.noBlank(rest)
	}
	w := first.w
	switch {
	case t.Kind == Path:
		w.kind, w.path = pathWord, t
	case w.kind == bare: // in parentheses
		w.kind, w.text = quotedWord, t.Text
	}
	return w, nil
}

// pathParser reads a path.
type pathParser struct {
	*parser
	w word // the first name of the path, at the start of the path
}

// sequence reads steps separated by slashes. A path of one name is a Name.
func (p *pathParser) sequence(depth int) (Term, error) {
	var first Term
	var steps []*Route
	for {
		t, err := p.step(depth)
		if err != nil {
			return Term{}, err
		}
		if len(steps) == 0 {
			first = t
		}
		steps = append(steps, t.route())
		if p.at == len(p.text) || p.text[p.at] != '/' {
			break
		}
		p.at++
	}
	if len(steps) == 1 {
		return first, nil
	}
	return path(Sequence(steps...)), nil
}

// step reads a predicate or a path in parentheses, with a ^ before it and its length after
// it.
func (p *pathParser) step(depth int) (Term, error) {
	at := p.at
	inverse := strings.HasPrefix(p.text[p.at:], "^")
	if inverse {
		if p.at++; strings.HasPrefix(p.text[p.at:], "^") {
			return Term{}, p.wrong(at, doubleInverse)
		}
	}
	t, steps, err := p.primary(at, depth)
	if err == nil && steps != "" {
		t, err = p.repeat(at, t, steps)
	}
	if err == nil && inverse {
		t = path(t.route().Turned())
	}
	return t, err
}

// primary reads a predicate or a path in parentheses, and the length after it.
func (p *pathParser) primary(at, depth int) (t Term, steps string, err error) {
	w := word{at: at}
	switch rest := p.text[p.at:]; {
	case strings.HasPrefix(rest, "("):
		if depth == maxNested {
			return t, "", p.wrong(p.at, "the parentheses are too deep: at most %d are allowed", maxNested)
		}
		open := p.at
		p.at++
		if t, err = p.sequence(depth + 1); err != nil {
			return t, "", err
		}
		if !strings.HasPrefix(p.text[p.at:], ")") {
			return t, "", p.wrong(open, "this ( is never closed; a path has no blanks outside double quotes")
		}
		p.at++
	case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, "<"):
		if err = p.delimited(&w); err == nil {
			err = p.checkLength(w)
		}
		if err != nil {
			return t, "", err
		}
		t = name(w.text)
		p.remember(w)
	default:
		return p.bare(w)
	}
	suffix := p.toEnd()
	rest, steps := cutSteps("p" + suffix)
	if suffix != "" && rest != "p" {
		return t, "", p.noBlank(suffix)
	}
	return t, steps, nil
}

// remember keeps the kind and text of a name at the start of the path.
func (p *pathParser) remember(w word) {
	if w.at == p.w.at {
		p.w = w
	}
}

// bare reads a name without delimiters, and the length after it.
func (p *pathParser) bare(w word) (t Term, steps string, err error) {
	text := p.toEnd()
	if w.at == p.w.at && isURL(text+p.peekBlank()) {
		text += p.toBlank() // one name
	}
	w.text, steps = cutSteps(text)
	switch {
	case text == "":
		return t, "", p.wrong(p.at, "a predicate is missing in this path; for a name with / or parentheses use double quotes")
	case text == "*" || text[0] == '?':
		return t, "", p.wrong(p.at-len(text), "a path has only names of predicates, not %s; for the name write \"%s\"", text, text)
	}
	if advice := lookalike(w.text, true); advice != "" {
		return t, "", p.wrong(p.at-len(text), "%s; for the name write \"%s\"", advice, w.text)
	}
	return name(w.text), steps, p.checkLength(w)
}

// isURL reports whether a text begins like a URL, whose slashes do not make a path.
func isURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && !strings.ContainsAny(scheme, `"<`+pathBytes)
}

// toEnd reads up to the next blank, slash or parenthesis.
func (p *parser) toEnd() string {
	text := p.peekBlank()
	if end := strings.IndexAny(text, pathBytes); end >= 0 {
		text = text[:end]
	}
	p.at += len(text)
	return text
}

// repeat reads the length of a path.
func (p *parser) repeat(at int, t Term, steps string) (Term, error) {
	least, most := 0, 0
	switch from, to, two := strings.Cut(strings.TrimPrefix(steps, "*"), ".."); {
	case steps == "+":
		return path(Repeat(t.route(), 1, 0)), nil
	case steps == "*":
		return path(Repeat(t.route(), 0, 0)), nil
	default:
		var err error
		if least, err = strconv.Atoi(from); err == nil && two && to != "" {
			most, err = strconv.Atoi(to)
		}
		if !two {
			most = least
		}
		if err != nil || most == 0 && (!two || to != "") || most > 0 && most < least || least > maxSteps || most > maxSteps {
			return Term{}, p.wrong(at, "%q is not the length of a path: use *1..3, *2, *2.., + or *, with at most %d steps", steps, maxSteps)
		}
	}
	return path(Repeat(t.route(), least, most)), nil
}
