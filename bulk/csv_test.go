package bulk

import (
	"strings"
	"testing"
)

func TestCSVPlaces(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"id,n\n1,\"a\n\nb\"\n2,\"b\n3,c\n4,d\n":                       "line 5: the record continues on line 7, column 5: extraneous or missing \" in quoted-field: is a quote left open?",
		"id,n\n1,a\n2,\"b\n3,\"c\"\n":                                 "line 3: the record continues on line 4, column 3: ",
		"id,n\n1,a\"b\n":                                              "line 2: column 4: bare",
		"id,n\n1,\"a\nb\"\n2\n":                                       "line 4: there are 1 fields",
		"id,n\n1,\"a\nb\nc\"\n2,\"" + strings.Repeat("line\n", 4<<20): "line 5: the record is longer",
	} {
		_, _, err := emitted(input, Options{Format: CSV, Do: templates(t, "SET {id} {n}")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, expected %q", input, err, want)
		}
	}
}
