package schema

import (
	"encoding"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"retwis/index/decimal"
	"retwis/internal/ordered"
)

// TextOf returns the stored text of a value in a condition, for a field or an element of its
// list.
func (d *Declaration) TextOf(number int, value any) (string, error) {
	f := &d.Schema.Fields[number]
	if f.Computed && d.WithoutType {
		return "", fmt.Errorf("only the program that declares the model can compute it")
	}
	typ, codec := d.goTypeOf(number)
	if f.Element != "" {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		typ = typ.Elem()
	}
	v, err := operand(typ, codec.Target != nil, value)
	if err != nil {
		return "", err
	}
	if f.Element != "" {
		raw, err := marshalJSON(v)
		if err != nil {
			return "", err
		}
		return fromJSON(raw, f.Element)
	}
	t, err := codec.encode(v)
	if err == nil && !t.OK {
		err = fmt.Errorf("%v is not stored, so no record has it: use Not to find the records without a value", value)
	}
	return t.Value, err
}

// Beyond reports whether a number is below (-1) or above (1) the range of the type of a field,
// and returns the closest value in the range.
func (d *Declaration) Beyond(number int, value any) (side int, closest any) {
	if d.Schema.Fields[number].Computed && d.WithoutType {
		return 0, nil
	}
	typ, _ := d.goTypeOf(number)
	for typ.Kind() == reflect.Pointer || d.Schema.Fields[number].Element != "" && (typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array) {
		typ = typ.Elem()
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || !isNumber(typ.Kind()) || !isNumber(v.Kind()) || v.CanFloat() && math.IsNaN(v.Float()) {
		return 0, nil
	}
	smallest, largest := limits(typ)
	switch n := exact(v); {
	case n.Cmp(exact(smallest)) < 0:
		return -1, smallest.Interface()
	case n.Cmp(exact(largest)) > 0:
		return 1, largest.Interface()
	}
	return 0, nil
}

// limits returns the smallest and the largest value of a number type.
func limits(t reflect.Type) (smallest, largest reflect.Value) {
	smallest, largest = reflect.New(t).Elem(), reflect.New(t).Elem()
	switch {
	case smallest.CanInt():
		smallest.SetInt(math.MinInt64 >> (64 - t.Bits()))
		largest.SetInt(math.MaxInt64 >> (64 - t.Bits()))
	case smallest.CanUint():
		largest.SetUint(math.MaxUint64 >> (64 - t.Bits()))
	default:
		limit := math.MaxFloat64
		if t.Bits() == 32 {
			limit = math.MaxFloat32
		}
		smallest.SetFloat(-limit)
		largest.SetFloat(limit)
	}
	return smallest, largest
}

// exact returns the exact value of a number, which may be infinite.
func exact(v reflect.Value) *big.Float {
	switch {
	case v.CanInt():
		return new(big.Float).SetInt64(v.Int())
	case v.CanUint():
		return new(big.Float).SetUint64(v.Uint())
	}
	return big.NewFloat(v.Float())
}

// goTypeOf returns the Go type of a field, and its codec.
func (d *Declaration) goTypeOf(number int) (reflect.Type, *codec) {
	if number < len(d.GoFields) {
		f := &d.GoFields[number]
		if f.typed != nil {
			return f.typed.goType, &f.typed.codec
		}
		return d.GoType.FieldByIndex(f.path).Type, &f.codec
	}
	c := &d.computes[number-len(d.GoFields)]
	return c.result, &c.codec
}

// Assign sets a field to a value of its type or an equivalent. nil clears the field. ref
// indicates that the type is a Ref.
func Assign(field reflect.Value, ref bool, value any) error {
	if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		field.SetZero()
		return nil
	}
	v, err := operand(field.Type(), ref, value)
	if err == nil {
		field.Set(v)
	}
	return err
}

// operand converts a value to a type.
func operand(t reflect.Type, ref bool, value any) (reflect.Value, error) {
	into := reflect.New(t).Elem()
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return into, fmt.Errorf("nil is not a value: use Not to find the records without one")
	}
	if v.Type().AssignableTo(t) {
		into.Set(v)
		return into, nil
	}
	if t.Kind() == reflect.Pointer {
		inner, err := operand(t.Elem(), ref, value)
		if err == nil {
			into.Set(inner.Addr())
		}
		return into, err
	}
	if v.Kind() == reflect.Pointer {
		return operand(t, ref, v.Elem().Interface())
	}
	return into, convert(into, ref, v)
}

// convert sets a value to an equivalent value of another type.
func convert(into reflect.Value, ref bool, v reflect.Value) error {
	reader, reads := into.Addr().Interface().(encoding.TextUnmarshaler)
	switch {
	case reads && v.Kind() == reflect.String:
		return reader.UnmarshalText([]byte(v.String()))
	case into.Type() == reflect.TypeFor[time.Time]() && v.Type().ConvertibleTo(into.Type()):
		into.Set(v.Convert(into.Type()))
		return nil
	case reads && ref && v.CanInt():
		return reader.UnmarshalText(strconv.AppendInt(nil, v.Int(), 10))
	case reads && ref && v.CanUint():
		return reader.UnmarshalText(strconv.AppendUint(nil, v.Uint(), 10))
	case into.Type() == reflect.TypeFor[decimal.Decimal]() && isNumber(v.Kind()):
		n, err := ordered.Number(v.Interface(), "a number")
		if err == nil {
			into.Set(reflect.ValueOf(n))
		}
		return err
	case reads:
	case into.Kind() == v.Kind() && v.Type().ConvertibleTo(into.Type()):
		into.Set(v.Convert(into.Type()))
		return nil
	case into.Kind() == reflect.Slice && into.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.String:
		into.SetBytes([]byte(v.String()))
		return nil
	case isNumber(into.Kind()) && isNumber(v.Kind()):
		if setNumber(into, v) {
			return nil
		}
		return fmt.Errorf("%v does not fit into %s", v, into.Type())
	}
	return fmt.Errorf("it is %s, not %s", v.Type(), into.Type())
}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// setNumber sets a number to a number of another type. It returns false if the number does not
// fit.
func setNumber(into, v reflect.Value) bool {
	switch {
	case v.CanInt():
		return setInt(into, v.Int())
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return setInt(into, int64(v.Uint()))
	case v.CanUint() && into.CanUint() && !into.OverflowUint(v.Uint()):
		into.SetUint(v.Uint())
		return true
	case v.CanUint():
		return setFloat(into, float64(v.Uint())) && uint64(into.Float()) == v.Uint()
	case into.CanFloat():
		return setFloat(into, v.Float())
	}
	f := v.Float()
	return f == math.Trunc(f) && math.Abs(f) < 1<<63 && setInt(into, int64(f))
}

func setInt(into reflect.Value, n int64) bool {
	switch {
	case into.CanInt() && !into.OverflowInt(n):
		into.SetInt(n)
		return true
	case into.CanUint() && n >= 0 && !into.OverflowUint(uint64(n)):
		into.SetUint(uint64(n))
		return true
	}
	return setFloat(into, float64(n)) && int64(into.Float()) == n
}

func setFloat(into reflect.Value, f float64) bool {
	if !into.CanFloat() || into.OverflowFloat(f) {
		return false
	}
	into.SetFloat(f)
	// A constant such as 0.8 equals the float32 with the same shortest text.
	return into.Float() == f || into.Type().Bits() == 32 && strconv.FormatFloat(into.Float(), 'g', -1, 32) == strconv.FormatFloat(f, 'g', -1, 64)
}
