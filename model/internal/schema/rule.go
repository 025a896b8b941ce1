package schema

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// rule defines the valid values of a field.
type rule struct {
	required bool
	min, max *bound
	unit     string // unit of min and max: "characters", "elements", "bytes", or "" for the value
}

// bound is a minimum or maximum.
type bound struct {
	text  string
	int   int64 // for an integer, a length or a duration
	float float64
}

// ruleOf reads the rule of a field from its tag.
func ruleOf(t tag, typ reflect.Type) (rule, error) {
	r := rule{required: t.has("required")}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case !r.required && !t.has("min") && !t.has("max"):
		return r, nil
	case t.has("id"), t.has("version"):
		return r, errors.New("the store sets the id and the version: leave required, min and max out")
	case r.required && typ.Kind() == reflect.Bool:
		return r, errors.New("required: false is a valid bool: leave required out")
	case r.required && t.has("counter"):
		return r, errors.New("required and counter: 0 is a value of a counter: use min=1")
	}
	if !t.has("min") && !t.has("max") {
		return r, nil
	}
	switch typ.Kind() {
	case reflect.String:
		r.unit = "characters"
	case reflect.Slice, reflect.Array, reflect.Map:
		if r.unit = "elements"; typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8 {
			r.unit = "bytes"
		}
	default:
		if !isNumber(typ.Kind()) {
			return r, fmt.Errorf("min and max are for numbers, durations, text, lists and maps, not %s: use a method Validate() error", typ)
		}
	}
	for name, into := range map[string]**bound{"min": &r.min, "max": &r.max} {
		if !t.has(name) {
			continue
		}
		b, err := r.parseBound(t.values[name], typ)
		if err != nil {
			return r, fmt.Errorf("%s=%s: %w", name, t.values[name], err)
		}
		*into = b
	}
	if r.min != nil && r.max != nil && (r.min.int > r.max.int || r.min.float > r.max.float) {
		return r, fmt.Errorf("min=%s is more than max=%s", r.min.text, r.max.text)
	}
	return r, nil
}

// parseBound parses a bound for a type.
func (r *rule) parseBound(text string, typ reflect.Type) (*bound, error) {
	b := &bound{text: text}
	var err error
	switch {
	case r.unit != "":
		var n uint64
		n, err = strconv.ParseUint(text, 10, 62)
		b.int = int64(n)
		err = parseError(err, text, "a number of "+r.unit)
	case typ == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = time.ParseDuration(text)
		b.int, err = int64(d), parseError(err, text, "a duration such as 1h30m")
	case typ.Kind() == reflect.Float32 || typ.Kind() == reflect.Float64:
		b.float, err = strconv.ParseFloat(text, typ.Bits())
		if err = parseError(err, text, "a number"); err == nil && (math.IsNaN(b.float) || math.IsInf(b.float, 0)) {
			err = errors.New("it is not finite")
		}
	default:
		b.int, err = strconv.ParseInt(text, 10, 54)
		err = parseError(err, text, "an integer of 54 bits") // scripts compare counters with the bound
	}
	return b, err
}

// Bounds returns the bounds of a counter as text; "": none.
func (f *GoField) Bounds() (low, high string) {
	if b := f.rule.min; b != nil {
		low = b.text
	}
	if b := f.rule.max; b != nil {
		high = b.text
	}
	return low, high
}

// check returns an error if a value violates the rule.
func (r *rule) check(v reflect.Value) error {
	if r.required && isEmpty(v) {
		return errors.New("is required")
	}
	if r.min == nil && r.max == nil {
		return nil
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	low, high := r.outside(v)
	switch {
	case !low && !high:
		return nil
	case r.unit != "" && low:
		return fmt.Errorf("has %d %s: at least %s are required", lengthOf(v), r.unit, r.min.text)
	case r.unit != "":
		return fmt.Errorf("has %d %s: at most %s are allowed", lengthOf(v), r.unit, r.max.text)
	case low:
		return fmt.Errorf("is %v: the minimum is %s", v.Interface(), r.min.text)
	}
	return fmt.Errorf("is %v: the maximum is %s", v.Interface(), r.max.text)
}

// outside reports whether a value is below the minimum, or above the maximum.
func (r *rule) outside(v reflect.Value) (low, high bool) {
	if r.unit == "" && v.CanFloat() {
		return r.min != nil && v.Float() < r.min.float, r.max != nil && v.Float() > r.max.float
	}
	var n int64
	switch {
	case r.unit != "":
		n = int64(lengthOf(v))
	case v.CanInt():
		n = v.Int()
	case v.Uint() > math.MaxInt64:
		return false, r.max != nil
	default:
		n = int64(v.Uint())
	}
	return r.min != nil && n < r.min.int, r.max != nil && n > r.max.int
}

// lengthOf returns the number of characters, elements or bytes of a value.
func lengthOf(v reflect.Value) int {
	if v.Kind() == reflect.String {
		return utf8.RuneCountInString(v.String())
	}
	return v.Len()
}

// isEmpty reports whether a value is zero, or a list or map without elements.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

// Checks reports whether the model has any validation rules.
func (d *Declaration) Checks() bool {
	return d.Validate != nil || slices.ContainsFunc(d.GoFields, func(f GoField) bool { return f.rule != rule{} })
}

// Check returns an *InvalidError if a record violates the rules in the tags of its fields.
// Otherwise it calls the Validate method of the record, if any.
func (d *Declaration) Check(record reflect.Value) error {
	var problems []FieldError
	for i := range d.GoFields {
		f := &d.GoFields[i]
		if err := f.rule.check(f.Of(record)); err != nil {
			problems = append(problems, FieldError{f.Stored, err})
		}
	}
	if len(problems) > 0 {
		return &InvalidError{problems}
	}
	if d.Validate == nil {
		return nil
	}
	err := validated(d.Validate, record.Addr().Interface())
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return &InvalidError{[]FieldError{{Err: err}}}
}

// validated calls the Validate method. A panic becomes an error of the record.
func validated(validate func(record any) error, record any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in Validate: %v", p)
		}
	}()
	return validate(record)
}
