package takeout

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeJSON writes a table as an array of objects, one per line.
func writeJSON(ctx context.Context, w io.Writer, t table) error {
	out := bufio.NewWriter(w)
	separator := "[\n"
	err := t.rows(ctx, func(row ...any) error {
		out.WriteString(separator) // Flush returns an error
		separator = ",\n"
		for i, value := range row {
			open := ", "
			if i == 0 {
				open = "{"
			}
			text, err := json.Marshal(jsonValue(value))
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s%q: %s", open, t.columns[i], text)
		}
		_, err := out.WriteString("}")
		return err
	})
	if err != nil {
		return err
	}
	if separator == "[\n" {
		out.WriteString("[")
	}
	out.WriteString("\n]\n")
	return out.Flush()
}

func jsonValue(value any) any {
	switch v := value.(type) {
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.Format(time.RFC3339)
	case []string:
		if v == nil {
			return []string{}
		}
	}
	return value
}

// writeCSV writes a table as specified by RFC 4180.
func writeCSV(ctx context.Context, w io.Writer, t table) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(t.columns); err != nil {
		return err
	}
	err := t.rows(ctx, func(row ...any) error {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = cell(value)
		}
		return out.Write(cells)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func cell(value any) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return escapeFormula(v)
	case time.Time:
		if !v.IsZero() {
			return v.Format(time.RFC3339)
		}
	case []string:
		return escapeFormula(strings.Join(v, " "))
	}
	return ""
}

// escapeFormula returns a text that no spreadsheet takes for a formula: it puts an apostrophe in
// front of a text that starts like a formula. Source: OWASP, CSV Injection.
func escapeFormula(text string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, " "))
	switch first {
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return "'" + text
	}
	return text
}
