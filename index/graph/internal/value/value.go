// Package value compares names of a graph by value, as numbers or texts.
package value

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Value is the value of a name in a comparison: a number or a text.
type Value struct {
	text     string // the name
	number   float64
	isNumber bool
}

// Compare compares two numbers or two texts. ok is false if one value is a number and the other
// is a text.
func (v Value) Compare(other Value) (c int, ok bool) {
	switch {
	case v.isNumber != other.isNumber:
		return 0, false
	case v.isNumber:
		return v.compareNumbers(other), true
	}
	return strings.Compare(v.text, other.text), true
}

// Equal reports whether both values are numbers and equal.
func (v Value) Equal(other Value) bool {
	return v.isNumber && other.isNumber && v.compareNumbers(other) == 0
}

// Order compares two values for sorting: numbers come before texts.
func (v Value) Order(other Value) int {
	if c, ok := v.Compare(other); ok {
		return c
	}
	if v.isNumber {
		return -1
	}
	return 1
}

// compareNumbers compares the exact values of two numbers.
func (v Value) compareNumbers(other Value) int {
	if c := cmp.Compare(v.number, other.number); c != 0 || v.text == other.text || !v.rounded() && !other.rounded() {
		return c
	}
	x, okX := new(big.Rat).SetString(v.text)
	y, okY := new(big.Rat).SetString(other.text)
	if !okX || !okY {
		return 0
	}
	return x.Cmp(y)
}

// rounded reports whether a different number may have the same float64, because v has many
// digits or is close to zero.
func (v Value) rounded() bool { return len(v.text) > 15 || math.Abs(v.number) < 1e-300 }

// maxNumber is the maximum length of a number, in bytes.
const maxNumber = 1000

var number = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// Of returns the value of a name.
func Of(name string) Value {
	if len(name) <= maxNumber && number.MatchString(name) {
		if x, err := strconv.ParseFloat(name, 64); err == nil {
			return Value{text: name, number: x, isNumber: true}
		}
	}
	return Value{text: name}
}
