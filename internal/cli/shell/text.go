package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Thousands formats a number with thousands separators: 1,234,567.
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

// Plural returns "1 key" or "2 keys".
func Plural[N ~int | ~int64](n N, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return strconv.FormatInt(int64(n), 10) + " " + plural
}

// ForTerminal quotes a text that contains control or other non-graphic characters.
func ForTerminal(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// NewEncoder returns an encoder that does not escape <, > and &.
func NewEncoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

// Text is a string that is encoded in JSON as is, or as {"base64":"Y2Fm6Q=="} if it is not UTF-8,
// which JSON cannot represent.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		var out bytes.Buffer
		err := NewEncoder(&out).Encode(string(t))
		return out.Bytes(), err
	}
	return json.Marshal(struct {
		Base64 []byte `json:"base64"`
	}{[]byte(t)})
}

// Texts converts strings to Text.
func Texts(all []string) []Text {
	texts := make([]Text, len(all))
	for i, s := range all {
		texts[i] = Text(s)
	}
	return texts
}

// Object is a JSON object that keeps the order of its fields. String values are encoded as Text.
type Object []Field

// Field is a field of a JSON object.
type Field struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := NewEncoder(&out)
	for i, f := range o {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		out.WriteByte(separator)
		if err := e.Encode(f.Name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		value := f.Value
		switch v := value.(type) {
		case string:
			value = Text(v)
		case []string:
			value = Texts(v)
		}
		if err := e.Encode(value); err != nil {
			return nil, err
		}
	}
	if len(o) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil // compacting removes the newlines of Encode
}
