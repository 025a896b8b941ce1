package space

import (
	"fmt"
	"math"
	"time"
)

// Type is the type of the values of a dimension.
type Type string

// The types of dimensions, with the Go types of the values they return. A dimension accepts the
// same values as a column of index.Type: values of its Go type, every Go number that it holds
// exactly, and text:
// "75", "28.44", "2026-11-21T10:00:00Z", "2026-11-21".
const (
	Int     Type = "int"     // int64
	Decimal Type = "decimal" // decimal.Decimal
	Time    Type = "time"    // time.Time in UTC, to the nanosecond
)

// Dim is one dimension of an index.
type Dim struct {
	Name string // letters, digits, - and _, but not id
	Type Type
	// Scale is the number of digits of a Decimal after the point, at most 18.
	Scale int
	// Min and Max are the smallest and the largest value, inclusive. The range of an Int or
	// Decimal must fit into an int64 in units of the last digit; the range of a Time is at
	// most 584 years.
	//
	// Declare the actual range of the values, since boxes are cut at repeated halves of this
	// range.
	Min, Max any
}

// Limits of a declaration.
const (
	maxDims  = 16
	maxName  = 64
	maxScale = 18
)

// GeoDims returns the dimensions of places on earth: lat and lon, in degrees with six digits
// after the point, a resolution of a tenth of a metre. In an index with these dimensions,
// distances are metres along a great circle, boxes may cross the 180th meridian, and a float64
// is rounded to six digits.
func GeoDims() []Dim {
	return []Dim{
		{Name: "lat", Type: Decimal, Scale: 6, Min: "-90", Max: "90"},
		{Name: "lon", Type: Decimal, Scale: 6, Min: "-180", Max: "180"},
	}
}

// checkName refuses names that would be ambiguous in a declaration or a command.
func checkName(name string) error {
	ok := name != "" && len(name) <= maxName && name != "id"
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if !ok {
		return fmt.Errorf("%q is not a name for a dimension: use from 1 to %d letters, digits, - and _, but not id", shorten(name), maxName)
	}
	return nil
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// nanoseconds returns the nanoseconds from one time to a later one, and false if they do not
// fit into a uint64.
func nanoseconds(from, to time.Time) (uint64, bool) {
	const second = uint64(time.Second)
	// The seconds cannot overflow: the range of time.Time starts before the year -290 billion.
	seconds := to.Unix() - from.Unix()
	part := int64(to.Nanosecond()) - int64(from.Nanosecond())
	if part < 0 {
		seconds, part = seconds-1, part+int64(second)
	}
	if seconds < 0 || uint64(seconds) > math.MaxUint64/second {
		return 0, false
	}
	n := uint64(seconds)*second + uint64(part)
	return n, n >= uint64(part)
}
