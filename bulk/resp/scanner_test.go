package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"retwis/internal/require"
)

// scanAll returns the commands of a stream, each as its arguments joined by |.
func scanAll(r io.Reader) (found []string, offsets []int64, err error) {
	s := NewScanner(r)
	for s.Scan() {
		var args []string
		for i := range s.Frame().Len() {
			args = append(args, string(s.Frame().Arg(i)))
		}
		found = append(found, strings.Join(args, "|"))
		offsets = append(offsets, s.Offset())
	}
	return found, offsets, s.Err()
}

func TestScanner(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  []string
		err   string // a part of the error, if one is wanted
	}{
		"empty":             {"", nil, ""},
		"one":               {"*1\r\n$4\r\nPING\r\n", []string{"PING"}, ""},
		"two":               {"*2\r\n$3\r\nGET\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n", []string{"GET|", "PING"}, ""},
		"binary":            {"*2\r\n$3\r\nGET\r\n$5\r\na\r\n\x00b\r\n", []string{"GET|a\r\n\x00b"}, ""},
		"no arguments":      {"*0\r\n\r\n\n*1\r\n$4\r\nPING\r\n\r\n", []string{"PING"}, ""},
		"long count":        {"*12\r\n" + strings.Repeat("$1\r\nx\r\n", 12), []string{strings.TrimSuffix(strings.Repeat("x|", 12), "|")}, ""},
		"after one":         {"*1\r\n$4\r\nPING\r\nhello", []string{"PING"}, "byte 14: expected a command, which begins with *, found \"hello\"; for typed commands"},
		"LF":                {"*1\n$4\nPING\n", nil, "byte 2: expected CRLF after the number of arguments, found \"\\n$4\\nPING\\n\"; lines of the protocol end in CR LF, these end in LF alone"},
		"LF after":          {"*1\r\n$4\r\nPING\n\n", nil, "byte 12: expected CRLF after an argument of 4 bytes, found \"\\n\\n\"; lines of the protocol end in CR LF"},
		"negative count":    {"*-1\r\n", nil, "byte 1: the number of arguments is negative"},
		"negative length":   {"*1\r\n$-1\r\n", nil, "byte 5: the length of an argument is negative"},
		"no number":         {"*x\r\n", nil, "byte 1: expected the number of arguments, found \"x\\r\\n\""},
		"leading zero":      {"*01\r\n$1\r\nx\r\n", nil, "byte 1: the number of arguments begins with 0"},
		"too many":          {"*2147483648\r\n", nil, "byte 1: the number of arguments is more than 2147483647, the most that a server accepts"},
		"many are missing":  {"*1048577\r\n", nil, "byte 10: the input ends within the command that begins at byte 0"},
		"too long":          {"*1\r\n$536870913\r\n", nil, "byte 5: the length of an argument is more than 536870912, the most that a server accepts by default"},
		"huge":              {"*1\r\n$99999999999999999999\r\n", nil, "byte 5: the length of an argument is more than 536870912, the most that a server accepts by default"},
		"no dollar":         {"*1\r\n4\r\nPING\r\n", nil, "byte 4: expected $ and the length of an argument, found \"4\\r\\nPING\\r\\n\""},
		"length too short":  {"*1\r\n$3\r\nPING\r\n", nil, "byte 11: expected CRLF after an argument of 3 bytes, found \"G\\r\""},
		"length too long":   {"*1\r\n$9\r\nPING\r\n", nil, "byte 14: the input ends within the command that begins at byte 0: expected an argument of 9 bytes and CRLF at byte 8"},
		"cut in count":      {"*1", nil, "byte 2: the input ends within the command that begins at byte 0: expected CRLF at byte 2"},
		"cut in CRLF":       {"*1\r", nil, "byte 3: the input ends within the command that begins at byte 0: expected CRLF"},
		"cut after count":   {"*1\r\n", nil, "byte 4: the input ends within the command that begins at byte 0: expected $ and the length of an argument at byte 4"},
		"cut in length":     {"*1\r\n$4", nil, "byte 6: the input ends within the command that begins at byte 0"},
		"cut after star":    {"*", nil, "byte 1: the input ends within the command that begins at byte 0: expected the number of arguments"},
		"cut in argument":   {"*1\r\n$4\r\nPI", nil, "byte 10: the input ends within the command that begins at byte 0"},
		"second is cut":     {"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", []string{"PING"}, "byte 24: the input ends within the command that begins at byte 14"},
		"BOM":               {"\xef\xbb\xbf*1\r\n$4\r\nPING\r\n", nil, "byte 0: the input begins with a byte order mark"},
		"RDB":               {"REDIS0010\xfa\t", nil, "byte 0: this is a snapshot (RDB)"},
		"annotations":       {"#TS:1795308651\r\n*1\r\n$4\r\nPING\r\n#TS:1\n#\n*1\r\n$4\r\nPING\r\n#end\r\n", []string{"PING", "PING"}, ""},
		"cut annotation":    {"*1\r\n$4\r\nPING\r\n#TS:17", []string{"PING"}, "byte 20: the input ends within"},
		"long annotation":   {"#" + strings.Repeat("x", 128) + "\n", nil, "byte 0: the annotation, a line that begins with #, is longer than 128 bytes"},
		"huge, many digits": {"*99999999999\r\n", nil, "byte 1: the number of arguments is more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(test.input), iotest.OneByteReader(strings.NewReader(test.input))} {
				got, _, err := scanAll(r)
				if fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("commands %q, want %q", got, test.want)
				}
				var inputErr *InputError
				switch {
				case test.err == "" && err != nil, test.err != "" && !errors.As(err, &inputErr):
					t.Errorf("error %v, want an InputError with %q", err, test.err)
				case test.err != "" && !strings.Contains(err.Error(), test.err):
					t.Errorf("error\n%v, want\n%s", err, test.err)
				}
			}
		})
	}
}

// TestScannerReadError checks that a scan returns all complete commands before it returns the error
// of a reader, even if the reader returns the error together with data.
func TestScannerReadError(t *testing.T) {
	t.Parallel()
	readErr := errors.New("broken")
	const ping, get = "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
	for input, want := range map[string][]string{
		"":                                nil,
		ping:                              {"PING"},
		ping + get + ping:                 {"PING", "GET|a", "PING"},
		ping + "\n":                       {"PING"},
		ping + "\r\n\r\n#TS:1\r\n" + ping: {"PING", "PING"},
		ping + "\r":                       {"PING"},
		ping + "#TS":                      {"PING"},
	} {
		for _, cut := range []string{"", "*", "*2", "*2\r\n", "*2\r\n$", "*2\r\n$3\r\nGE", get[:len(get)-1]} {
			if cut != "" && !strings.HasSuffix(input, ping) {
				continue
			}
			for name, r := range map[string]io.Reader{
				"together": iotest.DataErrReader(io.MultiReader(strings.NewReader(input+cut), iotest.ErrReader(readErr))),
				"bytewise": iotest.DataErrReader(iotest.OneByteReader(io.MultiReader(strings.NewReader(input+cut), iotest.ErrReader(readErr)))),
				"after":    io.MultiReader(strings.NewReader(input+cut), iotest.ErrReader(readErr)),
			} {
				if got, _, err := scanAll(r); fmt.Sprint(got) != fmt.Sprint(want) || !errors.Is(err, readErr) {
					t.Errorf("%q, %s: %q, %v, want %q", input+cut, name, got, err, want)
				}
			}
		}
	}
}

// TestScannerMemory checks that a wrong length reserves no memory.
func TestScannerMemory(t *testing.T) {
	t.Parallel()
	s := NewScanner(strings.NewReader("*2\r\n$3\r\nGET\r\n$536870912\r\nabc"))
	if s.Scan() || s.Err() == nil {
		t.Fatal("Scan accepted a truncated command")
	}
	if len(s.buf) > 4*bufferSize {
		t.Errorf("the buffer for an input of 26 bytes has %d bytes, want at most %d", len(s.buf), 4*bufferSize)
	}
	big := encode(t, []any{"SET", "a", strings.Repeat("x", 8<<20)}, []any{"SET", "b", 1}, []any{"SET", "c", strings.Repeat("x", bufferSize)}, []any{"PING"})
	s = NewScanner(bytes.NewReader(big))
	n := 0
	for s.Scan() {
		n++
	}
	if n != 4 || s.Err() != nil || len(s.buf) > keepBuffer {
		t.Errorf("%d commands, %v, a buffer of %d bytes; want 4 and at most %d bytes", n, s.Err(), len(s.buf), keepBuffer)
	}
}

// slowScan is a naive Scanner for a complete input. It returns the commands before the first
// invalid command, and whether all commands are valid.
func slowScan(b []byte) (found []string, ok bool) {
	line := func(kind byte, limit int) (int, bool) {
		i := bytes.Index(b, []byte("\r\n"))
		if i < 2 || b[0] != kind {
			return 0, false
		}
		n := 0
		for _, d := range b[1:i] {
			if d < '0' || d > '9' || n > limit {
				return 0, false
			}
			n = n*10 + int(d-'0')
		}
		if n > limit || i > 2 && b[1] == '0' {
			return 0, false
		}
		b = b[i+2:]
		return n, true
	}
	for {
		switch {
		case len(b) == 0:
			return found, true
		case b[0] == '\n':
			b = b[1:]
			continue
		case bytes.HasPrefix(b, []byte("\r\n")):
			b = b[2:]
			continue
		case b[0] == '#':
			end := bytes.IndexByte(b, '\n')
			if end < 0 || end >= maxAnnotation {
				return found, false
			}
			b = b[end+1:]
			continue
		}
		n, ok := line('*', maxArgs)
		if !ok {
			return found, false
		}
		var args []string
		for range n {
			size, ok := line('$', maxLen)
			if !ok || len(b) < size+2 || string(b[size:size+2]) != "\r\n" {
				return found, false
			}
			args = append(args, string(b[:size]))
			b = b[size+2:]
		}
		if n > 0 {
			found = append(found, strings.Join(args, "|"))
		}
	}
}

// FuzzScanner compares Scanner with slowScan.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"", "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$0\r\n\r\n*0\r\n\r\n", "*1\n$4\nPING\n", "*-1\r\n", "*1\r\n$10\r\nPING\r\n"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, input []byte, piece uint8) {
		want, valid := slowScan(bytes.Clone(input))
		got, offsets, err := scanAll(&pieceReader{bytes.NewReader(input), int(piece%7) + 1})
		if fmt.Sprint(got) != fmt.Sprint(want) || (err == nil) != valid {
			t.Fatalf("%q: %q, %v; want %q, %v", input, got, err, want, valid)
		}
		var inputErr *InputError
		if err != nil && (!errors.As(err, &inputErr) || inputErr.Offset < 0 || inputErr.Offset > int64(len(input))) {
			t.Fatalf("%q: %v, want an InputError with an offset in the input", input, err)
		}
		for i, offset := range offsets {
			if input[offset] != '*' || i > 0 && offset <= offsets[i-1] {
				t.Fatalf("%q: command %d has the offset %d, where no command begins", input, i, offset)
			}
		}
	})
}

// pieceReader is a reader that returns at most n bytes per Read.
type pieceReader struct {
	r io.Reader
	n int
}

func (p *pieceReader) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

func TestEncoder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := NewEncoder(&out)
	require.OK(t)(e.Encode("ZADD", []byte("key"), 1.5, int64(-7), uint64(8), true, "", 12, int32(3), uint32(4), uint(5), false, 1e300))
	require.OK(t)(e.Flush())
	got, _, err := scanAll(&out)
	if want := "ZADD|key|1.5|-7|8|1||12|3|4|5|0|1e+300"; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for want, args := range map[string][]any{
		"no name":                          {},
		"argument 1":                       {"SET", nil},
		"has the type struct {}":           {"SET", struct{}{}},
		"has the type []string":            {"SET", []string{"a"}},
		"argument 2 of the command is NaN": {"ZADD", "key", math.NaN(), "a"},
	} {
		if err := e.Encode(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Encode(%v): %v, want an error with %q", args, err, want)
		}
	}
	if err := e.Flush(); err != nil || out.Len() != 0 {
		t.Errorf("rejected commands left %d bytes, %v; want none", out.Len(), err)
	}
}

func TestEncoderFails(t *testing.T) {
	t.Parallel()
	e := NewEncoder(errWriter{})
	for e.Encode("SET", "key", "value") == nil {
	}
	if e.Flush() == nil || e.Encode("PING") == nil {
		t.Error("Flush or Encode succeeded after a write error")
	}
}

// errWriter is a writer that always fails.
type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestNoAllocations(t *testing.T) {
	e := NewEncoder(io.Discard)
	key, value := []byte("key"), "value"
	if n := testing.AllocsPerRun(1000, func() { _ = e.Encode("SET", key, value, 12345, 1.25) }); n > 0 {
		t.Errorf("Encode allocates %v times, want 0", n)
	}
	input := bytes.Repeat(encode(t, []any{"SET", "key", "value"}), 10_000)
	s := NewScanner(bytes.NewReader(input))
	if n := testing.AllocsPerRun(5000, func() { s.Scan() }); n > 0 {
		t.Errorf("Scan allocates %v times, want 0", n)
	}
}

func BenchmarkScanner(b *testing.B) {
	input := bytes.Repeat(mustEncode("SET", "Key1234567", "Value1234567"), 20_000)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewScanner(bytes.NewReader(input))
		for s.Scan() {
		}
	}
}

func BenchmarkEncoder(b *testing.B) {
	e := NewEncoder(io.Discard)
	b.SetBytes(int64(len(mustEncode("SET", "Key1234567", "Value1234567"))))
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Encode("SET", "Key1234567", "Value1234567")
	}
}

// encode returns commands in the protocol.
func encode(t *testing.T, commands ...[]any) []byte {
	t.Helper()
	var out bytes.Buffer
	e := NewEncoder(&out)
	for _, c := range commands {
		require.OK(t)(e.Encode(c...))
	}
	require.OK(t)(e.Flush())
	return out.Bytes()
}

// mustEncode returns a command in the protocol. It panics if the command cannot be encoded.
func mustEncode(args ...any) []byte {
	var out bytes.Buffer
	e := NewEncoder(&out)
	if err := errors.Join(e.Encode(args...), e.Flush()); err != nil {
		panic(err)
	}
	return out.Bytes()
}
