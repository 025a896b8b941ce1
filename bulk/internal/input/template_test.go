package input

import (
	"bytes"
	"strings"
	"testing"

	"retwis/bulk/resp"
)

// filled returns the command of a template for record number n.
func filled(t *Template, n int64, field func(name string) ([]byte, bool)) (resp.Frame, error) {
	var f resp.Frame
	values := make([]value, len(t.fields))
	for i, name := range t.fields {
		values[i].text, values[i].present = field(name)
	}
	var scratch []byte
	err := t.fill(&f, n, values, &scratch)
	return f, err
}

// words returns the arguments of a template's command for record number 42, separated by |.
func words(text string, field func(name string) ([]byte, bool)) (string, error) {
	parsed, err := ParseTemplate(text)
	if err != nil {
		return "", err
	}
	f, err := filled(parsed, 42, field)
	var args []string
	for i := range f.Len() {
		args = append(args, string(f.Arg(i)))
	}
	return strings.Join(args, "|"), err
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	record := map[string]string{"id": "7", "name": "Ada L", "age": "+036", "score": "1.5", "blank": " x ", "empty": ""}
	field := func(name string) ([]byte, bool) {
		v, ok := record[name]
		return []byte(v), ok
	}
	for text, want := range map[string]string{
		"SET user:{id} {name}":               "SET|user:7|Ada L",
		"SET user:{{{id}}} {#}":              "SET|user:{7}|42",
		`SET "a b" '{id} {name}'`:            "SET|a b|7 Ada L",
		"SET a {age|int}":                    "SET|a|36",
		"SET a {score|float}":                "SET|a|1.5",
		"SET a {name|upper}{name | lower}":   "SET|a|ADA Lada l",
		"SET a {blank|trim}":                 "SET|a|x",
		"SET a {nobody|default:New York}":    "SET|a|New York",
		"SET a {empty|default:x:y|upper}":    "SET|a|X:Y",
		"SET a {nobody|default:}":            "SET|a|",
		"PING":                               "PING",
		"SET }} {{":                          "SET|}|{",
		`HSET "user:{id}" "the name" {name}`: "HSET|user:7|the name|Ada L",
	} {
		if got, err := words(text, field); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                    "is empty",
		"  ":                  "is empty",
		"SET {id":             "a { without a }",
		"SET id}":             "a } without a {",
		"SET {}":              "names no field",
		"SET {|int}":          "names no field",
		"SET {id|round}":      `there is no filter "round"; use lower`,
		"SET {id|int:3}":      "there is no filter",
		"SET {id|default}":    "default needs a text",
		`SET "a`:              "is not closed",
		"SET {a{b}":           "a { within a field",
		"SET a {id|default:{": "a { without a }",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"SET a {nobody}":      `field "nobody" is missing`,
		"SET a {name|int}":    `field "name": "Ada L" is not an integer`,
		"SET a {name|float}":  `field "name": "Ada L" is not a number`,
		"SET a {empty|int}":   `field "empty": "" is not an integer`,
		"SET a {nobody|trim}": "is missing",
	} {
		if got, err := words(text, field); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestTemplateWords(t *testing.T) {
	t.Parallel()
	missing := func(string) ([]byte, bool) { return nil, false }
	for text, want := range map[string]string{
		`SET "a\x01b" c`:                  "SET|a\x01b|c",
		"SET \x01 {x|default:\x01}":       "SET|\x01|\x01",
		"SET a {x|default:New\tYork} ":    "SET|a|New\tYork",
		`SET a:{x|default:b c}"d \"e"`:    `SET|a:b cd "e`,
		`SET {{a b}} c`:                   "SET|{a|b}|c",
		`SET '' {x|default:}`:             "SET||",
		`SET {x|default:a}' b' "\x41\\n"`: `SET|a b|A\n`,
	} {
		if got, err := words(text, missing); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"SET {a|foo}":           "(column 5)",
		"SET  a:{} b":           "(column 6)",
		"SET {x|default:b c} }": "(column 21)",
		`"" {a`:                 "(column 4)",
		`SET a b"c`:             "column 8: the quote",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("SET user:{id} {name|lower}", []byte("x"))
	f.Add("SET {{{id|int}}} '{#} {a|default:b c}'", []byte("7"))
	f.Fuzz(func(t *testing.T, text string, value []byte) {
		parsed, err := ParseTemplate(text)
		if err != nil {
			return
		}
		f, err := filled(parsed, 1, func(string) ([]byte, bool) { return value, true })
		if err != nil {
			return
		}
		s := resp.NewScanner(bytes.NewReader(f.Raw()))
		if !s.Scan() || s.Frame().Len() != len(parsed.args) || len(s.Frame().Raw()) != len(f.Raw()) || s.Scan() || s.Err() != nil {
			t.Fatalf("template %q encoded as %q, want one command with %d arguments: %v", text, f.Raw(), len(parsed.args), s.Err())
		}
	})
}
