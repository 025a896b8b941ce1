package schema

import (
	"fmt"
	"reflect"
	"time"

	"retwis/index/decimal"
)

// typedField is the Go type of a field's values in conditions, and its codec.
type typedField struct {
	goType reflect.Type
	codec  codec
}

// Untyped returns a declaration for a published schema, for programs without the Go type. The
// record type must be a struct of a string, the id, and a list with a struct for each field,
// which consists of two strings: the name and the text of the field.
func Untyped(s Schema, record reflect.Type) (*Declaration, error) {
	y := Types{Collection: func(reflect.Type) string { return "" }, Target: func(reflect.Type) reflect.Type { return nil }, Prefixed: func(reflect.Type) bool { return true }}
	d := &Declaration{Schema: s, types: y, GoType: record, Kinds: map[string]string{}, WithoutType: true}
	text, err := y.codecOf(reflect.TypeFor[string](), false)
	if err != nil {
		return nil, err
	}
	d.ID = GoField{codec: text, path: []int{0}, GoName: "id", Stored: "id"}
	for i := range s.Names {
		f := &s.Fields[i]
		t := f.Kind.goType()
		if f.Element != "" {
			t = reflect.SliceOf(f.Element.goType())
		}
		c, err := y.codecOf(t, f.Kind == kindUnix)
		if err != nil {
			return nil, fmt.Errorf("%w: the schema: field %s: %w", ErrCorrupt, f.Name, err)
		}
		name := f.Name
		d.GoFields = append(d.GoFields, GoField{
			codec: codec{Kind: f.Kind, Decode: func(v reflect.Value, s string) error {
				field := reflect.New(v.Type().Elem()).Elem()
				field.Field(0).SetString(name)
				field.Field(1).SetString(s)
				v.Set(reflect.Append(v, field))
				return nil
			}},
			path: []int{1}, GoName: name, Stored: name, typed: &typedField{t, c},
		})
	}
	return d, nil
}

// goType returns the Go type of the values of a kind.
func (k kind) goType() reflect.Type {
	switch k {
	case kindBool:
		return reflect.TypeFor[bool]()
	case kindInt:
		return reflect.TypeFor[int64]()
	case kindUint:
		return reflect.TypeFor[uint64]()
	case kindFloat:
		return reflect.TypeFor[float64]()
	case kindTime, kindUnix:
		return reflect.TypeFor[time.Time]()
	case kindDuration:
		return reflect.TypeFor[time.Duration]()
	case kindBytes:
		return reflect.TypeFor[[]byte]()
	case kindDecimal:
		return reflect.TypeFor[decimal.Decimal]()
	case KindString, KindJSON:
	}
	return reflect.TypeFor[string]()
}
