package index

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"retwis/internal/require"
)

func TestDeclarations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"room:int,price:decimal(2)":                   "room:int,price:decimal(2)",
		" a:int(4) asc , b:decimal(30, 2) desc ":      "a:int(4),b:decimal(30,2) desc",
		"a:bigint,b:uint(3),c:string desc,d-e_f:time": "a:bigint(256),b:uint(3),c:string desc,d-e_f:time",
		"a:decimal(18,18)":                            "a:decimal(18)",
	} {
		columns, err := ParseColumns(text)
		if err != nil {
			t.Errorf("ParseColumns(%q): %v", text, err)
			continue
		}
		var texts []string
		for _, c := range columns {
			texts = append(texts, c.String())
		}
		if got := strings.Join(texts, ","); got != want {
			t.Errorf("ParseColumns(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                 "write NAME:TYPE",
		"room":             "write NAME:TYPE",
		"room:number":      `"number" is not a type`,
		"id:int":           `"id" is not a name`,
		"a b:int":          `"a b" is not a name`,
		"a:int,b:int(":     "column 2",
		"a:int(x)":         `"x" is not a number`,
		"a:int(20)":        "from 1 to 19 digits",
		"a:int(0)":         "the width is 0",
		"a:string(3)":      "string does not take the parameters (3)",
		"a:decimal(2,3)":   "not (2,3)",
		"a:bigint(7)":      "a multiple of 8",
		"a:int up":         `"up" is not an order`,
		"a:decimal(-1)":    "not (18,-1)",
		"a:decimal(9,2,1)": "does not take",
	} {
		if _, err := ParseColumns(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseColumns(%q): %v, want error with %q", text, err, want)
		}
	}
}

func FuzzParseColumns(f *testing.F) {
	f.Add("room:int,price:decimal(2),name:string desc")
	f.Fuzz(func(t *testing.T, text string) {
		columns, err := ParseColumns(text)
		if err != nil {
			return
		}
		for _, c := range columns {
			reparsed, err := ParseColumns(c.String())
			if err != nil || len(reparsed) != 1 || reparsed[0] != c {
				t.Fatalf("%q: %+v is formatted as %q and parsed as %+v, %v", text, c, c, reparsed, err)
			}
		}
	})
}

// Check refuses values that a column cannot hold or order exactly. The error names the column.
func TestValuesRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column string
		value  any
		want   string
	}{
		{"c:int", "five", `"five" is not an integer`},
		{"c:int", "5.5", "5.5 is not an integer"},
		{"c:int", 5.5, "5.5 is not an integer"},
		{"c:int", uint64(math.MaxUint64), "declare it a uint"},
		{"c:int", time.Second, "it is time.Duration"},
		{"c:int", nil, "it is <nil>"},
		{"c:int(2)", 100, "more than 2 digits"},
		{"c:uint", -1, "negative"},
		{"c:float", math.NaN(), "NaN"},
		{"c:float", 1<<53 + 1, "beyond ±2^53"},
		{"c:decimal(2)", 1.125, "1.125 has more than 2 digits after the point"},
		{"c:decimal(2)", math.Inf(1), "+Inf is not a number"},
		{"c:decimal(2)", "1.234", "1.234 has more than 2 digits after the point"},
		{"c:decimal(4,2)", "100", "more than 2 digits before the point"},
		{"c:decimal(4,2)", 100, "100.00 has more than 2 digits before the point"},
		{"c:decimal(2)", "1e3", "is not a number such as"},
		{"c:decimal(2)", ".", "is not a number such as"},
		{"c:decimal(2)", "--1", "is not a number such as"},
		{"c:bigint(8)", 128, "more than 8 bits"},
		{"c:bigint", "one", `"one" is not an integer`},
		{"c:time", "now", `"now" is not a time`},
		{"c:time", "2026-11-21T10:00:00.1234567899Z", "has more than 9 digits of a second"},
		{"c:time", "2026-11-21T10:00:00.00000000001+02:00", "has more than 9 digits of a second"},
		{"c:time", 1, "not a time.Time"},
		{"c:bool", 1, "not a bool"},
		{"c:string", 1, "not a string"},
	} {
		columns, err := ParseColumns(test.column)
		require.OK(t)(err)
		c, err := NewComposite(offlineClient{}, "k", Options{Columns: columns})
		require.OK(t)(err)
		err = c.Check("1", test.value)
		if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "column c") {
			t.Errorf("%s: Check(%v): %v, want error with %q", test.column, test.value, err, test.want)
		}
	}
}
