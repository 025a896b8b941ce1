package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"retwis/index/decimal"
)

// Text is the stored text of a field. OK is false for a field that is not stored.
type Text struct {
	Value string
	OK    bool
}

// codec converts the Go values of a field to text and back.
type codec struct {
	Kind    kind
	element kind // kind of the elements of an indexable list
	Bits    int  // size of a signed integer
	encode  func(v reflect.Value) (Text, error)
	Decode  func(v reflect.Value, s string) error // v must be zero
	Target  reflect.Type                          // target of a Ref or a list of Refs
}

// zero returns the stored form of the zero value of the type, or nil if it is not stored. A
// type with its own marshaler may refuse it.
func (c *codec) zero(t reflect.Type) (zero *string) {
	defer func() {
		if recover() != nil {
			zero = nil
		}
	}()
	stored, err := c.encode(reflect.New(t).Elem())
	if err != nil || !stored.OK {
		return nil
	}
	return &stored.Value
}

// Types identifies the field types of package model.
type Types struct {
	Collection func(t reflect.Type) string       // "set", "list" or ""
	Target     func(t reflect.Type) reflect.Type // target of a Ref; nil for other types
	Prefixed   func(t reflect.Type) bool         // whether the text of a type starts with what programs search for
}

// hasOrder reports whether the index of a field can be ordered. For most types that marshal
// themselves, the text does not sort as the values do.
func (y Types) hasOrder(t reflect.Type, c *codec) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && c.Kind == KindJSON {
		return y.hasOrder(t.Elem(), c)
	}
	own, err := y.marshalerCodec(t)
	return err != nil || own.Kind == "" || own.Kind == kindDecimal || own.Target != nil || t == reflect.TypeFor[time.Time]() ||
		t.Kind() == reflect.String || y.Prefixed(t)
}

// codecOf returns the codec of a Go type, or an error.
func (y Types) codecOf(t reflect.Type, unix bool) (codec, error) {
	if endless(t) {
		return codec{}, fmt.Errorf("a %s cannot be stored: it contains only itself", t)
	}
	if unix && t != reflect.TypeFor[time.Time]() {
		return codec{}, fmt.Errorf("unix is for a time.Time, not %s", t)
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		if unix {
			return unixCodec(), nil
		}
		return timeCodec(), nil
	case reflect.TypeFor[time.Duration]():
		return durationCodec(), nil
	}
	if c, err := y.marshalerCodec(t); err != nil || c.Kind != "" {
		return c, err
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !writesJSON(t) && !writesJSON(t.Elem()) {
		return bytesCodec(), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return y.pointerCodec(t)
	case reflect.String:
		return codec{
			Kind:   KindString,
			encode: func(v reflect.Value) (Text, error) { return Text{Value: v.String(), OK: true}, nil },
			Decode: func(v reflect.Value, s string) error { v.SetString(s); return nil },
		}, nil
	case reflect.Bool:
		return boolCodec(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec(t), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintCodec(t), nil
	case reflect.Float32, reflect.Float64:
		return floatCodec(t), nil
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return y.jsonCodec(t)
	}
	return codec{}, fmt.Errorf("a %s cannot be stored: use strings, numbers, bools, times, []byte, slices, maps, structs, pointers to these, or a type that marshals itself", t)
}

// endless reports whether a type contains only lists of itself or pointers to itself.
func endless(t reflect.Type) bool {
	var seen []reflect.Type
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Pointer {
		if slices.Contains(seen, t) {
			return true
		}
		seen = append(seen, t)
		t = t.Elem()
	}
	return false
}

// writesJSON reports whether a type has its own MarshalJSON, so that its JSON need not be a
// list.
func writesJSON(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

func boolCodec() codec {
	return codec{
		Kind:   kindBool,
		encode: func(v reflect.Value) (Text, error) { return Text{Value: boolText(v.Bool()), OK: true}, nil },
		Decode: func(v reflect.Value, s string) error {
			b, err := strconv.ParseBool(s)
			v.SetBool(b)
			return parseError(err, s, "1 or 0")
		},
	}
}

func intCodec(t reflect.Type) codec {
	bits := t.Bits()
	return codec{
		Kind:   kindInt,
		Bits:   bits,
		encode: func(v reflect.Value) (Text, error) { return Text{Value: strconv.FormatInt(v.Int(), 10), OK: true}, nil },
		Decode: func(v reflect.Value, s string) error {
			n, err := strconv.ParseInt(s, 10, bits)
			v.SetInt(n)
			return parseError(err, s, fmt.Sprintf("an integer of %d bits", bits))
		},
	}
}

func uintCodec(t reflect.Type) codec {
	bits := t.Bits()
	return codec{
		Kind: kindUint,
		encode: func(v reflect.Value) (Text, error) {
			return Text{Value: strconv.FormatUint(v.Uint(), 10), OK: true}, nil
		},
		Decode: func(v reflect.Value, s string) error {
			n, err := strconv.ParseUint(s, 10, bits)
			v.SetUint(n)
			return parseError(err, s, fmt.Sprintf("an unsigned integer of %d bits", bits))
		},
	}
}

func floatCodec(t reflect.Type) codec {
	bits := t.Bits()
	return codec{
		Kind: kindFloat,
		encode: func(v reflect.Value) (Text, error) {
			f := v.Float()
			switch {
			case math.IsNaN(f) || math.IsInf(f, 0):
				return Text{}, fmt.Errorf("%v cannot be stored", f)
			case f == 0:
				f = 0 // drop the sign of -0
			}
			return Text{Value: strconv.FormatFloat(f, 'g', -1, bits), OK: true}, nil
		},
		Decode: func(v reflect.Value, s string) error {
			f, err := strconv.ParseFloat(s, bits)
			v.SetFloat(f)
			return parseError(err, s, "a number")
		},
	}
}

// parseError replaces an error of strconv or time by an error that names the expected format.
func parseError(err error, s, want string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not %s", Shorten(s), want)
}

func timeCodec() codec {
	return codec{
		Kind: kindTime,
		encode: func(v reflect.Value) (Text, error) {
			t := *v.Addr().Interface().(*time.Time)
			if t.IsZero() {
				return Text{}, nil
			}
			if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
				return Text{}, fmt.Errorf("the year %d is not within 0 and 9999", t.Year())
			}
			return Text{Value: t.Format(time.RFC3339Nano), OK: true}, nil
		},
		Decode: func(v reflect.Value, s string) error {
			t, err := time.Parse(time.RFC3339Nano, s)
			*v.Addr().Interface().(*time.Time) = t.UTC()
			return parseError(err, s, "a time such as 2026-11-21T10:00:00Z")
		},
	}
}

func unixCodec() codec {
	return codec{
		Kind: kindUnix,
		encode: func(v reflect.Value) (Text, error) {
			t := *v.Addr().Interface().(*time.Time)
			if t.IsZero() {
				return Text{}, nil
			}
			return Text{Value: strconv.FormatInt(t.Unix(), 10), OK: true}, nil
		},
		Decode: func(v reflect.Value, s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			*v.Addr().Interface().(*time.Time) = time.Unix(n, 0).UTC()
			return parseError(err, s, "seconds since 1970")
		},
	}
}

func durationCodec() codec {
	return codec{
		Kind: kindDuration,
		encode: func(v reflect.Value) (Text, error) {
			return Text{Value: time.Duration(v.Int()).String(), OK: true}, nil
		},
		Decode: func(v reflect.Value, s string) error {
			d, err := time.ParseDuration(s)
			v.SetInt(int64(d))
			return parseError(err, s, "a duration such as 1h30m")
		},
	}
}

func bytesCodec() codec {
	return codec{
		Kind:   kindBytes,
		encode: func(v reflect.Value) (Text, error) { return Text{Value: string(v.Bytes()), OK: !v.IsNil()}, nil },
		Decode: func(v reflect.Value, s string) error { v.SetBytes([]byte(s)); return nil },
	}
}

// pointerCodec stores nil as an absent field.
func (y Types) pointerCodec(t reflect.Type) (codec, error) {
	c, err := y.codecOf(t.Elem(), false)
	if err != nil {
		return c, err
	}
	if t.Elem().Kind() == reflect.Pointer {
		return c, fmt.Errorf("a %s cannot be stored: one pointer is enough", t)
	}
	encode, decode := c.encode, c.Decode
	c.encode = func(v reflect.Value) (Text, error) {
		if v.IsNil() {
			return Text{}, nil
		}
		return encode(v.Elem())
	}
	c.Decode = func(v reflect.Value, s string) error {
		v.Set(reflect.New(t.Elem()))
		return decode(v.Elem(), s)
	}
	return c, nil
}

// marshalerCodec returns the codec of a type that marshals itself. For other types, the kind of
// the codec is "".
func (y Types) marshalerCodec(t reflect.Type) (codec, error) {
	p := reflect.PointerTo(t)
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return codec{}, nil
	}
	type (
		toText    = encoding.TextMarshaler
		fromText  = encoding.TextUnmarshaler
		toBytes   = encoding.BinaryMarshaler
		fromBytes = encoding.BinaryUnmarshaler
	)
	checkPair := func(to, from bool, what string) error {
		if to != from {
			return fmt.Errorf("%s has only one of Marshal%s and Unmarshal%s", t, what, what)
		}
		return nil
	}
	writesText, readsText := p.Implements(reflect.TypeFor[toText]()), p.Implements(reflect.TypeFor[fromText]())
	writesBytes, readsBytes := p.Implements(reflect.TypeFor[toBytes]()), p.Implements(reflect.TypeFor[fromBytes]())
	c := codec{}
	switch {
	case writesText && readsText:
		if c.Kind = KindString; t == reflect.TypeFor[decimal.Decimal]() {
			c.Kind = kindDecimal
		}
		c.encode = func(v reflect.Value) (Text, error) {
			b, err := v.Addr().Interface().(toText).MarshalText()
			if err != nil || isZero(v) {
				return Text{}, err
			}
			return Text{Value: string(b), OK: true}, nil
		}
		c.Decode = func(v reflect.Value, s string) error { return v.Addr().Interface().(fromText).UnmarshalText([]byte(s)) }
	case writesBytes && readsBytes:
		c.Kind = kindBytes
		c.encode = func(v reflect.Value) (Text, error) {
			b, err := v.Addr().Interface().(toBytes).MarshalBinary()
			if err != nil || isZero(v) {
				return Text{}, err
			}
			return Text{Value: string(b), OK: true}, nil
		}
		c.Decode = func(v reflect.Value, s string) error {
			return v.Addr().Interface().(fromBytes).UnmarshalBinary([]byte(s))
		}
	default:
		return c, errors.Join(checkPair(writesText, readsText, "Text"), checkPair(writesBytes, readsBytes, "Binary"))
	}
	c.Target = y.Target(t)
	return c, nil
}

// isZero reports whether a value with an IsZero method is zero, and so is not stored.
func isZero(v reflect.Value) bool {
	z, ok := v.Addr().Interface().(interface{ IsZero() bool })
	return ok && z.IsZero()
}

// jsonCodec stores slices, maps and structs as JSON. A nil slice or map is not stored.
func (y Types) jsonCodec(t reflect.Type) (codec, error) {
	if _, err := json.Marshal(reflect.Zero(t).Interface()); err != nil {
		return codec{}, err
	}
	c := codec{
		Kind: KindJSON,
		encode: func(v reflect.Value) (Text, error) {
			if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
				return Text{}, nil
			}
			b, err := marshalJSON(v)
			return Text{Value: string(b), OK: err == nil}, err
		},
		Decode: func(v reflect.Value, s string) error {
			if err := unmarshalJSON(s, v.Addr().Interface()); err != nil {
				return fmt.Errorf("%q is not the JSON of a %s: %w", Shorten(s), t, err)
			}
			return nil
		},
	}
	if (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !writesJSON(t) {
		e, err := y.codecOf(t.Elem(), false)
		if err != nil {
			return c, fmt.Errorf("element: %w", err)
		}
		c.element, c.Target = elementKind(t.Elem(), e), e.Target
	}
	return c, nil
}

// elementKind returns the kind of an element as written by encoding/json, or "" if it cannot be
// indexed.
func elementKind(t reflect.Type, e codec) kind {
	switch {
	case t.Kind() == reflect.Pointer, e.Kind == kindBytes, e.Kind == KindJSON:
		return ""
	case e.Kind == kindDuration:
		return kindInt
	case writesJSON(t) && e.Kind != kindTime:
		return ""
	}
	return e.Kind
}

// marshalJSON encodes an addressable value as JSON, without HTML escapes.
func marshalJSON(v reflect.Value) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Addr().Interface()); err != nil {
		return nil, err
	}
	written := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return written, checkText(v, written)
}
