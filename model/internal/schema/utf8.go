package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// checkText returns an error if package encoding/json has replaced invalid UTF-8 in a value,
// which would lose data.
func checkText(value reflect.Value, written []byte) error {
	if !utf8.Valid(written) {
		return errNotUTF8("it")
	}
	if !bytes.ContainsRune(written, utf8.RuneError) && !bytes.Contains(written, []byte(`\ufffd`)) {
		return nil
	}
	if bad, found := (&textSearch{}).in(value); found {
		return errNotUTF8(fmt.Sprintf("%q", Shorten(bad)))
	}
	return nil // the value itself contains the replacement character
}

// errNotUTF8 returns the error for a text that is not valid UTF-8.
func errNotUTF8(what string) error {
	return fmt.Errorf("%s is not UTF-8, as text in lists, maps and structs must be: convert it, or use []byte", what)
}

// textSearch searches a value for invalid UTF-8 in the parts that encoding/json writes.
type textSearch struct{ seen map[uintptr]bool }

// in returns the first text in a value that is not valid UTF-8.
func (s *textSearch) in(v reflect.Value) (bad string, found bool) {
	if text, ok := ownText(v); ok {
		return text, !utf8.ValidString(text)
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Interface:
		return s.in(v.Elem())
	case reflect.Pointer:
		if s.seen[v.Pointer()] || v.IsNil() {
			return "", false
		}
		if s.seen == nil {
			s.seen = map[uintptr]bool{}
		}
		s.seen[v.Pointer()] = true
		return s.in(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && !found && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			bad, found = s.in(v.Index(i))
		}
	case reflect.Map:
		for iter := v.MapRange(); !found && iter.Next(); {
			if bad, found = s.in(iter.Key()); !found {
				bad, found = s.in(iter.Value())
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !found; i++ {
			if f := v.Type().Field(i); (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				bad, found = s.in(v.Field(i))
			}
		}
	}
	return bad, found
}

// ownText returns the text of a value that marshals itself as text.
func ownText(v reflect.Value) (string, bool) {
	if !v.IsValid() || !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	if v.CanAddr() {
		v = v.Addr()
	}
	writer, ok := v.Interface().(encoding.TextMarshaler)
	if _, marshalsJSON := v.Interface().(json.Marshaler); !ok || marshalsJSON {
		return "", false
	}
	text, err := writer.MarshalText()
	return string(text), err == nil
}

// unmarshalJSON decodes stored JSON. It refuses invalid UTF-8, which would otherwise be
// replaced.
func unmarshalJSON(text string, into any) error {
	if !utf8.ValidString(text) {
		return errors.New("it has bytes that are not UTF-8")
	}
	return json.Unmarshal([]byte(text), into)
}
