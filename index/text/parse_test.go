package text

import (
	"errors"
	"strings"
	"testing"

	"retwis/index"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"a b", "a b"},
		{"  Hello,  World! ", "Hello, World!"},
		{"a OR b", "a OR b"},
		{"a b OR c d", "(a b) OR (c d)"},
		{"a -b", "a -b"},
		{"-b a", "-b a"},
		{`"a b" c`, `"a b" c`},
		{`“a b”c`, `"a b" c`},
		{`-"a b" c`, `-"a b" c`},
		{"wor* x", "wor* x"},
		{"from:7 x:y", "from:7 x:y"},
		{"(a OR b) c", "(a OR b) c"},
		{"((a)) (b c)", "a b c"},
		{"(a OR (b OR c))", "a OR b OR c"},
		{"a -(b OR c)", "a -(b OR c)"},
		{"a & b", "a b"},
		{"a - b", "a b"},
		{"a OR &", "a"},
		{"a -&", "a"},
		{"OREGON or", "OREGON or"},
		{"wi-fi https://a.org/?x=1", "wi-fi https://a.org/?x=1"},
		{"has:link -from:7", "has:link -from:7"},
		{"東京都", "東京都"},
		{"👍", "👍"},
	} {
		e, err := Parse(c.text, "from", "has")
		if err != nil || e.String() != c.want {
			t.Errorf("Parse(%q) = %q, want %q: %v", c.text, e, c.want, err)
			continue
		}
		reparsed, err := Parse(e.String(), "from", "has")
		if err != nil || reparsed.String() != e.String() || reparsed.check() != nil {
			t.Errorf("reparsed: %q, want %q: %v", reparsed, e, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, "no words"},
		{"& ...", 1, "no words"},
		{"-a", 1, "only excludes"},
		{"a OR -b", 6, "only excludes"},
		{"ä (-b)", 4, "only excludes"},
		{`日本 "a b`, 4, "no closing quote"},
		{"(a", 1, "missing closing"},
		{"a)", 2, "unmatched closing"},
		{"OR a", 1, "both sides"},
		{"a OR", 5, "both sides"},
		{"a OR OR b", 6, "both sides"},
		{"(OR)", 2, "both sides"},
		{strings.Repeat("a ", 33), 65, "more than 32 words"},
		{strings.Repeat("(", 20) + "a", 17, "nested"},
		{"a \xff", 3, "UTF-8"},
		{strings.Repeat("a", 5000), 1, "4096"},
		{"from:" + strings.Repeat("7", 80), 1, "63 bytes"},
	} {
		_, err := Parse(c.text, "from")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Column != c.column || !strings.Contains(err.Error(), c.want) || !errors.Is(err, index.ErrValue) {
			t.Errorf("Parse(%q): %v, want error in column %d with %q", c.text, err, c.column, c.want)
		}
	}
}

func TestExprErrors(t *testing.T) {
	t.Parallel()
	deep := Word("a")
	for range 20 {
		deep = And(Or(deep, Word("b")), Word("c"))
	}
	many := make([]*Expr, 40)
	for i := range many {
		many[i] = Word("a")
	}
	for _, e := range []*Expr{Not(Word("a")), Or(Word("a"), Not(Word("b"))), And(Word("a"), Not(Not(Word("b")))), And(Not(Word("a")), Not(Word("b"))), Exact(""), Exact("a b"), deep, Or(many...)} {
		if err := e.check(); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v, want ErrValue", e, err)
		}
	}
	if And() != nil || Or(nil, nil) != nil || Not(nil) != nil || And(nil, Word("a")).String() != "a" {
		t.Error("And, Or or Not does not ignore nil expressions")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a OR (b -c)", `"x y" wor* from:7`, "-a", "((", "“”", "a\u00a0OR\u00a0b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text, "from")
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Column < 1 || syntax.Column > len(text)+1 {
				t.Fatalf("Parse(%q): %v, want a SyntaxError with a column", text, err)
			}
			return
		}
		if err := e.check(); err != nil {
			t.Fatalf("Parse(%q) returned an invalid expression: %v", text, err)
		}
	})
}
