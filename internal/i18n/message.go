// Package i18n holds what Retwis tells people, in their language.
//
// A text is written in English where it is used, with names in braces for its values:
//
//	i18n.T("Add @{name} to a list…", name)
//	i18n.N(n, "{n} reply", "{n} replies")
//
// The values are in the order in which the names first appear in the English text; a translation
// may use another order. The number of N is the value of {n}, and its plural rule that of the
// language (CLDR). Of two English texts that are the same but not in other languages, one has a
// context behind a bar, which is not shown: "Open|adjective".
//
// The folder messages has a file of each language in the format of go-i18n, which translators'
// tools read: en.json has all texts of the program, and a test fails where another file does not
// have exactly the same. To add a language, add its file and a line to languages.
package i18n

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Message is a text with its values, not yet in a language: what an error has to say, for example.
// The zero value is no text.
type Message struct {
	id   string // the English text; of N, that of the plural; of Verbatim and Sentences, empty
	one  string // the singular of N
	n    int64  // the number of N
	args []any  // of Verbatim and Sentences, the texts
}

// T returns a text. A value can be a Message, a number, a time, which is written as a date, or
// anything that fmt can print.
func T(id string, args ...any) Message { return Message{id: id, args: args} }

// N returns a text that depends on a number.
func N(n int64, one, other string, args ...any) Message {
	return Message{id: other, one: one, n: n, args: args}
}

// Verbatim returns a text that somebody has written, which is the same in all languages.
func Verbatim(text string) Message {
	if text == "" {
		return Message{}
	}
	return Message{args: []any{text}}
}

// Sentences joins texts. Those that are zero are left out.
func Sentences(all ...Message) (m Message) {
	for _, one := range all {
		if !one.IsZero() {
			m.args = append(m.args, one)
		}
	}
	return m
}

// IsZero reports whether there is no text.
func (m Message) IsZero() bool { return m.id == "" && len(m.args) == 0 }

// With returns the text with other values.
func (m Message) With(args ...any) Message {
	m.args = args
	return m
}

// String is the text in English.
func (m Message) String() string { return English.Say(m) }

// piece is a part of a text: literal, a value, or the beginning or the end of an element.
type piece struct {
	literal string
	value   int // the number of the value; none for literals
	kind    kind
}

type kind uint8

const (
	isLiteral kind = iota
	isValue
	isOpen
	isClose
)

// template is a text in the form in which it is filled in.
type template []piece

// number is the value of {n} in texts that depend on it.
const number = "n"

// names returns the values that the pieces of an English text stand for.
func names(id string, isPlural bool) map[string]int {
	all := map[string]int{}
	if isPlural {
		all[number] = -1
	}
	for _, p := range split(id) {
		if _, known := all[p.literal]; p.kind == isLiteral || known {
			continue
		}
		n := len(all)
		if isPlural {
			n--
		}
		all[p.literal] = n
	}
	return all
}

// compile prepares a text. It fails where the text has a name that the English text does not have.
func compile(text string, values map[string]int) (template, error) {
	parts := split(text)
	for i, p := range parts {
		if p.kind == isLiteral {
			continue
		}
		n, ok := values[p.literal]
		if !ok {
			return nil, fmt.Errorf("i18n: %q: the English text has no %q", text, p.literal)
		}
		parts[i].value, parts[i].literal = n, ""
	}
	return parts, nil
}

// split cuts a text at its values and elements: {name}, <name> and </name>. The literal of such a piece
// is its name.
func split(text string) (parts template) {
	text, _, _ = strings.Cut(text, "|")
	literal := func(s string) {
		if s != "" {
			parts = append(parts, piece{literal: s})
		}
	}
	for {
		i := strings.IndexAny(text, "{<")
		if i < 0 {
			literal(text)
			return parts
		}
		end := map[byte]string{'{': "}", '<': ">"}[text[i]]
		name, rest, ok := strings.Cut(text[i+1:], end)
		kind := isValue
		if end == ">" {
			kind = isOpen
			if inner, closes := strings.CutPrefix(name, "/"); closes {
				name, kind = inner, isClose
			}
		}
		if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
			literal(text[:i+1])
			text = text[i+1:]
			continue
		}
		literal(text[:i])
		parts = append(parts, piece{literal: name, kind: kind})
		text = rest
	}
}

// compiled are the English texts in use: they are constants of the program.
var compiled = new(sync.Map)

type compiledKey struct {
	text, id string
	plural   bool
}

// english returns the template of an English text: of id, or of its singular.
func english(text, id string, plural bool) template {
	key := compiledKey{text, id, plural}
	if t, ok := compiled.Load(key); ok {
		return t.(template)
	}
	t, err := compile(text, names(id, plural))
	if err != nil {
		panic(err) // a text of the program; see TestMessages
	}
	compiled.Store(key, t)
	return t
}

// Say returns a text in the language.
func (l *Language) Say(m Message) string {
	if l == English && len(m.args) == 0 && m.one == "" {
		text, _, _ := strings.Cut(m.id, "|")
		return text
	}
	t := l.template(m)
	switch {
	case len(t) == 0:
		return ""
	case len(t) == 1 && t[0].kind == isLiteral:
		return t[0].literal
	}
	var b strings.Builder
	for _, p := range t {
		switch p.kind {
		case isLiteral:
			b.WriteString(p.literal)
		case isValue:
			b.WriteString(l.format(m.value(p.value)))
		}
	}
	return b.String()
}

func (l *Language) template(m Message) template {
	if m.IsZero() {
		return nil
	}
	if m.id == "" {
		t := template{{kind: isValue}}
		for i := 1; i < len(m.args); i++ {
			t = append(t, piece{literal: " "}, piece{kind: isValue, value: i})
		}
		return t
	}
	if l.texts != nil {
		if forms, ok := l.texts[m.id]; ok {
			return forms.of(l, m)
		}
	}
	text := m.id
	if m.one != "" && m.n == 1 {
		text = m.one
	}
	return english(text, m.id, m.one != "")
}

func (m Message) value(i int) any {
	switch {
	case i < 0:
		return m.n
	case i < len(m.args):
		return m.args[i]
	}
	return "?" // see TestMessages
}

func (l *Language) format(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case Message:
		return l.Say(v)
	case int:
		return l.Number(int64(v))
	case int64:
		return l.Number(v)
	case time.Time:
		return l.Time(v)
	}
	return fmt.Sprint(value)
}

// Part is a part of a text that is not only words: see Language.Parts.
type Part struct {
	Text  string // what to show, where Value is nil
	Value any    // one of the values: of {name}, or of <name> and </name>
	Open  bool   // an element with the value begins here
	Close bool   // it ends here
}

// Parts returns a text cut at its values and elements, for what puts markup into it. Values that
// are plain text come as text.
func (l *Language) Parts(m Message) []Part {
	t := l.template(m)
	parts := make([]Part, 0, len(t))
	for _, p := range t {
		switch p.kind {
		case isLiteral:
			parts = append(parts, Part{Text: p.literal})
		case isValue:
			switch v := m.value(p.value).(type) {
			case string, Message, int, int64, time.Time:
				parts = append(parts, Part{Text: l.format(v)})
			default:
				parts = append(parts, Part{Value: v})
			}
		default:
			parts = append(parts, Part{Value: m.value(p.value), Open: p.kind == isOpen, Close: p.kind == isClose})
		}
	}
	return parts
}

type contextKey struct{}

// With returns a context for texts in a language.
func With(ctx context.Context, l *Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From returns the language of a context, English for none.
func From(ctx context.Context) *Language {
	if l, ok := ctx.Value(contextKey{}).(*Language); ok {
		return l
	}
	return English
}
