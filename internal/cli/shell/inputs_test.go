package shell

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
)

// readRecords reads CSV files with the columns x and y. It returns the records, the output and the
// error.
func readRecords(t *testing.T, stdin string, files map[string][]byte, names ...string) (records, output string, err error) {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		if data, ok := files[name]; ok {
			names[i] = filepath.Join(dir, name)
			if err := os.WriteFile(names[i], data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out bytes.Buffer
	c := New(Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out}, &cobra.Command{})
	c.SetContext(t.Context())
	in, err := c.OpenInputs(names, "points")
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	for r, err := range in.Records([]string{"x", "y"}) {
		if err != nil {
			return records, strings.ReplaceAll(out.String(), dir+"/", ""), err
		}
		if r.ID == "bad" {
			in.Reject(r.File, r.Line, errors.New("space: it is bad"))
			continue
		}
		in.Accept()
		records += fmt.Sprintf("%s(%s)", r.ID, strings.Join(r.Texts, ","))
	}
	err = in.Report()
	return records, strings.ReplaceAll(out.String(), dir+"/", ""), err
}

func TestRecords(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxRejectedShown + 5 {
		fmt.Fprintf(&many, "bad,%d,1\n", i)
	}
	for name, test := range map[string]struct {
		stdin    string
		want     string
		output   string
		reported bool
		err      string
	}{
		"columns in any order": {stdin: "y,more,id,x\n2,z,a,1\n", want: "a(1,2)", output: "points: 1, bad: 0\n"},
		"a byte order mark":    {stdin: "\ufeffid,x,y\na,1,2\n", want: "a(1,2)", output: "points: 1, bad: 0\n"},
		"BOM and a quote":      {stdin: "\ufeff\"id\",\"x\",y\r\na,1,2\r\n", want: "a(1,2)", output: "points: 1, bad: 0\n"},
		"CR LF within quotes":  {stdin: "id,x,y\r\na,\"1\r\n2\",3\r\n", want: "a(1\r\n2,3)", output: "points: 1, bad: 0\n"},
		"two columns":          {stdin: "id,x,x,y\na,1,2,3\n", err: `stdin: there are two columns "x" among id, x, x, y: give each another name`},
		"quotes":               {stdin: "id,x,y\n\"a\nb\",\"1,5\",2\n", want: "a\nb(1,5,2)", output: "points: 1, bad: 0\n"},
		"a bad record":         {stdin: "id,x,y\na,1,2\nbad,1,2\nc,3,4\n", want: "a(1,2)c(3,4)", output: "stdin:3: it is bad\npoints: 2, bad: 1\n", reported: true},
		"too few fields":       {stdin: "id,x,y\na,1\nb,1,2\n", want: "b(1,2)", output: "stdin:2: there are 2 fields; expected 3: id, x, y\npoints: 1, bad: 1\n", reported: true},
		"not CSV":              {stdin: "id,x,y\na,1\"2,3\nb,1,2\n", want: "b(1,2)", output: "stdin:2: column 4: bare \" in non-quoted-field\npoints: 1, bad: 1\n", reported: true},
		"a missing column":     {stdin: "id,x\na,1\n", err: `stdin: there is no column "y"; the columns are id, x`},
		"nothing":              {err: "stdin: the input is empty: expected the names of the columns"},
		"an open quote": {
			stdin: "id,x,y\na,1,2\nb,\"" + strings.Repeat("x", maxCSVRecord+100<<10), want: "a(1,2)",
			err: "stdin:3: the record is longer than 1 MiB: is a quote left open?",
		},
		"many bad records": {
			stdin: "id,x,y\n" + many.String(), reported: true,
			output: func() string {
				var all string
				for i := range maxRejectedShown {
					all += fmt.Sprintf("stdin:%d: it is bad\n", i+2)
				}
				return all + "… and 5 more\npoints: 0, bad: 25\n"
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, output, err := readRecords(t, test.stdin, nil)
			if got != test.want || output != test.output {
				t.Errorf("records %q, want %q; output %q, want %q", got, test.want, output, test.output)
			}
			switch {
			case test.err != "" && (err == nil || err.Error() != test.err):
				t.Errorf("error %v, want %q", err, test.err)
			case test.err == "" && test.reported != errors.Is(err, ErrReported):
				t.Errorf("error %v, want ErrReported: %v", err, test.reported)
			}
		})
	}
}

// Files may be compressed; a file of another type, such as an archive, is refused.
func TestCompressedInputs(t *testing.T) {
	t.Parallel()
	plain := []byte("id,x,y\na,1,2\n")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(plain)
	_ = z.Close()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"plain": plain, "gzip": zipped.Bytes(), "zstd": e.EncodeAll(plain, nil),
		"short": zipped.Bytes()[:12], "archive": []byte("PK\x03\x04 and more"),
	}
	got, output, err := readRecords(t, "", files, "gzip", "plain", "zstd")
	if got != "a(1,2)a(1,2)a(1,2)" || output != "points: 3, bad: 0\n" || err != nil {
		t.Errorf("records %q, output %q, error %v", got, output, err)
	}
	for _, name := range []string{"short", "archive"} {
		if got, _, err := readRecords(t, "", files, name); got != "" || err == nil {
			t.Errorf("%s: records %q, error %v; want an error", name, got, err)
		}
	}
	if _, _, err := readRecords(t, "", files, "plain", "no-such-file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want os.ErrNotExist", err)
	}
	if _, _, err := readRecords(t, "", files, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestUntilError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	values, failed := UntilError(func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(2, nil) && yield(0, broken) && yield(3, nil)
	})
	var got []int
	for v := range values {
		got = append(got, v)
	}
	if len(got) != 2 || !errors.Is(failed(), broken) {
		t.Errorf("values %v, error %v; want 1 2, broken", got, failed())
	}
}

// A read ends when its context is canceled, even if the input never ends.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	in := newInterruptible(ctx, r)
	go func() {
		_, _ = io.WriteString(w, "hello")
		stop()
	}()
	text, err := io.ReadAll(in)
	if string(text) != "hello" && len(text) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAll = %q, %v; want context.Canceled", text, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// Every byte of a long input is read once, in order.
func TestInterruptibleReadsAll(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	in := newInterruptible(t.Context(), io.NopCloser(bytes.NewReader(want)))
	defer in.Close()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
	}
}
