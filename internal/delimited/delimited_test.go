package delimited

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// records reads all records of text, one byte per read if slow is set. records formats each record,
// or its error, with the line number.
func records(t rapid.TB, text string, opt Options, slow bool) (all []string) {
	t.Helper()
	var in io.Reader = strings.NewReader(text)
	if slow {
		in = iotest.OneByteReader(in)
	}
	if opt.MaxRecord == 0 {
		opt.MaxRecord = 1 << 20
	}
	r, err := NewReader(in, opt)
	if err != nil {
		return []string{"header: " + err.Error()}
	}
	for {
		fields, err := r.Next()
		var recordErr *RecordError
		switch {
		case errors.Is(err, io.EOF):
			if got, want := r.End(), int64(len(text)); got != want {
				t.Fatalf("End() = %d at the end of the input, want %d", got, want)
			}
			return all
		case errors.As(err, &recordErr):
			all = append(all, fmt.Sprintf("%d %s", recordErr.Line, recordErr.Msg))
			if recordErr.Last {
				return all
			}
		case err != nil:
			t.Fatal(err)
		default:
			if raw := text[r.Offset():r.End()]; strings.TrimRight(raw, "\r\n") != strings.TrimRight(string(r.Raw()), "\r\n") {
				t.Fatalf("Raw() = %q, but the text between Offset and End is %q", r.Raw(), raw)
			}
			all = append(all, fmt.Sprintf("%d %q", r.Line(), fields))
		}
	}
}

// Reader parses CSV as encoding/csv does, except that it keeps CR LF within quotes.
func TestCSVProperty(t *testing.T) {
	t.Parallel()
	letter := rapid.SampledFrom([]string{"a", "b", ",", `"`, `""`, "\n", "\r\n", "\r", `","`, "é", " "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(letter, 0, 30).Draw(t, "text"), "")
		var want []string
		r := csv.NewReader(strings.NewReader("x,y\n" + text))
		r.FieldsPerRecord = 2
		for first := true; ; first = false {
			fields, err := r.Read()
			var parseErr *csv.ParseError
			if errors.Is(err, io.EOF) {
				break
			}
			if first {
				continue
			}
			if errors.As(err, &parseErr) {
				want = append(want, fmt.Sprintf("%d wrong", parseErr.StartLine))
				continue
			}
			line, _ := r.FieldPos(0)
			want = append(want, fmt.Sprintf("%d %q", line, fields))
		}
		got := records(t, "x,y\n"+text, Options{}, rapid.Bool().Draw(t, "slow"))
		for i := range got {
			if line, _, ok := strings.Cut(got[i], " "); ok && !strings.HasSuffix(got[i], "]") {
				got[i] = line + " wrong"
			}
			got[i] = strings.ReplaceAll(got[i], `\r\n`, `\n`)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\ngot  %s\nwant %s", text, got, want)
		}
	})
}

// Fields that are quoted for CSV or escaped for TSV are read back unchanged.
func TestRoundTripProperty(t *testing.T) {
	t.Parallel()
	field := rapid.StringOf(rapid.RuneFrom([]rune("ab,\"\t\n\r\\\x00né0t")))
	escape := strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`, `\`, `\\`)
	rapid.Check(t, func(t *rapid.T) {
		tabs := rapid.Bool().Draw(t, "tabs")
		columns := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "columns")]
		rows := rapid.SliceOfN(rapid.SliceOfN(field, len(columns), len(columns)), 0, 5).Draw(t, "rows")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var text strings.Builder
		for _, row := range rows {
			for i, field := range row {
				switch {
				case i > 0 && tabs:
					text.WriteString("\t")
				case i > 0:
					text.WriteString(",")
				}
				if tabs {
					text.WriteString(escape.Replace(field))
				} else {
					text.WriteString(`"` + strings.ReplaceAll(field, `"`, `""`) + `"`)
				}
			}
			text.WriteString(end)
		}
		got := records(t, text.String(), Options{Tabs: tabs, Columns: columns}, rapid.Bool().Draw(t, "slow"))
		var want []string
		line := 1
		for _, row := range rows {
			want = append(want, fmt.Sprintf("%d %q", line, row))
			if line++; !tabs {
				line += strings.Count(strings.Join(row, ""), "\n")
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\ngot  %s\nwant %s", text.String(), got, want)
		}
	})
}

func TestRecords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		opt  Options
		want []string
	}{
		{"id\tn\n5\t\"quoted\n6\tCarl\n8\tend\"\n9\t19\" rack\n", Options{Tabs: true}, []string{`2 ["5" "\"quoted"]`, `3 ["6" "Carl"]`, `4 ["8" "end\""]`, `5 ["9" "19\" rack"]`}},
		{"id\tn\n1\tC:\\\\new\\nline\\t\\0\\r\n2\ta,b\n", Options{Tabs: true}, []string{`2 ["1" "C:\\new\nline\t\x00\r"]`, `3 ["2" "a,b"]`}},
		{"id\tn\n1\tC:\\data\n2\tx\\\n3\ty\n", Options{Tabs: true}, []string{
			`2 column 5: a backslash in TSV is written \\; the other escapes are \t, \n, \r and \0`,
			`3 column 4: a backslash in TSV is written \\; the other escapes are \t, \n, \r and \0`, `4 ["3" "y"]`,
		}},
		{"id\n1\n\n3\n", Options{Tabs: true}, []string{`2 ["1"]`, `3 [""]`, `4 ["3"]`}},
		{"id\tn\n\n1\t2\n", Options{Tabs: true}, []string{`3 ["1" "2"]`}},
		{"1\t2\t3\n", Options{Tabs: true, Columns: []string{"a", "b"}}, []string{"1 there are 3 fields; expected 2: a, b"}},
		{"\xef\xbb\xbf\"id\",\"n\"\r\n1,\"a\r\nb\"\r\n2,c\r\n", Options{}, []string{`2 ["1" "a\r\nb"]`, `4 ["2" "c"]`}},
		{"\xef\xbb", Options{}, nil},
		{"", Options{}, []string{"header: the input is empty: expected the names of the columns"}},
		{"a,\"b\nc", Options{}, []string{`header: the record continues on line 2, column 2: extraneous or missing " in quoted-field: is a quote left open?`}},
		{"a,b\n\"1\",\n\"1\",", Options{}, []string{`2 ["1" ""]`, `3 ["1" ""]`}},
		{"a,b\n1,\"" + strings.Repeat("x\n", 1<<20), Options{}, []string{"2 the record is longer than 1 MiB: is a quote left open?"}},
		{"a\n" + strings.Repeat("x", 2<<20), Options{Tabs: true}, []string{"2 the record is longer than 1 MiB"}},
	} {
		if got := records(t, test.text, test.opt, false); !slices.Equal(got, test.want) {
			t.Errorf("%.60q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	r, err := NewReader(strings.NewReader("id,v,v,w,\x1b\n"), Options{MaxRecord: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Places([]string{"w", "id"}, []string{"none"}); err != nil || !slices.Equal(got, []int{3, 0, -1}) {
		t.Errorf("Places = %v, %v; want [3 0 -1]", got, err)
	}
	for name, want := range map[string]string{
		"v":    `there are two columns "v" among "id, v, v, w, \x1b": give each another name`,
		"none": `there is no column "none"; the columns are "id, v, v, w, \x1b"`,
	} {
		if _, err := r.Places([]string{name}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func BenchmarkCSV(b *testing.B) {
	row := []byte("123456,Name123456,42,Palermo\n")
	for name, row := range map[string][]byte{"plain": row, "quoted": []byte("123456,\"Name, 123456\",42,\"Paler\"\"mo\"\n"), "tsv": bytes.ReplaceAll(row, []byte(","), []byte("\t"))} {
		text := bytes.Repeat(row, 100_000)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(text), Options{Tabs: name == "tsv", Columns: []string{"a", "b", "c", "d"}, MaxRecord: 1 << 20})
				for err == nil {
					_, err = r.Next()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
		b.Run("encoding/csv "+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := csv.NewReader(bytes.NewReader(text))
				r.ReuseRecord = true
				var err error
				for err == nil {
					_, err = r.Read()
				}
			}
		})
	}
}
