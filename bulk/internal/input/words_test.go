package input

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"retwis/bulk/resp"
)

// slowWords splits a line into words as redis-cli does: a word is a sequence of non-blank
// characters, or has a quoted part, which ends the word.
func slowWords(line string) (words []string, ok bool) {
	const blanks, ends = " \t\n\v\f\r\x00", " \t\n\r\x00"
	for {
		line = strings.TrimLeft(line, blanks)
		if line == "" {
			return words, true
		}
		var word []byte
		for line != "" && !strings.Contains(ends, line[:1]) {
			if line[0] != '"' && line[0] != '\'' {
				word, line = append(word, line[0]), line[1:]
				continue
			}
			quote := line[0]
			line = line[1:]
			for {
				if line == "" {
					return nil, false
				}
				if line[0] == quote {
					line = line[1:]
					break
				}
				var h, l int
				switch {
				case quote == '\'' && strings.HasPrefix(line, `\'`):
					word, line = append(word, '\''), line[2:]
				case quote == '"' && len(line) >= 4 && line[:2] == `\x` && scanHex(line[2:4], &h, &l):
					word, line = append(word, byte(h*16+l)), line[4:]
				case quote == '"' && len(line) >= 2 && line[0] == '\\':
					c := line[1]
					if at := strings.IndexByte("nrtba", c); at >= 0 {
						c = "\n\r\t\b\a"[at]
					}
					word, line = append(word, c), line[2:]
				default:
					word, line = append(word, line[0]), line[1:]
				}
			}
			if line != "" && !strings.Contains(blanks, line[:1]) {
				return nil, false
			}
			break
		}
		words = append(words, string(word))
	}
}

// scanHex parses two hexadecimal digits.
func scanHex(digits string, high, low *int) bool {
	const hexDigits = "0123456789abcdef"
	*high, *low = strings.IndexByte(hexDigits, digits[0]|0x20), strings.IndexByte(hexDigits, digits[1]|0x20)
	if digits[0] <= '9' {
		*high = strings.IndexByte(hexDigits[:10], digits[0])
	}
	if digits[1] <= '9' {
		*low = strings.IndexByte(hexDigits[:10], digits[1])
	}
	return *high >= 0 && *low >= 0
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{"SET a b", `SET "a\x00\n" 'it\'s'`, `"a"b`, `"`, `a"b c"`, `\x41 "\x4"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var s splitter
		got, err := s.split(bytes.Clone(line))
		want, ok := slowWords(string(line))
		if (err == nil) != ok {
			t.Fatalf("%q: %q, %v; want %q, %v", line, got, err, want, ok)
		}
		var quoted []byte
		for i, w := range got {
			if i >= len(want) || string(w) != want[i] {
				t.Fatalf("%q: %q, want %q", line, got, want)
			}
			quoted = append(resp.AppendQuoted(quoted, w), ' ')
		}
		again, err := s.split(quoted)
		if err != nil || fmt.Sprintf("%q", again) != fmt.Sprintf("%q", want) && len(want) > 0 {
			t.Fatalf("%q, quoted as %s: %q, %v; want %q", line, quoted, again, err, want)
		}
	})
}
