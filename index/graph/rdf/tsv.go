package rdf

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseTSV reads a line of TSV. ok is false for an empty line.
func parseTSV(line string) (t Triple, ok bool, err error) {
	if line == "" {
		return t, false, nil
	}
	parts := strings.SplitN(line, "\t", 5)
	if len(parts) != 3 {
		found := fmt.Sprintf("%d parts", len(parts))
		switch len(parts) {
		case 1:
			found = "1 part"
		case 5:
			found = "more"
		}
		return t, false, &SyntaxError{Text: "expected subject, tab, predicate, tab, object; found " + found}
	}
	column := 1
	for i, part := range parts {
		name, at := unescapeTSV(part)
		if at >= 0 {
			return t, false, &SyntaxError{Column: column + utf8.RuneCountInString(part[:at]), Text: `write a backslash as \\; the other escapes are \t, \n and \r`}
		}
		if text := lengthError(i, name); text != "" {
			return t, false, &SyntaxError{Column: column, Text: text}
		}
		*t.part(i) = name
		column += utf8.RuneCountInString(part) + 1
	}
	return t, true, nil
}

// unescapeTSV undoes escapeTSV. invalid is the place of an unknown escape, or -1.
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

func formatTSV(t Triple) (string, error) {
	return escapeTSV.Replace(t.S) + "\t" + escapeTSV.Replace(t.P) + "\t" + escapeTSV.Replace(t.O) + "\n", nil
}
