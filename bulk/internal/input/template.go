package input

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"retwis/bulk/resp"
)

// Template is a command of bulk.Options.Do; the syntax is documented there.
type Template struct {
	text   string
	args   []argument
	fields []string
}

// argument is an argument of the command: a sequence of literals and fields.
type argument []part

type part struct {
	literal []byte
	field   int // index into Template.fields, recordNumber or literalPart
	filters []filter
}

type filter struct {
	name string
	text []byte // TEXT of default:TEXT
}

const (
	recordNumber = -1
	literalPart  = -2
)

// ParseTemplate parses a template. Errors name the column.
func ParseTemplate(text string) (*Template, error) {
	t := &Template{text: text}
	words, err := splitTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", text, err)
	}
	if len(words) == 0 {
		return nil, errors.New("the template is empty: write a command, as in 'SET user:{id} {name}'")
	}
	for _, w := range words {
		arg, err := t.parse(w.text)
		if err != nil {
			return nil, fmt.Errorf("template %q: %w (column %d)", text, err, w.column)
		}
		t.args = append(t.args, arg)
	}
	return t, nil
}

// word is a word of a template, without quotes.
type word struct {
	text   string
	column int // starting at 1
}

// splitTemplate splits text into words. Blanks between braces are part of a word:
// {city|default:New York}.
func splitTemplate(text string) ([]word, error) {
	line := []byte(text)
	s := splitter{scratch: make([]byte, 0, len(line))}
	var words []word
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		begin := i
		i = unquoted(line, i)
		w := word{text: text[begin:i], column: begin + 1}
		if i < len(line) && !endsWord(line[i]) {
			var err error
			if i, err = s.quoted(line, i); err != nil {
				return nil, err
			}
			w.text += string(s.words[len(s.words)-1])
		}
		words = append(words, w)
	}
}

// unquoted returns the end of the unquoted part of a word that begins at i.
func unquoted(line []byte, i int) int {
	for depth := 0; i < len(line) && line[i] != '"' && line[i] != '\''; i++ {
		switch c := line[i]; {
		case c == '{' && depth == 0 && i+1 < len(line) && line[i+1] == '{':
			i++
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case endsWord(c) && depth == 0:
			return i
		}
	}
	return i
}

// parse parses a word into an argument.
func (t *Template) parse(word string) (argument, error) {
	var arg argument
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			arg = append(arg, part{literal: literal, field: literalPart})
			literal = nil
		}
	}
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case (c == '{' || c == '}') && i+1 < len(word) && word[i+1] == c:
			literal = append(literal, c)
			i++
		case c == '}':
			return nil, fmt.Errorf("%q has a } without a {; write }} for a literal }", word)
		case c == '{':
			size := strings.IndexByte(word[i:], '}')
			if size < 0 {
				return nil, fmt.Errorf("%q has a { without a }; write {{ for a literal {", word)
			}
			flush()
			p, err := t.field(word[i+1 : i+size])
			if err != nil {
				return nil, err
			}
			arg = append(arg, p)
			i += size
		default:
			literal = append(literal, c)
		}
	}
	flush()
	return arg, nil
}

// field parses the text between braces.
func (t *Template) field(text string) (part, error) {
	name, rest, more := strings.Cut(text, "|")
	name = strings.TrimSpace(name)
	p := part{field: recordNumber}
	switch {
	case name == "":
		return p, fmt.Errorf("{%s} names no field", text)
	case strings.ContainsRune(name, '{'):
		return p, fmt.Errorf("{%s}: a { within a field; write {{ for a literal {", text)
	case name != "#":
		p.field = t.index(name)
	}
	for more {
		var expression string
		expression, rest, more = strings.Cut(rest, "|")
		kind, arg, hasArg := strings.Cut(expression, ":")
		kind = strings.TrimSpace(kind)
		switch {
		case kind == "default" && hasArg:
			p.filters = append(p.filters, filter{kind, []byte(arg)})
		case kind == "default":
			return p, fmt.Errorf("{%s}: default needs a text: {%s|default:TEXT}", text, name)
		case hasArg || kind != "lower" && kind != "upper" && kind != "trim" && kind != "int" && kind != "float":
			return p, fmt.Errorf("{%s}: there is no filter %q; use lower, upper, trim, int, float or default:TEXT", text, expression)
		default:
			p.filters = append(p.filters, filter{name: kind})
		}
	}
	return p, nil
}

// index returns the index of a name in t.fields, and adds the name if it is missing.
func (t *Template) index(name string) int {
	for i, f := range t.fields {
		if f == name {
			return i
		}
	}
	t.fields = append(t.fields, name)
	return len(t.fields) - 1
}

// value is the value of a field.
type value struct {
	text    []byte
	present bool
}

// fill stores in f the command for record number n, given the values of t.fields.
func (t *Template) fill(f *resp.Frame, n int64, values []value, scratch *[]byte) error {
	f.Reset(len(t.args))
	for _, arg := range t.args {
		if len(arg) == 1 && arg[0].field == literalPart {
			f.Add(arg[0].literal)
			continue
		}
		text := (*scratch)[:0]
		var err error
		for i := range arg {
			if text, err = t.append(text, &arg[i], n, values); err != nil {
				return err
			}
		}
		f.Add(text)
		*scratch = text
	}
	return nil
}

// append appends the text of a part to dst.
func (t *Template) append(dst []byte, p *part, n int64, values []value) ([]byte, error) {
	switch p.field {
	case literalPart:
		return append(dst, p.literal...), nil
	case recordNumber:
		return strconv.AppendInt(dst, n, 10), nil
	}
	v := values[p.field]
	for i := range p.filters {
		var err error
		if v, err = p.filters[i].apply(v); err != nil {
			return dst, fmt.Errorf("field %q: %w", t.fields[p.field], err)
		}
	}
	if !v.present {
		return dst, fmt.Errorf("field %q is missing; give it a {%s|default:TEXT}, or skip such records", t.fields[p.field], t.fields[p.field])
	}
	return append(dst, v.text...), nil
}

func (f *filter) apply(v value) (value, error) {
	if f.name == "default" {
		if !v.present || len(v.text) == 0 {
			return value{f.text, true}, nil
		}
		return v, nil
	}
	if !v.present {
		return v, nil
	}
	switch f.name {
	case "lower":
		v.text = bytes.ToLower(v.text)
	case "upper":
		v.text = bytes.ToUpper(v.text)
	case "trim":
		v.text = bytes.TrimSpace(v.text)
	case "int":
		return integer(v)
	case "float":
		x, err := strconv.ParseFloat(string(v.text), 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return v, fmt.Errorf("%q is not a number", resp.Shorten(v.text, 40))
		}
	}
	return v, nil
}

// integer checks that a value is an integer and converts it to the format that Redis uses.
func integer(v value) (value, error) {
	n, err := strconv.ParseInt(string(v.text), 10, 64)
	if err != nil {
		return v, fmt.Errorf("%q is not an integer", resp.Shorten(v.text, 40))
	}
	if v.text[0] == '+' || v.text[0] == '0' && len(v.text) > 1 || v.text[0] == '-' && (n == 0 || v.text[1] == '0') {
		v.text = strconv.AppendInt(nil, n, 10)
	}
	return v, nil
}
