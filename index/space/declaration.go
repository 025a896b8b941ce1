package space

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/ordered"
)

// String formats the dimension as ParseDims reads it.
func (d Dim) String() string {
	a, err := newAxis(d)
	if err != nil {
		return d.Name + ":" + string(d.Type)
	}
	return a.String()
}

// String formats the dimension for the declaration, with a canonical text for its range.
func (a *axis) String() string {
	text := a.Name + ":" + string(a.Type)
	low, high := a.format(a.Min), a.format(a.Max)
	switch a.Type {
	case Decimal:
		text += "(" + strconv.Itoa(a.Scale) + ")"
		if a.Scale > 0 {
			low, high = strings.TrimRight(strings.TrimRight(low, "0"), "."), strings.TrimRight(strings.TrimRight(high, "0"), ".")
		}
	case Time:
		low, high = strings.TrimSuffix(low, "T00:00:00Z"), strings.TrimSuffix(high, "T00:00:00Z")
	}
	return text + "(" + low + ".." + high + ")"
}

// ParseDims parses a declaration such as
//
//	x:int(0..400),price:decimal(2)(0..1000),at:time(2020-01-01..2030-01-01)
//
// decimal(2) has two digits after the point. The text geo stands for GeoDims.
func ParseDims(text string) ([]Dim, error) {
	if text == "geo" {
		return GeoDims(), nil
	}
	var dims []Dim
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		a, err := parseDim(part)
		if err != nil {
			return nil, fmt.Errorf("space: dimension %d, %q: %w", len(dims)+1, shorten(part), err)
		}
		dims = append(dims, a.Dim)
		if len(dims) > maxDims {
			break
		}
	}
	_, err := newAxes(dims)
	if err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	return dims, nil
}

// errSyntax is returned for a declaration of a dimension that cannot be parsed.
var errSyntax = errors.New("write NAME:TYPE(MIN..MAX), as in x:int(0..400) or price:decimal(2)(0..1000)")

func parseDim(text string) (axis, error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok {
		return axis{}, errSyntax
	}
	kind, rest, ok := strings.Cut(rest, "(")
	if !ok {
		return axis{}, errSyntax
	}
	d := Dim{Name: name, Type: Type(kind)}
	if d.Type == Decimal {
		var digits string
		if digits, rest, ok = strings.Cut(rest, ")("); !ok {
			return axis{}, errSyntax
		}
		var err error
		if d.Scale, err = strconv.Atoi(digits); err != nil {
			return axis{}, fmt.Errorf("%q is not a number of digits", shorten(digits))
		}
	}
	inner, closed := strings.CutSuffix(rest, ")")
	low, high, isRange := strings.Cut(inner, "..")
	if !closed || !isRange || low == "" || high == "" {
		return axis{}, errSyntax
	}
	d.Min, d.Max = low, high
	return newAxis(d)
}

// newAxes validates a declaration and returns its axes.
func newAxes(dims []Dim) ([]axis, error) {
	if len(dims) < 1 || len(dims) > maxDims {
		return nil, fmt.Errorf("there must be from 1 to %d dimensions", maxDims)
	}
	axes := make([]axis, len(dims))
	for i, d := range dims {
		var err error
		if axes[i], err = newAxis(d); err == nil && slices.ContainsFunc(dims[:i], func(o Dim) bool { return o.Name == d.Name }) {
			err = errors.New("another dimension has the same name")
		}
		if err != nil {
			return nil, fmt.Errorf("dimension %d, %s: %w", i+1, shorten(d.Name), err)
		}
	}
	return axes, nil
}

// newAxis validates a dimension and converts its bounds to the Go type of its values.
func newAxis(d Dim) (axis, error) {
	if err := checkName(d.Name); err != nil {
		return axis{}, err
	}
	if d.Scale < 0 || d.Scale > maxScale || d.Scale != 0 && d.Type != Decimal {
		return axis{}, fmt.Errorf("%s cannot have %d digits after the point: only a decimal can, from 0 to %d", d.Type, d.Scale, maxScale)
	}
	a := axis{Dim: d}
	var low, high error
	emptyRange := false
	switch d.Type {
	case Int, Decimal:
		a.min, low = a.column().Int64(d.Min)
		a.max, high = a.column().Int64(d.Max)
		a.span, emptyRange = uint64(a.max)-uint64(a.min), a.min >= a.max
	case Time:
		a.from, low = ordered.ToTime(d.Min)
		a.to, high = ordered.ToTime(d.Max)
		if low == nil && high == nil {
			var ok bool
			if a.span, ok = nanoseconds(a.from, a.to); !ok && a.from.Before(a.to) {
				return a, errors.New("a time spans at most 584 years")
			}
			emptyRange = !a.from.Before(a.to)
		}
	default:
		return a, fmt.Errorf("%q is not a type: use int, decimal or time", shorten(string(d.Type)))
	}
	switch {
	case low != nil:
		return a, fmt.Errorf("the minimum: %w", low)
	case high != nil:
		return a, fmt.Errorf("the maximum: %w", high)
	case emptyRange:
		return a, errors.New("the minimum must be less than the maximum")
	}
	a.setBounds()
	return a, nil
}
