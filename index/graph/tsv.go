package graph

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParseTSV parses a line of tab-separated values: subject, predicate and object. In a name, \t,
// \n, \r and \\ are a tab, a line feed, a carriage return and a backslash. For an invalid line,
// ParseTSV returns an index.ErrValue.
func ParseTSV(line string) (Triple, error) {
	parts := strings.SplitN(line, "\t", 5)
	if len(parts) != 3 {
		found := fmt.Sprintf("%d parts", len(parts))
		switch len(parts) {
		case 1:
			found = "1 part"
		case 5:
			found = "5 or more parts"
		}
		return Triple{}, &syntaxError{Text: "expected subject, tab, predicate, tab, object; found " + found}
	}
	var t Triple
	column := 1
	for i, part := range parts {
		name, at := unescapeTSV(part)
		if at >= 0 {
			return Triple{}, &syntaxError{Column: column + utf8.RuneCountInString(part[:at]), Text: `write a backslash as \\; the other escapes are \t, \n and \r`}
		}
		if problem := nameError(i, name); problem != "" {
			return Triple{}, &syntaxError{Column: column, Text: problem}
		}
		t.set("spo"[i], name)
		column += utf8.RuneCountInString(part) + 1
	}
	return t, nil
}

// unescapeTSV is the inverse of escapeTSV. invalid is the position of an unknown escape, or -1.
func unescapeTSV(text string) (name string, invalid int) {
	if strings.IndexByte(text, '\\') < 0 {
		return text, -1
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) || strings.IndexByte(`tnr\`, text[i]) < 0 {
			return "", i - 1
		}
		out.WriteByte("\t\n\r\\"[strings.IndexByte(`tnr\`, text[i])])
	}
	return out.String(), -1
}

var escapeTSV = strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`, `\`, `\\`)

// TSV formats the triple as a line for ParseTSV, without a line feed.
func (t Triple) TSV() string {
	return escapeTSV.Replace(t.S) + "\t" + escapeTSV.Replace(t.P) + "\t" + escapeTSV.Replace(t.O)
}
