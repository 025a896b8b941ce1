package bulk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressed returns an input in both ways, twice: such files can be put behind each
// other.
func compressed(t *testing.T, input string) map[string]string {
	t.Helper()
	var gz, zst bytes.Buffer
	for range 2 {
		g := gzip.NewWriter(&gz)
		z, err := zstd.NewWriter(&zst, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []io.WriteCloser{g, z} {
			if _, err := io.WriteString(w, input); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]string{"gzip": gz.String(), "zstd": zst.String()}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	input := strings.Repeat("SET key value\nINCR number\n", 50_000)
	for name, packed := range compressed(t, input) {
		got, report, err := emitted(packed, Options{})
		if err != nil || len(got) != 200_000 || report.Input != int64(len(packed)) {
			t.Errorf("%s: %d commands, %v, %+v", name, len(got), err, report)
		}
		// Cut anywhere, it is an error, and what came before it is whole.
		for _, cut := range []int{5, len(packed) / 3, len(packed) - 1} {
			got, _, err := emitted(packed[:cut], Options{Format: Commands})
			var wrong *InputError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "the "+name+" data is cut short") {
				t.Errorf("%s, cut at %d: %v behind %d commands", name, cut, err, len(got))
			}
		}
	}
}

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
		{"REDIS0010", false, RESP},
		{"SET a b", false, Commands},
		{"\xef\xbb\xbfSET a b", false, Commands},
		{`{"a":1}`, true, NDJSON},
		{"\n {\"a\":1}", true, NDJSON},
		{"a,b\n1\t2,3", true, CSV},
		{"a\tb\n1,2\t3", true, TSV},
		{"*a*,b\n", true, CSV},
	} {
		if got := detect([]byte(test.head), test.records); got != test.want {
			t.Errorf("%q: %s, expected %s", test.head, got, test.want)
		}
	}
}

// TestReaderFails passes the error of a reader on as it is.
func TestReaderFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is on fire")
	for _, head := range []string{"", "SET a b\n", "*1\r\n$4\r\nPI", "\x1f\x8b\x08\x00", "id,name\n1,"} {
		r := io.MultiReader(strings.NewReader(head), readFunc(func([]byte) (int, error) { return 0, broken }))
		opt := Options{}
		if strings.Contains(head, ",") {
			opt.Do = templates(t, "SET {id} {name}")
		}
		if _, err := Emit(context.Background(), io.Discard, r, opt); !errors.Is(err, broken) {
			t.Errorf("%q: %v", head, err)
		}
	}
}
