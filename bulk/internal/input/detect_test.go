package input

import "testing"

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		head    string
		records bool
		want    Format
	}{
		{"", false, RESP},
		{"*1\r\n", false, RESP},
		{"\r\n*1\r\n", false, RESP},
		{"#TS:1795308651\r\n*1\r\n", false, RESP},
		{"SET a b", false, Commands},
		{"\xef\xbb\xbfSET a b", false, Commands},
		{`{"a":1}`, true, NDJSON},
		{"\n {\"a\":1}", true, NDJSON},
		{"a,b\n1\t2,3", true, CSV},
		{"a\tb\n1,2\t3", true, TSV},
		{"*a*,b\n", true, CSV},
		{"*a,b\r\n", true, CSV},
		{"*\r\n", true, CSV},
		{"*3\r\n$3\r\n", true, RESP},
		{" [ {", true, JSON},
		{"[]", false, JSON},
		{"[a],b", true, CSV},
	} {
		if got := detect([]byte(test.head), test.records); got != test.want {
			t.Errorf("detect(%q, %v) = %s, want %s", test.head, test.records, got, test.want)
		}
	}
}
