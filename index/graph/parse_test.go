package graph

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/graph/internal/syntax"
)

func TestParse(t *testing.T) {
	t.Parallel()
	x, y := Var("x"), Var("y")
	for text, want := range map[string][]Pattern{
		"?x likes beer":                          {{S: x, P: Name("likes"), O: Name("beer")}},
		"?x likes beer . ":                       {{S: x, P: Name("likes"), O: Name("beer")}},
		"?x likes ?y . ?y lives-in\n\tbarcelona": {{S: x, P: Name("likes"), O: y}, {S: y, P: Name("lives-in"), O: Name("barcelona")}},
		`?x "lives in" "a \"b\" \\ \n\t."`:       {{S: x, P: Name("lives in"), O: Name("a \"b\" \\ \n\t.")}},
		"* * *":                                  {{}},
		`"*" "?x" "."`:                           {{S: Name("*"), P: Name("?x"), O: Name(".")}},
		"a.b c. d":                               {{S: Name("a.b"), P: Name("c."), O: Name("d")}},
		"a friend-of*1..3 ?x":                    {{S: Name("a"), P: Path("friend-of", 1, 3), O: x}},
		"a p*2 ?x . a p*2.. ?x . a p+ ?x . a p* ?x": {{S: Name("a"), P: Path("p", 2, 2), O: x}, {S: Name("a"), P: Path("p", 2, 0), O: x}, {S: Name("a"), P: Path("p", 1, 0), O: x}, {S: Name("a"), P: Path("p", 0, 0), O: x}},
		"a c++ ?x":                        {{S: Name("a"), P: Path("c+", 1, 0), O: x}},
		`a "c++" c++`:                     {{S: Name("a"), P: Name("c++"), O: Name("c++")}},
		`a "is friend of"*0..2 ?x`:        {{S: Name("a"), P: Path("is friend of", 0, 2), O: x}},
		"<http://a/b.c> <http://a/p>+ ?x": {{S: Name("<http://a/b.c>"), P: Path("<http://a/p>", 1, 0), O: x}},
		`a p "\"text\""`:                  {{S: Name("a"), P: Name("p"), O: Name(`"text"`)}},
		"a*2 p b*2":                       {{S: Name("a*2"), P: Name("p"), O: Name("b*2")}},
		"a *x b":                          {{S: Name("a"), P: Name("*x"), O: Name("b")}},
		`^a p ^b . a "^p" $1 . ^ p $`:     {{S: Name("^a"), P: Name("p"), O: Name("^b")}, {S: Name("a"), P: Name("^p"), O: Name("$1")}, {S: Name("^"), P: Name("p"), O: Name("$")}},
		`<a p <b . a http://a/b+ ?x . ?x http://a/(b ?y`: {{S: Name("<a"), P: Name("p"), O: Name("<b")}, {S: Name("a"), P: Path("http://a/b", 1, 0), O: x}, {S: x, P: Name("http://a/(b"), O: y}},
		`?x a ?y . ?x p* ?y`:                             {{S: x, P: Name("a"), O: y}, {S: x, P: Path("p", 0, 0), O: y}},
		`a|b "a|b" !c/d . a "p/q" b? . a "!p" (b)`:       {{S: Name("a|b"), P: Name("a|b"), O: Name("!c/d")}, {S: Name("a"), P: Name("p/q"), O: Name("b?")}, {S: Name("a"), P: Name("!p"), O: Name("(b)")}},
		`a ">" b . > -> <= . a http://a/b|c "b."`:        {{S: Name("a"), P: Name(">"), O: Name("b")}, {S: Name(">"), P: Name("->"), O: Name("<=")}, {S: Name("a"), P: Name("http://a/b|c"), O: Name("b.")}},
		`a/b "(p)" c/d`:                                  {{S: Name("a/b"), P: Name("(p)"), O: Name("c/d")}},
		`a p "$x" . "$x" "p?" c`:                         {{S: Name("a"), P: Name("p"), O: Name("$x")}, {S: Name("$x"), P: Name("p?"), O: Name("c")}},
	} {
		q, err := Parse(text)
		if err != nil || len(q.Where) != len(want) {
			t.Errorf("Parse(%q) = %v (%v), want %v", text, q.Where, err, want)
			continue
		}
		for i := range want {
			if q.Where[i].String() != want[i].String() {
				t.Errorf("Parse(%q) = %v, want %v", text, q.Where, want)
			}
		}
	}
	q, err := Parse(`?x p ?y . ?x != ?y . ?y != "a b" . ?x ~ "^a b"`)
	if err != nil || len(q.Where) != 1 || len(q.Filters) != 3 {
		t.Fatalf("a query with three filters is parsed as %+v (%v)", q, err)
	}
	for names, want := range map[[2]string]bool{
		{"a b", "c"}: true, {"a b", "a b"}: false, {"a bc", "a b"}: false, {"b", "c"}: false,
	} {
		got := true
		for _, f := range q.Filters {
			got = got && f.keep(Binding{vars: []string{"x", "y"}, names: names[:]})
		}
		if got != want {
			t.Errorf("%q is kept: %v, want %v", names, got, want)
		}
	}
}

// Parse reads a variable, an operator and a term as a filter.
func TestParseComparisons(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		"?n > 10":               "11 10.5 9007199254740993 1e3",
		"?n >= 10":              "11 10 10.0 10.5 9007199254740993 1e3 +10",
		"?n < 10":               "9 -1 .5",
		"?n <= 10":              "9 10 10.0 -1 .5 +10",
		"?n < 10 . ?n > 0":      "9 .5",
		"?n = 10":               "10 10.0 +10",
		"?n != 10":              "11 9 10.5 9007199254740993 1e3 a b beer 10a -1 .5 Infinity NaN 0x1p4 1_0 é",
		"?n > 9007199254740992": "9007199254740993",
		"?n >= b":               "b beer é",
		"?n < b":                "a 10a Infinity NaN 0x1p4 1_0",
		`?n > "10"`:             "11 10.5 9007199254740993 1e3",
		"?n ~ ^b":               "b beer",
		"?n = ^b":               "",
	} {
		q, err := Parse("?x age ?n . " + filter)
		if err != nil || len(q.Where) != 1 || len(q.Filters) == 0 {
			t.Errorf("%s is parsed as %+v (%v), want filters", filter, q, err)
			continue
		}
		var got []string
		for name := range strings.FieldsSeq("11 9 10 10.0 10.5 9007199254740993 1e3 a b beer 10a -1 .5 +10 Infinity NaN 0x1p4 1_0 é") {
			kept := true
			for _, f := range q.Filters {
				kept = kept && f.keep(Binding{vars: []string{"x", "n"}, names: []string{"ada", name}})
			}
			if kept {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s keeps %s, want %s", filter, strings.Join(got, " "), want)
		}
	}
}

// Compare compares numbers by their exact values and texts by their bytes.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, operator, b string
		want           bool
	}{
		{"1e400", "<", "2", false},
		{"1e-1000", "<", "1", false}, // a text: the exponent has four digits
		{"1e-999", ">", "0", true},
		{"1e-999", "<", "2e-999", true},
		{"-0.0", "=", "0", true},
		{"-0.0", "<", "0", false},
		{"0." + strings.Repeat("0", 1000) + "1", "<", "1", false}, // a text: too long
		{`"9"`, "=", "9", false},
		{`"9"`, "!=", "9", true},
		{`"9"`, "<", "10", false},
		{`"9"`, ">", "10", false}, // a text and a number
		{"tea", "=", "tea", true},
		{"tea", "<=", "teas", true},
		{strings.Repeat("9", 20), "<", strings.Repeat("9", 19) + "8", false},
		{strings.Repeat("9", 20), ">", strings.Repeat("9", 19) + "8", true},
		{"0.1000000000000000000001", ">", "0.1", true},
	} {
		if got := Compare(Name(test.a), test.operator, Name(test.b)).keep(Binding{}); got != test.want {
			t.Errorf("%s %s %s is %v, want %v", test.a, test.operator, test.b, got, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "column 1: there is no pattern",
		" . a b c":                      "column 2: there is no pattern before this dot",
		"?x likes":                      "column 4: a pattern is a subject, a predicate and an object; found 2 words",
		"é":                             "column 1: a pattern is a subject, a predicate and an object; found 1 word",
		"é likes ice cream":             "column 13: a pattern is a subject, a predicate and an object; found 4 words",
		"é likes \"ice":                 "column 9: this quote is never closed",
		"é likes \"ice\\":               "column 9: this quote is never closed",
		`é likes "ice\é"`:               `column 13: use \" \\ \n or \t, not \é`,
		`é likes "ice"cream`:            `column 14: there is no blank before "cream"`,
		"é ? x":                         `column 3: "?" is not a variable`,
		"é ?x? x":                       `column 3: "?x?" is not a variable`,
		"é p*3..1 ?x":                   `column 3: "*3..1" is not the length of a path`,
		"é p*0 ?x":                      `column 3: "*0" is not the length of a path`,
		"é p*1..0 ?x":                   `column 3: "*1..0" is not the length of a path`,
		"é p*.. ?x":                     `column 3: "*.." is not the length of a path`,
		"é p*1..2..3 ?x":                `column 3: "*1..2..3" is not the length of a path`,
		"é p*1001 ?x":                   `column 3: "*1001" is not the length of a path`,
		"é p*99999999999999999999 ?x":   `column 3: "*99999999999999999999" is not`,
		"é \"p\"*x ?x":                  `column 6: there is no blank before "*x"`,
		`é "" ?x`:                       "column 3: a name must not be empty",
		"?x p ?y . ?x !=":               "column 14: a filter is a variable, !=, and a variable or a name",
		"?x p ?y . a != ?x":             "column 11: a filter begins with a variable",
		"?x p ?y . ?x != *":             "column 17: * cannot be compared",
		"?x p ?y . ?x ~ a(":             "column 16: error parsing regexp",
		"?x p ?y . ?z != a":             "?z is filtered but not in any pattern",
		"?x != a":                       "column 8: there is no pattern",
		"?x p|q ?y":                     "column 4: alternative predicates are not supported; run one query for each; for the name write \"p|q\"",
		"?x p/q ?y":                     "column 4: a path has one predicate; write a pattern for each step: ?x knows ?y . ?y likes ?z; for the name write \"p/q\"",
		"?x (p)+ ?y":                    "column 4: a path has one predicate",
		"?x ^p ?y":                      "column 4: a predicate cannot be inverted; write the pattern the other way round; for the name write \"^p\"",
		"?x ?p+ ?y":                     `column 4: "?p+" is not a variable`,
		"?x p \"a\"+":                   `column 9: there is no blank before "+"`,
		"a p \"b\"@en":                  `column 8: there is no blank before "@en"`,
		"?x p+ ?y":                      "the path ?x p+ ?y has no known end",
		"?x !p ?y":                      "column 4: a predicate cannot be excluded; write ?x ?p ?y . ?p != p; for the name",
		"?x p? ?y":                      "column 4: zero or one step is written p*0..1",
		"$x p ?y":                       "column 1: a variable begins with a question mark: ?x; for the name write \"$x\"",
		"?x p $y":                       "column 6: a variable begins with a question mark: ?y",
		"?x == ?y":                      "column 4: compare names with =",
		"?x <> ?y":                      "column 4: there is no operator <>",
		"?x p ?y . ?x < 10 . ?y =~ a":   "column 24: there is no operator =~",
		"?x p ?n . ?n > *":              "column 16: * cannot be compared",
		"?x p ?n . 10 > ?n":             "column 11: a filter begins with a variable, such as ?x; for a predicate named > write \">\"",
		"?x p ?n . ?n >":                "column 14: a filter is a variable, >, and a variable or a name",
		"?x lives-in barcelona.":        "column 22: separate patterns with a dot between blanks",
		"?x p* ?y":                      "has no known end: one end must be a name, or a variable that another pattern binds",
		strings.Repeat("x", maxQuery+1): "the query has 65537 bytes",
	} {
		q, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, index.ErrValue) {
			t.Errorf("Parse(%.40q) = %v: %v, want error with %q", text, q.Where, err, want)
		}
	}
}

// Parse is the inverse of String, for any names.
func TestPatternString(t *testing.T) {
	t.Parallel()
	term := rapid.Custom(func(t *rapid.T) Term {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return Term{}
		case 1:
			return Var("x-1_A")
		}
		return Name(rapid.OneOf(names(), rapid.StringN(1, 10, -1), rapid.SampledFrom([]string{
			"p*2", "c++", "!=", "~", "<a>", "<a>b", `"a"@en`, `\`, "<", "<=", ">", "=", "==", "<>", "^p", "^", "p|q", "p/q", "http://a/b", `://"`, "!p", "p?", "$x", "$1", "a.", "(", "^^a",
		})).Draw(t, "name"))
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Pattern{S: term.Draw(t, "s"), P: term.Draw(t, "p"), O: term.Draw(t, "o")}
		if rapid.Bool().Draw(t, "path") {
			p.P = paths(rapid.Map(term.Filter(func(t Term) bool { return t.is(syntax.Name) }), func(t Term) string { return t.term.Text })).Draw(t, "route")
		}
		if !p.canStart(nil) {
			return
		}
		q, err := Parse(p.String())
		if err != nil || len(q.Where) != 1 || q.Where[0].String() != p.simple().String() {
			t.Fatalf("%v is parsed as %v (%v)", p, q.Where, err)
		}
	})
}

// Parse returns a query or ErrValue for any text. Patterns survive formatting and parsing.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`, `?x "lives in" "São \"Paulo\"" . ?x != ?y . ?y p*1..3 ?x`, `<a:b>+ * "x"`, `a p* ?x . ?x ~ ^a`, `a "b"*2.. "c" .`,
		`?x "likes it"*2..3 ?y . ?y >= "10" . z http://a/b/c* ?x`, `a (p)* ")" . a "p/(q" b`, `a ://"\* b`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			if !errors.Is(err, index.ErrValue) {
				t.Fatalf("Parse(%q): %v, want ErrValue", text, err)
			}
			return
		}
		for _, p := range q.Where {
			if !p.canStart(nil) {
				continue // another pattern binds the ends of the path
			}
			reparsed, err := Parse(p.String())
			if err != nil || len(reparsed.Where) != 1 || reparsed.Where[0].String() != p.String() {
				t.Fatalf("%q has the pattern %q, which is parsed as %q (%v)", text, p, reparsed.Where, err)
			}
		}
	})
}
