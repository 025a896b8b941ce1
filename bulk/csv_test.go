package bulk

import (
	"strings"
	"testing"
)

// TestCSVPlaces checks the positions in errors of CSV records that have several lines.
func TestCSVPlaces(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"id,n\n1,\"a\n\nb\"\n2,\"b\n3,c\n4,d\n":                       "line 5: the record continues on line 7, column 5: extraneous or missing \" in quoted-field: is a quote left open?",
		"id,n\n1,a\n2,\"b\n3,\"c\"\n":                                 "line 3: the record continues on line 4, column 3: ",
		"id,n\n1,a\"b\n":                                              "line 2: column 4: bare",
		"id,n\n1,\"a\nb\"\n2\n":                                       "line 4: there are 1 fields",
		"id,n\n1,\"a\nb\nc\"\n2,\"" + strings.Repeat("line\n", 4<<20): "line 5: the record is longer",
	} {
		_, _, err := emitted(input, Options{Format: CSV, Do: []string{"SET {id} {n}"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", input, err, want)
		}
	}
}

// TestDelimitedFields checks that special characters in fields of CSV and TSV are preserved.
func TestDelimitedFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format      Format
		input, want string
	}{
		{TSV, "id\tn\n5\t\"quoted\n6\tCarl\n8\tend\"\n", "SET|5|\"quoted SET|6|Carl SET|8|end\""},
		{TSV, "id\tn\n1\t19\" rack\n", "SET|1|19\" rack"},
		// Output of mysql --batch.
		{TSV, "id\tn\n3\tline\\nbreak\n4\tback\\\\slash C:\\\\new\n2\ta\\tb\\0\n", "SET|3|line\nbreak SET|4|back\\slash C:\\new SET|2|a\tb\x00"},
		{CSV, "id,n\r\n1,\"a\r\nb\"\r\n", "SET|1|a\r\nb"},
		{CSV, "\xef\xbb\xbf\"id\",\"n\"\r\n1,a\r\n", "SET|1|a"},
	} {
		got, _, err := emitted(test.input, Options{Format: test.format, Do: []string{"SET {id} {n}"}})
		if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", test.input, got, err, test.want)
		}
	}
	for input, want := range map[string]string{
		"id\tn\n1\tC:\\data\n": `line 2: column 5: a backslash in TSV is written \\`,
		"id\tn\tn\n1\t2\t3\n":  `line 1: there are two columns "n" among id, n, n`,
		"id\n1\n":              `line 1: there is no column "n"; the columns are id`,
	} {
		if _, _, err := emitted(input, Options{Format: TSV, Do: []string{"SET {id} {n}"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
}
