package shell

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 users", 1: "1 user", 2: "2 users", -1: "-1 users"} {
		if got := Plural(n, "user", "users"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
}

// A text that contains control characters is quoted.
func TestForTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"room 56":       "room 56",
		"Čapek 🙂":       "Čapek 🙂",
		"":              "",
		"\x1b[2J":       `"\x1b[2J"`,
		"a\nb":          `"a\nb"`,
		"\xff":          `"\xff"`,
		"\u202etxt.exe": `"\u202etxt.exe"`,
	} {
		if got := ForTerminal(text); got != want {
			t.Errorf("ForTerminal(%q) = %s, want %s", text, got, want)
		}
	}
}

// Texts that are not valid UTF-8 are encoded in base64 at every level.
func TestNonUTF8Text(t *testing.T) {
	t.Parallel()
	o := Object{{"id", "caf\xe9"}, {"all", []string{"é<", "\xff"}}, {"in", Object{{"s", Text("\xff")}}}}
	var out strings.Builder
	if err := NewEncoder(&out).Encode(o); err != nil {
		t.Fatal(err)
	}
	if want := `{"id":{"base64":"Y2Fm6Q=="},"all":["é<",{"base64":"/w=="}],"in":{"s":{"base64":"/w=="}}}` + "\n"; out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
	for value, want := range map[string]string{`{"base64":"Y2Fm6Q=="}`: "caf\xe9", `{"base64":""}`: "", `"é"`: "é"} {
		if got, err := fieldText(json.RawMessage(value)); err != nil || got != want {
			t.Errorf("fieldText(%s) = %q, %v; want %q", value, got, err, want)
		}
	}
	for _, value := range []string{`{"base64":"?"}`, `{"text":"a"}`, `{"base64":null}`} {
		if got, err := fieldText(json.RawMessage(value)); err == nil {
			t.Errorf("fieldText(%s) = %q, want an error", value, got)
		}
	}
}

// The fields of an object keep their order at every level.
func TestObject(t *testing.T) {
	t.Parallel()
	o := Object{{"z", 1}, {"a", Object{}}, {"<b>", []string{"x&y"}}, {"c", Object{{"d", nil}}}}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"z":1,"a":{},"\u003cb\u003e":["x\u0026y"],"c":{"d":null}}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	if _, err := json.Marshal(Object{{"f", math.NaN()}}); err == nil {
		t.Error("no error for a value that JSON cannot represent")
	}
}
