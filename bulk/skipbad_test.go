package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

// TestSkipBad checks that bad records are skipped and written to BadTo.
func TestSkipBad(t *testing.T) {
	t.Parallel()
	resp := string(encode(t, []any{"SET", "a", 1}, []any{"SUBSCRIBE", "x y"}, []any{"SET", "b", 2}))
	const module = "REDIS0003\xfe\x02\x00\x01a\x011\x07\x02d\xff\x81\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x01b\x012\xff"
	for name, test := range map[string]struct {
		input  string
		format Format
		do     []string
		want   string // the commands
		bad    []badRecord
	}{
		"csv": {
			"id,n\r\n1,1\r\n2,x\r\n3\n4,4\n5,\"a\"b\n6,6\n,7\n", CSV,
			[]string{"SET {id} {n|int}", "SADD all {id}"},
			"SET|1|1 SADD|all|1 SET|4|4 SADD|all|4 SET|6|6 SADD|all|6 SET||7 SADD|all|",
			[]badRecord{
				{Line: 3, Record: 2, Text: "2,x", Reason: `field "n": "x" is not an integer (for SET {id} {n|int})`},
				{Line: 4, Record: 3, Text: "3", Reason: "there are 1 fields; expected 2: id, n"},
				{Line: 6, Record: 5, Text: `5,"a"b`, Reason: `column 5: extraneous or missing " in quoted-field`},
			},
		},
		"the second template": {
			"id,n\n1,x\n2,2\n", CSV,
			[]string{"SADD all {id}", "SET {id} {n|int}"},
			"SADD|all|2 SET|2|2",
			[]badRecord{{Line: 2, Record: 1, Text: "1,x", Reason: `field "n": "x" is not an integer (for SET {id} {n|int})`}},
		},
		"not UTF-8": {
			"id,n\n1,\xff\n", CSV,
			[]string{"SET {id} {n|int}"},
			"",
			[]badRecord{{Line: 2, Record: 1, Base64: []byte("1,\xff"), Reason: `field "n": "\xff" is not an integer (for SET {id} {n|int})`}},
		},
		"ndjson": {
			"{\"id\":1}\n{\"id\":\n\n[1]\n{}\n{\"id\":2}", NDJSON,
			[]string{"SADD all {id}"},
			"SADD|all|1 SADD|all|2",
			[]badRecord{
				{Line: 2, Record: 2, Text: `{"id":`, Reason: "this is not JSON: "},
				{Line: 4, Record: 3, Text: "[1]", Reason: `expected a JSON object, as in {"id": 1}, found array`},
				{Line: 5, Record: 4, Text: "{}", Reason: `field "id" is missing`},
			},
		},
		"json": {
			"[{\"id\":1}, 7,\n{\"id\":x}, {\n}, {\"id\":2}]", Auto,
			[]string{"SADD all {id}"},
			"SADD|all|1 SADD|all|2",
			[]badRecord{
				{Line: 1, Record: 2, Text: "7", Reason: `expected a JSON object, as in {"id": 1}, found number`},
				{Line: 2, Record: 3, Text: `{"id":x}`, Reason: "this is not JSON: "},
				{Line: 2, Record: 4, Text: "{\n}", Reason: `field "id" is missing`},
			},
		},
		"commands": {
			"SET a 1\nSET \"b\nBLPOP x 0\nSET c 3\n", Commands, nil, "SET|a|1 SET|c|3",
			[]badRecord{
				{Line: 2, Text: `SET "b`, Reason: `column 5: the quote " is not closed`},
				{Line: 3, Command: "BLPOP x 0", Reason: "BLPOP makes no sense in a load: "},
			},
		},
		"resp": {resp, RESP, nil, "SET|a|1 SET|b|2", []badRecord{{Offset: 27, Command: `SUBSCRIBE "x y"`, Reason: "SUBSCRIBE makes no sense in a load: "}}},
		"rdb":  {module, Auto, nil, "SELECT|2 SET|a|1 SET|b|2", []badRecord{{Offset: 16, Record: 2, DB: 2, Key: new(string), Reason: "the key \"d\\xff\" of database 2 cannot be loaded: it is a value of the module AAAAAAAAB: "}}},
	} {
		opt := Options{Format: test.format}
		if test.do != nil {
			opt.Do = test.do
		}
		if _, _, err := emitted(test.input, opt); err == nil {
			t.Errorf("%s: no error without BadTo", name)
		}
		var badTo bytes.Buffer
		opt.BadTo = &badTo
		got, report, err := emitted(test.input, opt)
		if err != nil || strings.Join(got, " ") != test.want || report.Bad != int64(len(test.bad)) {
			t.Errorf("%s: emitted %q, %v; want %q and %d bad records; report: %+v", name, got, err, test.want, len(test.bad), report)
		}
		decoder := json.NewDecoder(&badTo)
		for i, want := range test.bad {
			var record badRecord
			if err := decoder.Decode(&record); err != nil {
				t.Fatalf("%s: bad record %d: %v", name, i, err)
			}
			if !strings.HasPrefix(record.Reason, want.Reason) {
				t.Errorf("%s: reason %q, want %q", name, record.Reason, want.Reason)
			}
			if want.Key != nil && (record.Key == nil || *record.Key != `"d\xff"`) {
				t.Errorf("%s: %+v, want the key d\\xff", name, record)
			}
			record.Reason, record.Key, want.Reason, want.Key = "", nil, "", nil
			if fmt.Sprintf("%+v", record) != fmt.Sprintf("%+v", want) {
				t.Errorf("%s: %+v, want %+v", name, record, want)
			}
		}
		opt.MaxBad, opt.BadTo = len(test.bad), &badTo
		if _, _, err := emitted(test.input, opt); err != nil {
			t.Errorf("%s: %d bad records with MaxBad = %d: %v", name, len(test.bad), opt.MaxBad, err)
		}
		if opt.MaxBad--; opt.MaxBad > 0 {
			var inputErr *InputError
			if _, _, err := emitted(test.input, opt); !errors.As(err, &inputErr) || !strings.Contains(err.Error(), "bad records is reached") {
				t.Errorf("%s: %d bad records with MaxBad = %d: %v, want an InputError", name, len(test.bad), opt.MaxBad, err)
			}
		}
		// A load into a server must give the same result.
		s := redistest.DB(t)
		var loaded bytes.Buffer
		opt.BadTo, opt.MaxBad, opt.Checkpoint = &loaded, 0, filepath.Join(t.TempDir(), "checkpoint")
		if report := load(t, s.URL(), []byte(test.input), opt); report.Bad != int64(len(test.bad)) || report.Errors > 0 {
			t.Errorf("%s: load: %+v, want %d bad records and no errors", name, report, len(test.bad))
		}
		if report := load(t, s.URL(), []byte(test.input), opt); report.Commands > 0 {
			t.Errorf("%s: second load: %+v, want no commands", name, report)
		}
	}
}

// TestSkipBadStops checks that errors after which the next record cannot be found end the load.
func TestSkipBadStops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ input, want string }{
		"protocol":      {"*1\r\n$4\r\nPING\r\n*x\r\n", "expected the number of arguments"},
		"transaction":   {"MULTI\nSUBSCRIBE x\nEXEC\n", "SUBSCRIBE makes no sense"},
		"database":      {"SELECT x\nSET a 1\n", "SELECT takes a database number"},
		"array":         {`[{"id":1},{"id":`, "the input ends within the record that begins here"},
		"no comma":      {`[{"id":1} {"id":2}]`, `expected a comma or ] after a record, found '{'`},
		"two commas":    {`[{"id":1},,{"id":2}]`, "expected a record after the comma, found ','"},
		"first comma":   {`[{"id":1},]`, "expected a record after the comma, found ']'"},
		"trailing data": {`[{"id":1}] x`, "expected the end of the input after the array, found 'x'"},
		"not closed":    {`[{"id":1}`, "the input ends within the array: ] is missing"},
		"only a comma":  {`[,`, "expected a record, found a comma"},
		"cut snapshot":  {"REDIS0003\xfe\x02\x00\x01a\x011", "truncated"},
		"long":          {`[{"id":"` + strings.Repeat("x", 17<<20), "is a quote or a bracket left open?"},
		"no array":      {"\n{", "this is not JSON"},
		"another array": {"[[1", "the input ends within the record that begins here"},
	} {
		opt := Options{BadTo: io.Discard, MaxBad: 1}
		if strings.Contains(test.input, "{") || strings.HasPrefix(test.input, "[") {
			opt.Do = []string{"SADD all {id}"}
		}
		switch name {
		case "no array":
			opt.BadTo = nil
		case "only a comma":
			opt.Format = JSON
		}
		_, _, err := emitted(test.input, opt)
		var inputErr *InputError
		if !errors.As(err, &inputErr) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
