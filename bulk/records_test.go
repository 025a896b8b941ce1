package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"retwis/internal/require"
)

// emitted returns the commands of an input, each as its arguments joined by |.
func emitted(input string, opt Options) ([]string, Report, error) {
	var out bytes.Buffer
	report, err := Emit(context.Background(), &out, opt, From(strings.NewReader(input)))
	found, _, scanErr := scanAll(&out)
	return found, report, errors.Join(err, scanErr)
}

func TestFormats(t *testing.T) {
	t.Parallel()
	const hset = "HSET user:{id} name {name}"
	for name, test := range map[string]struct {
		input string
		do    []string
		opt   Options
		want  string // the commands, one per line
		err   string // a part of the error
	}{
		"commands":             {input: "SET a b\r\n\n  GET \"x y\" \nSET '' \"\\x00\\n\\\"\"", want: "SET|a|b\nGET|x y\nSET||\x00\n\""},
		"commands, BOM":        {input: "\xef\xbb\xbfSET a b\n", want: "SET|a|b"},
		"open quote":           {input: "SET a b\nSET a \"b\n", want: "SET|a|b", err: "line 2: column 7: the quote \" is not closed"},
		"text after a quote":   {input: "SET a \"b\"c\n", err: "line 1: column 10: expected a blank after the closing quote, found 'c'"},
		"csv":                  {input: "id,name\n1,Ada\n2,\"Grace \"\"H\"\"\nHopper\"\n", do: []string{hset}, want: "HSET|user:1|name|Ada\nHSET|user:2|name|Grace \"H\"\nHopper"},
		"csv, BOM, CRLF":       {input: "\xef\xbb\xbfid,name\r\n1,Ada\r\n", do: []string{hset}, want: "HSET|user:1|name|Ada"},
		"csv, no newline":      {input: "id,name\n1,Ada", do: []string{hset}, want: "HSET|user:1|name|Ada"},
		"csv, two templates":   {input: "id,name\n1,Ada\n2,Bob\n", do: []string{"SADD ids {id}", "SET n{#} {name|lower}"}, want: "SADD|ids|1\nSET|n1|ada\nSADD|ids|2\nSET|n2|bob"},
		"csv, columns":         {input: "1,Ada\n", do: []string{hset}, opt: Options{Format: CSV, Columns: []string{"id", "name"}}, want: "HSET|user:1|name|Ada"},
		"tsv":                  {input: "id\tname\n1\tAda L\n", do: []string{hset}, want: "HSET|user:1|name|Ada L"},
		"csv, no such column":  {input: "id,nam\n1,Ada\n", do: []string{hset}, err: `line 1: there is no column "name"; the columns are id, nam`},
		"csv, column twice":    {input: "id,name,id\n1,Ada,2\n", do: []string{hset}, err: `there are two columns "id"`},
		"csv, too few":         {input: "id,name\n1,Ada\n\n2\n", do: []string{hset}, want: "HSET|user:1|name|Ada", err: "line 4: there are 1 fields; expected 2: id, name"},
		"csv, quote":           {input: "id,name\n1,A\"da\n", do: []string{hset}, err: "line 2: column 4: bare"},
		"csv, empty":           {input: "", do: []string{hset}, err: "the input is empty"},
		"csv, empty cell":      {input: "id,name\n1,\n", do: []string{hset, "SET a {name|default:no one}"}, want: "HSET|user:1|name|\nSET|a|no one"},
		"csv, not an integer":  {input: "id,name\n1,a\nx,b\n", do: []string{"SET {id|int} {name}"}, want: "SET|1|a", err: `line 3: field "id": "x" is not an integer (for SET {id|int} {name})`},
		"csv, skipped":         {input: "id,name\n1,\n2,b\n", do: []string{hset}, opt: Options{SkipIfMissing: []string{"name"}}, want: "HSET|user:2|name|b"},
		"json":                 {input: "{\"id\":1,\"name\":\"A\\u00e9\\n\"}\n\n{\"name\":true,\"id\":1e3}\n", do: []string{hset}, want: "HSET|user:1|name|Aé\n\nHSET|user:1e3|name|true"},
		"json, nested":         {input: `{"id":{"a":[1, 2]},"id.b":7,"c":{"d":"x"}}`, do: []string{"SET {id.b} {c.d} {id}"}, want: `SET|7|x|{"a":[1,2]}`},
		"json, null":           {input: "{\"id\":1,\"name\":null}\n", do: []string{hset}, err: `line 1: field "name" is missing; give it a {name|default:TEXT}`},
		"json, default":        {input: "{\"id\":1}\n", do: []string{"SET {id} {name|default:-|upper}"}, want: "SET|1|-"},
		"json, skipped":        {input: "{\"id\":1}\n{\"id\":2,\"name\":\"b\"}\n", do: []string{hset}, opt: Options{SkipIfMissing: []string{"name"}}, want: "HSET|user:2|name|b"},
		"json, invalid":        {input: "{\"id\":1,\"name\":\"a\"}\n{\"id\":1,}\n", do: []string{hset}, want: "HSET|user:1|name|a", err: "line 2: this is not JSON: "},
		"json, two objects":    {input: "{\"id\":1}{\"id\":2}\n", do: []string{"SET {id} 1"}, err: "line 1: this is not JSON: "},
		"json, array":          {input: "[1]\n", do: []string{"SET {id} 1"}, opt: Options{Format: NDJSON}, err: "line 1: expected a JSON object"},
		"json, number":         {input: "{\"id\":01}\n", do: []string{"SET {id} 1"}, err: "line 1: "},
		"records, no template": {input: "{\"id\":1}\n", opt: Options{Format: NDJSON}, err: "say with a template which commands to send"},
		"commands, template":   {input: "SET a b", do: []string{hset}, opt: Options{Format: Commands}, err: "templates and columns are for csv"},
		"refused command":      {input: "SET a b\nsubscribe x\n", want: "SET|a|b", err: "line 2: command 2: SUBSCRIBE makes no sense in a load: after it"},
		"connection commands":  {input: "CLIENT SETNAME x\nhello 2\nclient no-evict on\nSET a b\n", want: "CLIENT|SETNAME|x\nhello|2\nclient|no-evict|on\nSET|a|b"},
		"other protocol":       {input: "HELLO 3\n", err: "HELLO makes no sense in a load: it may change how the server answers; only HELLO 2"},
		"CLIENT REPLY":         {input: "CLIENT REPLY OFF\n", err: "CLIENT makes no sense in a load: "},
		"administration":       {input: "SET a b\nCONFIG SET maxmemory 1\n", want: "SET|a|b", err: "line 2: command 2: CONFIG makes no sense in a load: it administers servers"},
		"json, duplicates":     {input: "{\"id\":1,\"na\\u006de\":\"a\",\"name\":\"b\",\"id\":2}\n", do: []string{hset}, want: "HSET|user:2|name|b"},
		"json, nested, twice":  {input: "{\"a\":{\"id\":1},\"a\":{\"id\":2,\"id\":[3,4]}}\n", do: []string{"SET {a.id.1} {a.id}"}, want: "SET|4|[3,4]"},
		"blocking":             {input: "XREAD BLOCK 0 STREAMS a 0\n", err: "XREAD with BLOCK makes no sense"},
		"transaction":          {input: "MULTI\nSET a b\nEXEC\n", want: "MULTI\nSET|a|b\nEXEC"},
		"open transaction":     {input: "MULTI\nSET a b\n", want: "MULTI\nSET|a|b", err: "the input ends within the transaction that begins with command 1: EXEC is missing"},
		"nested transaction":   {input: "MULTI\nMULTI\n", want: "MULTI", err: "command 2: MULTI within the transaction"},
		"EXEC alone":           {input: "EXEC\n", err: "command 1: EXEC without MULTI"},
		"two slots":            {input: "MGET a b\n", opt: Options{Cluster: true}, err: `command 1: MGET: the keys "a" and "b" are in different slots`},
		"two slots in MULTI":   {input: "MULTI\nSET a 1\nSET b 1\nEXEC\n", opt: Options{Cluster: true}, want: "MULTI\nSET|a|1", err: "command 3: SET: the key \"b\" is in a different slot"},
		"one slot":             {input: "MGET {a}1 {a}2\nEVAL x 2 {a}1 {a}2 y\nXREAD STREAMS {a}1 {a}2 0 0\n", opt: Options{Cluster: true}, want: "MGET|{a}1|{a}2\nEVAL|x|2|{a}1|{a}2|y\nXREAD|STREAMS|{a}1|{a}2|0|0"},
		"number of keys":       {input: "EVAL x 2 a\n", opt: Options{Cluster: true}, err: `EVAL: "2" is not a valid number of keys`},
		"gzip, cut":            {input: "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", err: "the gzip data is truncated"},
		"zstd, damaged":        {input: "\x28\xb5\x2f\xfdxxxxxxxxxxxxxxxxxxxxxxxxxxx", err: "the zstd data is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.opt.Do = test.do
			got, _, err := emitted(test.input, test.opt)
			if strings.Join(got, "\n") != test.want {
				t.Errorf("commands\n%q, want\n%q", strings.Join(got, "\n"), test.want)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error\n%v, want\n%s", err, test.err)
			}
		})
	}
}

func TestLongRecords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*(256<<10))
	got, _, err := emitted("id,name\n1,"+long+"\n2,b\n", Options{Do: []string{"SET {id} {name}"}})
	if err != nil || len(got) != 2 || got[0] != "SET|1|"+long || got[1] != "SET|2|b" {
		t.Errorf("CSV: %d commands, %v; want 2 with the long value", len(got), err)
	}
	got, _, err = emitted("SET 1 "+long+"\nSET 2 b\n", Options{})
	if err != nil || len(got) != 2 || got[0] != "SET|1|"+long || got[1] != "SET|2|b" {
		t.Errorf("lines: %d commands, %v; want 2 with the long value", len(got), err)
	}
	unclosed := "id,name\n1,a\n2,\"" + strings.Repeat("line\n", (4<<20))
	_, _, err = emitted(unclosed, Options{Do: []string{"SET {id} {name}"}})
	if err == nil || !strings.Contains(err.Error(), "line 3: the record is longer than 16 MiB: is a quote left open?") {
		t.Errorf("CSV with an open quote: %v, want an error for line 3", err)
	}
	_, _, err = emitted("SET a b\nSET c "+strings.Repeat("x", 16<<20), Options{})
	if err == nil || !strings.Contains(err.Error(), "line 2: the line is longer than 16 MiB") {
		t.Errorf("a long line: %v, want an error for line 2", err)
	}
}

// FuzzJSON checks that the fields of an object are loaded as encoding/json encodes them.
func FuzzJSON(f *testing.F) {
	f.Add("name", 7, 1.5, true)
	f.Add("a\"\\\n\x00é\U0001F600", -1, 1e300, false)
	f.Fuzz(func(t *testing.T, text string, n int, x float64, flag bool) {
		line, err := json.Marshal(map[string]any{"text": text, "n": n, "x": x, "yes": flag, "null": nil})
		if err != nil || !utf8.ValidString(text) {
			return
		}
		got, _, err := emitted(string(line), Options{Format: NDJSON, Do: []string{"SET {text} {n} {x} {yes} {null|default:none}"}})
		number, _ := json.Marshal(x)
		if want := fmt.Sprintf("SET|%s|%d|%s|%v|none", text, n, number, flag); err != nil || len(got) != 1 || got[0] != want {
			t.Fatalf("%s: %q, %v; want %q", line, got, err, want)
		}
	})
}

// FuzzArray checks that Emit accepts the arrays of objects that encoding/json accepts, and no
// others.
func FuzzArray(f *testing.F) {
	for _, text := range []string{"", "[]", `[{"id":1}]`, "\xef\xbb\xbf [ {\"id\":\"]\\\"}\"} ,\n{} ] ", `[{"id":[{}]},{"id":{"a":"\\u00e9"}}]`, `[{},]`, `[{}] x`, `[{"a":1}{}]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.Count(text, "[")+strings.Count(text, "{") > 200 { // may be nested too deeply
			return
		}
		_, report, err := emitted(text, Options{Format: JSON, Do: []string{"SADD all {id|default:none}"}})
		var objects []map[string]any
		valid := json.Unmarshal([]byte(strings.TrimPrefix(text, "\xef\xbb\xbf")), &objects) == nil && objects != nil
		for _, o := range objects {
			valid = valid && o != nil
		}
		if !valid && strings.ContainsFunc(text, unicode.IsControl) { // some control characters are accepted in strings
			return
		}
		if valid != (err == nil) || valid && report.Records != int64(len(objects)) {
			t.Fatalf("%q: %v, %d records; valid for encoding/json: %v, %d objects", text, err, report.Records, valid, len(objects))
		}
	})
}

func BenchmarkCSV(b *testing.B) {
	benchmarkRecords(b, "1234567,user1234567,27,user1234567@example.com\n", Options{Format: CSV, Columns: []string{"id", "name", "age", "mail"}})
}

func BenchmarkJSON(b *testing.B) {
	benchmarkRecords(b, `{"id":1234567,"name":"user1234567","age":27,"mail":"user1234567@example.com"}`+"\n", Options{Format: NDJSON})
}

func benchmarkRecords(b *testing.B, record string, opt Options) {
	opt.Do = []string{"HSET user:{id} name {name} age {age|int} mail {mail}"}
	const n = 10_000
	input := strings.Repeat(record, n)
	b.ReportAllocs()
	for b.Loop() {
		require.OK(b)(Emit(context.Background(), discard{}, opt, From(strings.NewReader(input))))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
