package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// packed returns a text compressed with gzip and with zstd.
func packed(t *testing.T, text string) (gz, zst []byte) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), e.EncodeAll([]byte(text), nil)
}

// Reader returns all data before the damage, and an error that describes the damage.
func TestReader(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line\n", 1000)
	gz, zst := packed(t, text)
	for name, test := range map[string]struct {
		file []byte
		want string
		err  string
	}{
		"plain":                {[]byte(text), text, ""},
		"short":                {[]byte("ab"), "ab", ""},
		"empty":                {nil, "", ""},
		"gzip":                 {gz, text, ""},
		"two members":          {bytes.Repeat(gz, 2), text + text, ""},
		"zstd":                 {zst, text, ""},
		"gzip and more":        {append(bytes.Clone(gz), "and much more text"...), text, "something else follows the end of the gzip data"},
		"gzip and a byte":      {append(bytes.Clone(gz), 0x1f), text, "something else follows the end of the gzip data"},
		"gzip, cut":            {gz[:len(gz)-9], "", "the gzip data is truncated: its end is missing"},
		"gzip, cut in a head":  {append(bytes.Clone(gz), gz[:4]...), text, "the gzip data is truncated: its end is missing"},
		"gzip, cut at its end": {gz[:len(gz)-1], text, "the gzip data is truncated: its end is missing"},
		"zstd, cut":            {zst[:len(zst)-1], "", "the zstd data is truncated: its end is missing"},
		"gzip, wrong head":     {[]byte("\x1f\x8b\x00 and more text"), "", "the gzip data is damaged: gzip: invalid header"},
		"gzip, damaged":        {append(bytes.Clone(gz[:len(gz)-8]), make([]byte, 8)...), text, "the gzip data is damaged: gzip: invalid checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{bytes.NewReader(test.file), iotest.OneByteReader(bytes.NewReader(test.file))} {
				r := NewReader(in)
				got, err := io.ReadAll(r)
				if _, second := io.ReadAll(r); second != err {
					t.Errorf("first error %v, second error %v", err, second)
				}
				r.Close()
				var damage *Error
				switch {
				case test.err == "" && err != nil, test.err != "" && (!errors.As(err, &damage) || damage.Msg != test.err):
					t.Errorf("error %v, want %q", err, test.err)
				case string(got) != test.want && (test.want != "" || test.err == ""):
					t.Errorf("read %d bytes %.40q, want %d", len(got), got, len(test.want))
				}
			}
		})
	}
}

// Reader returns the error of the file, not an error about damage.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	gz, zst := packed(t, strings.Repeat("a line\n", 1000))
	for _, begin := range [][]byte{nil, []byte("ab"), gz[:5], gz[:20], zst[:10], gz} {
		r := NewReader(io.MultiReader(bytes.NewReader(begin), iotest.ErrReader(broken)))
		for range 2 {
			if _, err := io.ReadAll(r); !errors.Is(err, broken) {
				t.Errorf("after %d bytes: %v, want the error of the file", len(begin), err)
			}
		}
		r.Close()
	}
}
