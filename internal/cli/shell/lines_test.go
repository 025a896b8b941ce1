package shell

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// readAll reads lines from standard input and returns them with the output.
func readAll(t *testing.T, stdin io.Reader) (lines []string, output string, err error) {
	t.Helper()
	var out bytes.Buffer
	c := New(Env{Stdin: stdin, Stdout: &out, Stderr: &out}, &cobra.Command{})
	c.SetContext(t.Context())
	in, err := c.OpenInputs(nil, "lines")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for line, err := range Lines(in, func(line string) (string, error) {
		if strings.Contains(line, "bad") {
			return "", errors.New("it is bad")
		}
		return line, nil
	}) {
		if err != nil {
			return lines, out.String(), err
		}
		lines = append(lines, line)
	}
	err = in.Report()
	return lines, out.String(), err
}

func TestLines(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", maxLine)
	for name, test := range map[string]struct {
		stdin  string
		lines  []string
		output string
	}{
		"none":                 {"", nil, "lines: 0, bad: 0\n"},
		"no line break at end": {"a\nb", []string{"a", "b"}, "lines: 2, bad: 0\n"},
		"CR LF and a BOM":      {"\ufeffa\r\n\r\nb\r\n", []string{"a", "b"}, "lines: 2, bad: 0\n"},
		"CR within a line":     {"a\rb\n\ufeffc", []string{"a\rb", "\ufeffc"}, "lines: 2, bad: 0\n"},
		"empty lines":          {"\n\n a \n\n", []string{" a "}, "lines: 1, bad: 0\n"},
		"bad lines":            {"a\nbad\nb\n", []string{"a", "b"}, "stdin:2: it is bad\nlines: 2, bad: 1\n"},
		"longest lines":        {longest + "\r\n" + longest + "\n" + longest, []string{longest, longest, longest}, "lines: 3, bad: 0\n"},
		"too long":             {longest + "y\na\n" + longest + longest + longest + "\nb\n" + longest + "yz", []string{"a", "b"}, "stdin:1: the line is longer than 65536 bytes\nstdin:3: the line is longer than 65536 bytes\nstdin:5: the line is longer than 65536 bytes\nlines: 2, bad: 3\n"},
	} {
		lines, output, err := readAll(t, strings.NewReader(test.stdin))
		if strings.Join(lines, "|") != strings.Join(test.lines, "|") || output != test.output || (err != nil) != strings.Contains(test.output, "stdin") {
			t.Errorf("%s: %d lines, output %q, error %v; want %d lines, output %q", name, len(lines), output, err, len(test.lines), test.output)
		}
	}
}

// A read error is returned after the preceding lines.
func TestLinesOfBrokenFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	lines, _, err := readAll(t, io.MultiReader(strings.NewReader("a\nb"), errorReader{broken}))
	if strings.Join(lines, "") != "a" || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "stdin:2: ") {
		t.Errorf("lines %q, error %v; want a, broken", lines, err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
