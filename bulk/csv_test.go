package bulk

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestCSVPlaces(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"id,n\n1,\"a\n\nb\"\n2,\"b\n3,c\n4,d\n": "line 5: the record goes on to line 7, column 5: extraneous or missing \" in quoted-field: is a quote left open?",
		"id,n\n1,a\n2,\"b\n3,\"c\"\n":           "line 3: the record goes on to line 4, column 3: ",
		"id,n\n1,a\"b\n":                        "line 2: column 4: bare",
		"id,n\n1,\"a\nb\"\n2\n":                 "line 4: there are 1 fields",
		"id,n\n1,\"a\nb\nc\"\n2,\"" + strings.Repeat("line\n", maxRecord/4): "line 5: the record is longer",
	} {
		_, _, err := emitted(input, Options{Format: CSV, Do: templates(t, "SET {id} {n}")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, expected %q", input, err, want)
		}
	}
}

// TestGoOn ends after each command that a load may go on behind, and expects the same
// commands from the same places as without the break.
func TestGoOn(t *testing.T) {
	t.Parallel()
	do := templates(t, "SET {id} {n}", "SADD numbers {#}")
	skip := []string{"n"}
	for name, test := range map[string]struct {
		input string
		open  func(r io.Reader, start position) (source, error)
		ends  int
	}{
		"csv": {
			"\xef\xbb\xbfid,n\r\n1,\"a\r\nb\"\r\n\r\n2,\"c\n\n\"\n\"3\n\",d\n4,\n5,x\n\n\n6,\"y\n\"",
			func(r io.Reader, start position) (source, error) {
				var columns []string
				if start.Offset > 0 {
					columns = []string{"id", "n"}
				}
				return newCSV(r, ',', columns, do, skip, start)
			}, 5,
		},
		"json": {
			"\xef\xbb\xbf{\"id\":1,\"n\":2}\n\n{\"id\":3}\r\n{\"id\":1,\"n\":2}\n  \n{\"id\":1,\"n\":4}",
			func(r io.Reader, start position) (source, error) { return newJSON(r, do, skip, start), nil }, 3,
		},
		"commands": {
			"\xef\xbb\xbfSET a b\r\n\n\x00\nSET c d\n \n\nGET x",
			func(r io.Reader, start position) (source, error) { return newLines(r, start, false), nil }, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(start position) (found []string, ends map[int]position) {
				s, err := test.open(strings.NewReader(test.input[start.Offset:]), start)
				if err != nil {
					t.Fatal(err)
				}
				ends = map[int]position{}
				for f := new(Frame); ; {
					at, err := s.next(f)
					if errors.Is(err, io.EOF) {
						return found, ends
					}
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, fmt.Sprintf("%+v %q", at, f.Raw()))
					if end, ok := s.end(); ok {
						ends[len(found)] = end
					}
				}
			}
			found, ends := read(position{})
			if len(ends) != test.ends {
				t.Errorf("%d ends, expected %d: %q", len(ends), test.ends, found)
			}
			for n, end := range ends {
				if rest, _ := read(end); strings.Join(rest, "\n") != strings.Join(found[n:], "\n") {
					t.Errorf("from %+v: %q, expected %q", end, rest, found[n:])
				}
			}
		})
	}
}
