package syntax

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// word is a token of a query.
type word struct {
	text   string
	at     int // offset in the query
	quoted bool
	steps  string // the length of a path after a quoted predicate
	end    int    // offset of steps
}

type parser struct {
	text string
	at   int
}

// errorf returns a syntax error at an offset in the query.
func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{Column: utf8.RuneCountInString(p.text[:at]) + 1, Text: fmt.Sprintf(format, args...)}
}

// statement reads the words up to the next dot. more reports whether there is a dot.
func (p *parser) statement() (words []word, more bool, err error) {
	for {
		for p.at < len(p.text) && blank(p.text[p.at]) {
			p.at++
		}
		if p.at == len(p.text) {
			return words, false, p.checkLastDot(words)
		}
		w, err := p.word()
		if err != nil {
			return nil, false, err
		}
		if !w.quoted && w.text == "." {
			if len(words) == 0 {
				return nil, false, p.errorf(w.at, "there is no pattern before this dot")
			}
			return words, true, nil
		}
		words = append(words, w)
	}
}

// checkLastDot returns an error if the last word ends with a dot: in other query languages,
// such a dot ends the pattern.
func (p *parser) checkLastDot(words []word) error {
	if len(words) == 0 {
		return nil
	}
	if w := words[len(words)-1]; !w.quoted && len(w.text) > 1 && strings.HasSuffix(w.text, ".") {
		return p.errorf(w.at+len(w.text)-1, "separate patterns with a dot between blanks, and write none after the last; for the name write \"%s\"", w.text)
	}
	return nil
}

// blank reports whether c separates words.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// word reads the next word.
func (p *parser) word() (word, error) {
	w := word{at: p.at}
	if p.text[p.at] != '"' {
		w.text = p.readToBlank()
		return w, nil
	}
	if err := p.quotes(&w); err != nil {
		return w, err
	}
	w.end = p.at
	w.steps = p.readToBlank()
	if rest, _ := cutSteps("p" + w.steps); rest != "p" {
		return w, p.missingBlank(w.end, w.steps)
	}
	return w, nil
}

// missingBlank returns the error for text directly after a quoted name.
func (p *parser) missingBlank(at int, rest string) error {
	return p.errorf(at, "there is no blank before %q", rest)
}

// readToBlank reads up to the next blank.
func (p *parser) readToBlank() string {
	start := p.at
	for p.at < len(p.text) && !blank(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

// isOperator reports whether a text is the operator of a filter.
func isOperator(text string) bool {
	switch text {
	case "=", "!=", "<", "<=", ">", ">=", "~":
		return true
	}
	return false
}

// quotes reads a name in double quotes.
func (p *parser) quotes(w *word) error {
	w.quoted = true
	var out strings.Builder
	for p.at++; ; p.at++ {
		if p.at == len(p.text) {
			return p.errorf(w.at, "this quote is never closed")
		}
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			w.text = out.String()
			return nil
		case '\\':
			if p.at++; p.at == len(p.text) {
				return p.errorf(w.at, "this quote is never closed")
			}
			at := strings.IndexByte(`"\nt`, p.text[p.at])
			if at < 0 {
				return p.errorf(p.at-1, `use \" \\ \n or \t, not \%c`, firstRune(p.text[p.at:]))
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

// lookalike returns a hint if text is syntax of another query language, or "".
func lookalike(text string, predicate bool) string {
	if name, ok := strings.CutPrefix(text, "$"); ok && isVariable(name) && (name[0] < '0' || name[0] > '9') {
		return "a variable begins with a question mark: ?" + name
	}
	if !predicate || isURL(text) {
		return ""
	}
	switch {
	case text == "==":
		return "compare names with ="
	case text == "=<", text == "<>", text == "=~", text == "!~":
		return "there is no operator " + text + "; use =, !=, <, <=, >, >= or ~"
	case strings.HasPrefix(text, "^"):
		return "a predicate cannot be inverted; write the pattern the other way round"
	case strings.HasPrefix(text, "!"):
		return "a predicate cannot be excluded; write ?x ?p ?y . ?p != " + cmp.Or(text[1:], "likes")
	case strings.Contains(text, "|"):
		return "alternative predicates are not supported; run one query for each"
	case strings.ContainsAny(text, "/()"):
		return "a path has one predicate; write a pattern for each step: ?x knows ?y . ?y likes ?z"
	case len(text) > 1 && strings.HasSuffix(text, "?"):
		return "zero or one step is written " + text[:len(text)-1] + "*0..1"
	}
	return ""
}

// isURL reports whether text starts like a URL, whose slashes do not make a path.
func isURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && !strings.ContainsAny(scheme, `"/()`)
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

// cutSteps splits a predicate into its name and the length of a path: "+", "*", "*2", "*2..",
// "*2..3" or "".
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
