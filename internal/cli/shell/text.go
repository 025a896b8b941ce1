package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func AppendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // never: these are numbers and texts
		return append(b, "null"...)
	}
	return append(b, text...)
}

// Thousands writes a number for people: 1,234,567.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}

func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// NewEncoder writes JSON a line at a time, as it is.
func NewEncoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

// ForTerminal quotes a text that could do something else to a terminal than be
// read.
func ForTerminal(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(text)
	}
	return text
}

func PrintNumber(out io.Writer, asJSON bool, name string, n int64) (err error) {
	if asJSON {
		_, err = fmt.Fprintf(out, "{%q:%d}\n", name, n)
	} else {
		_, err = fmt.Fprintf(out, "%s: %d\n", name, n)
	}
	return err
}
