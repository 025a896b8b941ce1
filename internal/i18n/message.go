// Package i18n translates the texts of the site.
//
// A text is written in English where it is used, with placeholders in braces:
//
//	i18n.T("Add @{name} to a list…", name)
//	i18n.N(n, "{n} reply", "{n} replies")
//
// The arguments are in the order in which the placeholders first appear in the English text; a
// translation may use another order. The number passed to N is the value of {n}, and it selects
// the plural form by the CLDR rules of the language. Where an English text needs two translations,
// one of its uses adds a context after a bar, which is not shown: "Open|adjective".
//
// The directory messages has a file for each language in the format of go-i18n, which translation
// tools can read. en.json lists every text of the program; a test fails if another file lacks a text
// or has an unused text. To add a language, add its file and an element of languages.
package i18n

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Message is a text with its arguments, before translation: the text of an error, for example.
// The zero value is the empty text.
type Message struct {
	id   string // the English text, in the plural for N; empty for Verbatim and Sentences
	one  string // the English singular, for N
	n    int64  // the number, for N
	args []any  // the arguments, or the texts of Verbatim and Sentences
}

// T returns a text. An argument can be a Message, an integer, a time.Time or any value that fmt
// can print.
func T(id string, args ...any) Message { return Message{id: id, args: args} }

// N returns a text whose form depends on n.
func N(n int64, one, other string, args ...any) Message {
	return Message{id: other, one: one, n: n, args: args}
}

// Verbatim returns a text that is not translated, such as the text of a user.
func Verbatim(text string) Message {
	if text == "" {
		return Message{}
	}
	return Message{args: []any{text}}
}

// Sentences joins texts with spaces and skips zero Messages.
func Sentences(all ...Message) (m Message) {
	for _, sentence := range all {
		if !sentence.IsZero() {
			m.args = append(m.args, sentence)
		}
	}
	return m
}

// IsZero reports whether m is the empty text.
func (m Message) IsZero() bool { return m.id == "" && len(m.args) == 0 }

// With returns the text with other arguments.
func (m Message) With(args ...any) Message {
	m.args = args
	return m
}

// String returns the text in English.
func (m Message) String() string { return English.Say(m) }

// piece is a part of a text: a literal, a placeholder, or the start or end tag of an element.
type piece struct {
	literal string
	value   int // the index of the argument, unless the piece is a literal
	kind    kind
}

type kind uint8

const (
	isLiteral kind = iota
	isValue
	isOpen
	isClose
)

// template is a parsed text.
type template []piece

// numberName is the placeholder for the number of N.
const numberName = "n"

// names returns the index of the argument for each name in an English text; -1 stands for the
// number of N.
func names(id string, isPlural bool) map[string]int {
	all := map[string]int{}
	if isPlural {
		all[numberName] = -1
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

// compile parses a text. It fails if the text has a name that the English text lacks.
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

// split cuts a text at its placeholders and tags: {name}, <name> and </name>. The literal of such a
// piece is its name.
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

// compiled caches the templates of English texts. Its size is bounded, because the texts are
// constants.
var compiled = new(sync.Map)

type compiledKey struct {
	text, id string
	plural   bool
}

// english returns the template of an English text, which is id or its singular.
func english(text, id string, plural bool) template {
	key := compiledKey{text, id, plural}
	if t, ok := compiled.Load(key); ok {
		return t.(template)
	}
	t, err := compile(text, names(id, plural))
	if err != nil {
		panic(err) // the text is a constant; TestMessages checks it
	}
	compiled.Store(key, t)
	return t
}

// Say returns the text of m in the language.
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
			return forms.choose(l, m)
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
	return "?" // TestMessages finds missing arguments
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

// Part is a part of a text with markup; see Language.Parts.
type Part struct {
	Text  string // the text to show, if Value is nil
	Value any    // the argument of {name}, or of <name> and </name>
	Open  bool   // the part is a start tag
	Close bool   // the part is an end tag
}

// Parts splits a text at its placeholders and tags, so that the caller can add markup. It formats
// arguments that are strings, Messages, integers or times as Text, and returns other arguments as
// Value.
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

// With returns a context that carries the language.
func With(ctx context.Context, l *Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From returns the language that ctx carries, or English.
func From(ctx context.Context) *Language {
	if l, ok := ctx.Value(contextKey{}).(*Language); ok {
		return l
	}
	return English
}
