package input

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"retwis/bulk/resp"
	"retwis/internal/require"
)

// TestResume resumes at each Position where a load can resume, and expects the commands and
// positions of an uninterrupted read.
func TestResume(t *testing.T) {
	t.Parallel()
	var do []*Template
	for _, text := range []string{"SET {id} {n}", "SADD numbers {#}"} {
		parsed, err := ParseTemplate(text)
		require.OK(t)(err)
		do = append(do, parsed)
	}
	opt := Options{Do: do, SkipIfMissing: []string{"n"}}
	for name, test := range map[string]struct {
		input string
		open  func(r io.Reader, start Position) (source, error)
		ends  int
	}{
		"csv": {
			"\xef\xbb\xbfid,n\r\n1,\"a\r\nb\"\r\n\r\n2,\"c\n\n\"\n\"3\n\",d\n4,\n5,x\n\n\n6,\"y\n\"",
			func(r io.Reader, start Position) (source, error) {
				var columns []string
				if start.Offset > 0 {
					columns = []string{"id", "n"}
				}
				return newDelimited(r, false, columns, opt, start)
			}, 5,
		},
		"tsv": {
			"\xef\xbb\xbfid\tn\n1\t\"a\\nb\n2\tc\"\r\n\n3\td",
			func(r io.Reader, start Position) (source, error) {
				var columns []string
				if start.Offset > 0 {
					columns = []string{"id", "n"}
				}
				return newDelimited(r, true, columns, opt, start)
			}, 3,
		},
		"json": {
			"\xef\xbb\xbf{\"id\":1,\"n\":2}\n\n{\"id\":3}\r\n{\"id\":1,\"n\":2}\n  \n{\"id\":1,\"n\":4}",
			func(r io.Reader, start Position) (source, error) {
				return newJSON(newLineReader(r, start), opt, start), nil
			}, 3,
		},
		"array": {
			"\xef\xbb\xbf [{\"id\":1,\n\"n\":2}\n ,\n{\"id\":3}\r\n,{\"id\":1,\"n\":[\"]\\\"\"]},{\"id\":1,\"n\":4\n}\n]\n",
			func(r io.Reader, start Position) (source, error) {
				return newJSON(newArrayReader(r, start), opt, start), nil
			}, 3,
		},
		"commands": {
			"\xef\xbb\xbfSET a b\r\n\n\x00\nSET c d\n \n\nGET x",
			func(r io.Reader, start Position) (source, error) { return newLines(r, start, false), nil }, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(start Position) (found []string, ends map[int]Position) {
				s, err := test.open(strings.NewReader(test.input[start.Offset:]), start)
				require.OK(t)(err)
				ends = map[int]Position{}
				for f := new(resp.Frame); ; {
					position, err := s.Next(f)
					if errors.Is(err, io.EOF) {
						return found, ends
					}
					require.OK(t)(err)
					found = append(found, fmt.Sprintf("%+v %q", position, f.Raw()))
					if end, ok := s.End(); ok {
						ends[len(found)] = end
					}
				}
			}
			found, ends := read(Position{})
			if len(ends) != test.ends {
				t.Errorf("found %d positions to resume at, want %d: %q", len(ends), test.ends, found)
			}
			for n, end := range ends {
				if rest, _ := read(end); strings.Join(rest, "\n") != strings.Join(found[n:], "\n") {
					t.Errorf("from %+v: %q, want %q", end, rest, found[n:])
				}
			}
		})
	}
}
