package rdf

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"retwis/index"
)

// From the examples and the tests of the specification.
func TestNTriples(t *testing.T) {
	t.Parallel()
	const a, b = "<http://example/s>", "<http://example/p>"
	for object, want := range map[string]string{
		`<http://example/o>`:                `<http://example/o>`,
		`<http://example/\u0053\U00000054>`: `<http://example/ST>`,
		`<http://example/\u0020x>`:          `<http://example/\u0020x>`,
		`<scheme:!$%25&'()*+,-./0123456789:@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~?#>`: `<scheme:!$%25&'()*+,-./0123456789:@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~?#>`,
		`_:b0`:                       `_:b0`,
		`_:0.b-c`:                    `_:0.b-c`,
		`""`:                         `""`,
		`"chat"@en`:                  `"chat"@en`,
		`"chat"@en-GB-1997`:          `"chat"@en-GB-1997`,
		`"x"^^<http://example/type>`: `"x"^^<http://example/type>`,
		`"\t\b\n\r\f\"\'\\"`:         "\"\t\b\\n\\r\f\\\"'\\\\\"",
		`"\u00e9\U0001F600"`:         `"é😀"`,
		`"é"`:                        `"é"`,
		"\"a\x00b\"":                 "\"a\x00b\"",
		`"x"^^<http://www.w3.org/2001/XMLSchema#string>`: `"x"`,
		`"it's < > . # @"`: `"it's < > . # @"`,
	} {
		for _, line := range []string{a + " " + b + " " + object + " .", "\t" + a + "\t" + b + object + ". # why", a + b + object + " .#"} {
			got, err := collect(Read(strings.NewReader(line), NTriples))
			if err != nil || len(got) != 1 || got[0] != (Triple{a, b, want}) {
				t.Errorf("%s is read as %q (%v)", line, got, err)
			}
		}
	}
	for line, want := range map[string]string{
		`<http://a/s> <http://a/p> "x"`:                "line 1, column 30: expected a dot after the object, and the line ends",
		`<http://a/s> <http://a/p> "x" . y`:            "column 33: expected nothing but a comment",
		`<http://a/s> <http://a/p> .`:                  "column 27: expected an object",
		`"x" <http://a/p> "x" .`:                       "column 1: expected a subject",
		`<http://a/s> _:b "x" .`:                       "column 14: expected a predicate",
		`<http://a/s> <http://a/p> <http://a b> .`:     "column 36: ' ' cannot be in an IRI",
		`<http://a/s> <http://a/p> <http://a\u00ZZ> .`: `column 36: expected \u and 4`,
		`<http://a/s> <http://a/p> <http://a\n> .`:     `column 36: expected \u and 4`,
		`<http://a/s> <http://a/p> <o> .`:              "column 27: the IRI <o> has no scheme",
		`<http://a/s> <http://a/p> <http://a .`:        "column 36: ' ' cannot be in an IRI",
		`<http://a/s> <http://a/p> <http://a`:          "column 27: this < is never closed",
		`<http://a/s> <http://a/p> "é" "y" .`:          "column 31: expected a dot after the object, found '\"'",
		`<http://a/s> <http://a/p> "x .`:               "column 27: this quote is never closed",
		`<http://a/s> <http://a/p> "\a" .`:             `column 28: expected \t \b`,
		`<http://a/s> <http://a/p> "\ud800" .`:         `expected \t \b`,
		`<http://a/s> <http://a/p> "\U00110000" .`:     `expected \t \b`,
		`<http://a/s> <http://a/p> "x"@ .`:             "column 30: expected a language",
		`<http://a/s> <http://a/p> "x"@1 .`:            "column 30: expected a language",
		`<http://a/s> <http://a/p> "x"@en- .`:          "column 30: expected a language",
		`<http://a/s> <http://a/p> "x"^^en .`:          "column 32: expected the <IRI> of a type",
		`<http://a/s> <http://a/p> _: .`:               "column 29: expected the label",
		`<http://a/s> <http://a/p> _:-a .`:             "column 29: expected the label",
		`<http://a/s> <http://a/p> x .`:                "column 27: expected an object",
		"<http://a/s> <http://a/p> \"\xff\" .":         "column 28: the line is not UTF-8",
		"<http://a/s> <http://a/p> \"a\rb\" .":         "column 29: write the end of a line",
	} {
		got, err := collect(Read(strings.NewReader(line), NTriples))
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, index.ErrValue) {
			t.Errorf("%s is read as %q: %v, want %s", line, got, err, want)
		}
	}
}

// Invalid lines are reported, and the rest is read.
func TestReadGoesOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format   Format
		text     string
		want     []Triple
		problems []string
	}{
		{TSV, "a\tb\tc\n\nbad\nd\te\tf\r\na\tb\nx\t\ty\na\\q\tb\tc\na\tb\tc\td\te\tf\n#\tis a\tname", []Triple{{"a", "b", "c"}, {"d", "e", "f"}, {"#", "is a", "name"}}, []string{
			"line 3: expected subject, tab, predicate, tab, object; found 1 part", "line 5: expected", "line 6, column 3: the predicate has 0 bytes",
			`line 7, column 2: write a backslash as \\`, "line 8: expected subject, tab, predicate, tab, object; found more",
		}},
		{TSV, `a\tb` + "\t" + `c\\d` + "\t" + `\n\r`, []Triple{{"a\tb", `c\d`, "\n\r"}}, nil},
		{TSV, "a\tb\t" + strings.Repeat("x", MaxName+1) + "\n" + strings.Repeat("y", maxLine+1) + "\na\tb\tc\n", []Triple{{"a", "b", "c"}}, []string{
			"line 1, column 5: the object has 65537 bytes", "line 2: the line has more than",
		}},
		{NTriples, "# a comment\n\n<a:s> <a:p> <a:o> .\nwhat\n_:s <a:p> \"x\" . # y\n", []Triple{{"<a:s>", "<a:p>", "<a:o>"}, {"_:s", "<a:p>", `"x"`}}, []string{"line 4, column 1: expected a subject"}},
		{NTriples, `<a:s> <a:p> "` + strings.Repeat("x", MaxName) + "\" .\n", nil, []string{"line 1: the object has 65538 bytes"}},
		{Auto, "# a comment\n<a:s> <a:p> <a:o> .\n", []Triple{{"<a:s>", "<a:p>", "<a:o>"}}, nil},
		{Auto, "<a:s> <a:p> wrong .\n<a:s> <a:p> <a:o> .\n", []Triple{{"<a:s>", "<a:p>", "<a:o>"}}, []string{"line 1, column 13"}},
		{Auto, "\n<a\tb\tc\n", []Triple{{"<a", "b", "c"}}, nil},
		{Auto, "#\tb\tc\n", []Triple{{"#", "b", "c"}}, nil},
		{Auto, "", nil, nil},
	} {
		var got []Triple
		var problems []string
		for one, err := range Read(strings.NewReader(test.text), test.format) {
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			got = append(got, one)
		}
		if !slices.Equal(got, test.want) || len(problems) != len(test.problems) {
			t.Errorf("%.60q is read as %.60q, want %.60q; problems %.200q", test.text, got, test.want, problems)
			continue
		}
		for i, want := range test.problems {
			if !strings.HasPrefix(problems[i], "rdf: "+want) {
				t.Errorf("%.60q: problem %q, want %q", test.text, problems[i], want)
			}
		}
	}
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("a\tb\tc\nd\te"), iotest.ErrReader(broken))
	if got, err := collect(Read(r, TSV)); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("a reader that fails: %v, %v", got, err)
	}
	if _, err := collect(Read(r, "xml")); !errors.Is(err, index.ErrValue) {
		t.Errorf("an unknown format: %v", err)
	}
}

// What is written is read back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	some := []Triple{{"a\tb", "c\nd", "e\\f\r"}, {"\x00", "\xff:;", "é"}, {"#x", " ", "<y>"}}
	var out bytes.Buffer
	if _, err := Write(&out, NTriples, sourceOf(some)); !errors.Is(err, index.ErrValue) {
		t.Errorf("names that are not terms: %v", err)
	}
	if _, err := Write(&out, Auto, sourceOf(nil)); !errors.Is(err, index.ErrValue) {
		t.Errorf("to write an unknown format: %v", err)
	}
	const text = "<http://a/s> <http://a/p> \"caf\u00e9 \\\"x\\\"\\n\"@fr .\n_:b <http://a/p> <http://a/\\u0020> .\n"
	out.Reset()
	if n, err := Write(&out, NTriples, Read(strings.NewReader(text), Auto)); n != 2 || err != nil || out.String() != text {
		t.Errorf("%s comes back as %s (%v)", text, out.String(), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.OneOf(rapid.SampledFrom([]string{"\t", "\n", "\r", `\`, `\t`, " ", "\x00", "\xff", "#", byteOrderMark, "a"}), rapid.StringN(1, 20, -1))
		some := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Triple {
			return Triple{names.Draw(t, "s"), names.Draw(t, "p"), names.Draw(t, "o")}
		})).Draw(t, "triples")
		var out bytes.Buffer
		if _, err := Write(&out, TSV, sourceOf(some)); err != nil {
			t.Fatal(err)
		}
		back, err := collect(Read(&out, TSV))
		if err != nil || !slices.Equal(back, some) {
			t.Fatalf("%q comes back as %q (%v)", some, back, err)
		}
	})
}

// An iteration that stops early reads no further, and an error of the sequence or of
// the writer ends Write.
func TestWriteStops(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var out bytes.Buffer
	n, err := Write(&out, TSV, func(yield func(Triple, error) bool) {
		_ = yield(Triple{"a", "b", "c"}, nil) && yield(Triple{}, broken)
	})
	if n != 1 || !errors.Is(err, broken) || out.String() != "a\tb\tc\n" {
		t.Errorf("%d written, %q, %v", n, out.String(), err)
	}
	r, w := io.Pipe()
	r.CloseWithError(broken)
	if _, err := Write(w, TSV, sourceOf([]Triple{{"a", "b", "c"}})); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
	for triple, err := range Read(strings.NewReader("a\tb\tc\nwrong"), TSV) {
		if err != nil {
			t.Errorf("after %v was enough: %v", triple, err)
		}
		break
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	const xsd = "http://www.w3.org/2001/XMLSchema#"
	for term, want := range map[string]Literal{
		`""`:                        {},
		`"a \"b\" \u00e9\n"`:        {Text: "a \"b\" é\n"},
		`"x"@en-GB`:                 {Text: "x", Language: "en-GB"},
		`"7"^^<` + xsd + `integer>`: {Text: "7", Datatype: xsd + "integer"},
		`"7"^^<` + xsd + `string>`:  {Text: "7"},
	} {
		got, ok := ParseLiteral(term)
		if !ok || got != want || got.IsNumeric() != strings.HasSuffix(term, "integer>") {
			t.Errorf("%s is %+v, %v, want %+v", term, got, ok, want)
		}
	}
	for _, term := range []string{"", "x", `"`, `"x`, `"x" `, `"x"@`, `"x"^^en`, `"x"@en"`, `"\a"`, "_:b", "<a:b>"} {
		if got, ok := ParseLiteral(term); ok {
			t.Errorf("%s is %+v", term, got)
		}
	}
	term, n, err := ScanLiteral(`"\u0041"@en . ?x`)
	if term != `"A"@en` || n != len(`"\u0041"@en`) || err != nil {
		t.Errorf("%s, %d, %v", term, n, err)
	}
	if _, n, err := ScanLiteral(`"a"@1`); n != 3 || err == nil {
		t.Errorf("offset %d, %v", n, err)
	}
	if _, _, err := ScanLiteral("a"); err == nil {
		t.Error("a name is not a literal")
	}
}

// A line that is read is written and read the same; an error has a place in the line.
func FuzzNTriples(f *testing.F) {
	for _, line := range []string{
		`<http://a/s> <http://a/p> "x\u00e9\n"@en-GB . # why`, `_:a.b <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .`, `<a:\u0020> <a:p> _:b.`, `"`, `<`, "_:", `<a:b> <a:b> "\U0010FFFF" .`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		triple, ok, err := parseNTriples(line)
		var syntax *SyntaxError
		switch {
		case errors.As(err, &syntax):
			if syntax.Column < 0 || syntax.Column > len(line)+1 {
				t.Fatalf("%q: column %d", line, syntax.Column)
			}
		case err != nil:
			t.Fatalf("%q: %v", line, err)
		case ok:
			text, err := formatNTriples(triple)
			if err != nil {
				t.Fatalf("%q is read as %q: %v", line, triple, err)
			}
			if strings.Count(text, "\n") != 1 || strings.Contains(text, "\r") {
				t.Fatalf("%q is written as %q", line, text)
			}
		}
	})
}

// Every line of TSV is a triple that is written and read the same, or an error with a
// place in the line.
func FuzzTSV(f *testing.F) {
	for _, line := range []string{"a\tb\tc", `a\tb` + "\t" + `c\\d` + "\t" + `\n\r`, "a\tb", "\t\t", `a\q` + "\tb\tc", "a\tb\tc\td\te"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		triple, ok, err := parseTSV(line)
		var syntax *SyntaxError
		switch {
		case errors.As(err, &syntax):
			if syntax.Column < 0 || syntax.Column > len(line)+1 {
				t.Fatalf("%q: column %d", line, syntax.Column)
			}
		case err != nil:
			t.Fatalf("%q: %v", line, err)
		case ok:
			text, _ := formatTSV(triple)
			again, ok, err := parseTSV(strings.TrimSuffix(text, "\n"))
			if !ok || err != nil || again != triple {
				t.Fatalf("%q is read as %q, written as %q and read as %q (%v)", line, triple, text, again, err)
			}
		case line != "":
			t.Fatalf("%q is neither a triple nor an error", line)
		}
	})
}

// Files of any bytes are read to the end: each line is a triple that is written and read
// the same, or an error with its line.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"\ufeffa\tb\tc\r\n\nx\n", "# c\n<a:s> <a:p> <a:o> .\nwrong\n", "@prefix : <http://a/> .", "<?xml version=\"1.0\"?>", "<a\tb\tc", "a\tb\tc"} {
		f.Add(text, string(Auto))
		f.Add(text, string(TSV))
		f.Add(text, string(NTriples))
	}
	f.Fuzz(func(t *testing.T, text, format string) {
		var good []Triple
		last := 0
		for triple, err := range Read(strings.NewReader(text), Format(format)) {
			var syntax *SyntaxError
			switch {
			case errors.As(err, &syntax):
				if syntax.Line <= last || syntax.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("%q: line %d after line %d", text, syntax.Line, last)
				}
				last = syntax.Line
			case err != nil && !errors.Is(err, index.ErrValue):
				t.Fatalf("%q: %v", text, err)
			case err == nil:
				good = append(good, triple)
			}
		}
		var out bytes.Buffer
		if _, err := Write(&out, TSV, sourceOf(good)); err != nil {
			t.Fatal(err)
		}
		if back, err := collect(Read(&out, TSV)); err != nil || !slices.Equal(back, good) {
			t.Fatalf("%q is read as %q, which comes back as %q (%v)", text, good, back, err)
		}
	})
}

// collect collects what a sequence yields, up to its first error.
func collect[T any](sequence iter.Seq2[T, error]) (found []T, err error) {
	for v, err := range sequence {
		if err != nil {
			return found, err
		}
		found = append(found, v)
	}
	return found, nil
}

func sourceOf(triples []Triple) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		for _, t := range triples {
			if !yield(t, nil) {
				return
			}
		}
	}
}
