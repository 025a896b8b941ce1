package space

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"retwis/index"
	"retwis/index/internal/entries"
	"retwis/internal/redis/scan"
)

// Entry is a point of the index.
type Entry struct {
	ID     string
	Values []any // one per dimension, of the Go type of the dimension
	member string
}

// Cursor returns the position of a point returned by a query, for index.Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.member) }

// points encodes points as members of an index.
type points struct {
	axes      []axis
	layout    layout
	head      int  // number of bytes of a member before its id
	geo       bool // the dimensions are GeoDims
	maxRanges int  // per region
}

func newPoints(axes []axis, maxRanges int) *points {
	x := &points{axes: axes, maxRanges: maxRanges}
	spans := make([]uint64, len(axes))
	for d := range axes {
		spans[d] = axes[d].span
	}
	x.layout = newLayout(spans)
	x.head = x.layout.bytes
	geoAxes, _ := newAxes(GeoDims())
	x.geo = slices.Equal(axes, geoAxes)
	return x
}

// parse reads the values of the dimensions from the fields of a hash.
func (x *points) parse(_ string, fields map[string]string) (values []any, ok bool, err error) {
	for d := range x.axes {
		text, ok := fields[x.axes[d].Name]
		if !ok {
			return nil, false, nil
		}
		values = append(values, text)
	}
	_, err = x.codes(values)
	return values, err == nil, err
}

// codes returns the code of a point on each axis. With GeoDims, floats are rounded to six
// digits.
func (x *points) codes(values []any) ([]uint64, error) {
	if len(values) != len(x.axes) {
		return nil, fmt.Errorf("%w: got %d values for %d dimensions", index.ErrValue, len(values), len(x.axes))
	}
	codes := make([]uint64, len(values))
	for d, v := range values {
		if f, ok := v.(float64); ok && x.geo && !math.IsNaN(f) && !math.IsInf(f, 0) {
			v = strconv.FormatFloat(f, 'f', x.axes[d].Scale, 64)
		}
		var err error
		if codes[d], err = x.axes[d].point(v); err != nil {
			return nil, fmt.Errorf("%w: dimension %s: %w", index.ErrValue, x.axes[d].Name, err)
		}
	}
	return codes, nil
}

// member encodes a point: its number, then its id.
func (x *points) member(id string, values []any) (string, error) {
	if err := entries.CheckID(id); err != nil {
		return "", err
	}
	codes, err := x.codes(values)
	if err != nil {
		return "", fmt.Errorf("id %q: %w", shorten(id), err)
	}
	b := x.layout.append(make([]byte, 0, x.head+len(id)), x.layout.interleave(codes))
	return string(append(b, id...)), nil
}

// id returns the id of a member, or an error if Put could not have written the member.
func (x *points) id(member string) (string, error) {
	var codes [maxDims]uint64
	if err := x.readCodes(codes[:len(x.axes)], member); err != nil {
		return "", err
	}
	return member[x.head:], nil
}

// codesOf returns the codes of a member.
func (x *points) codesOf(member string) ([]uint64, error) {
	codes := make([]uint64, len(x.axes))
	return codes, x.readCodes(codes, member)
}

// readCodes decodes the codes of a member.
func (x *points) readCodes(codes []uint64, member string) error {
	if len(member) <= x.head {
		return errMember
	}
	var words [maxDims]uint64
	z := words[:x.layout.words]
	x.layout.read(z, member)
	if x.overflows(z) {
		return errMember
	}
	x.layout.deinterleave(codes, z)
	for d := range x.axes {
		if codes[d] > x.axes[d].span {
			return errMember
		}
	}
	return nil
}

// overflows reports whether a number has more bits than all dimensions together.
func (x *points) overflows(z []uint64) bool {
	used := uint(len(x.layout.bits) - 64*(x.layout.words-1))
	return used < 64 && z[0]>>used != 0
}

// entry decodes the member of an id.
func (x *points) entry(id, member string) (Entry, error) {
	var buffer [maxDims]uint64
	codes := buffer[:len(x.axes)]
	err := x.readCodes(codes, member)
	if err == nil && member[x.head:] != id {
		err = errMember
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%w: id %q: %w: see Verify", index.ErrCorrupt, shorten(id), err)
	}
	return x.entryAt(member, codes), nil
}

// entryAt returns the entry of a member with its codes.
func (x *points) entryAt(member string, codes []uint64) Entry {
	e := Entry{ID: member[x.head:], Values: make([]any, len(codes)), member: member}
	for d, code := range codes {
		e.Values[d] = x.axes[d].value(code)
	}
	return e
}

// describe formats a member for a report.
func (x *points) describe(member string) string {
	codes, err := x.codesOf(member)
	if err != nil {
		return fmt.Sprintf("%q", member)
	}
	texts := make([]string, len(codes))
	for d, code := range codes {
		texts[d] = x.axes[d].Name + "=" + x.axes[d].format(x.axes[d].value(code))
	}
	return strings.Join(texts, " ")
}

var errMember = errors.New("this index did not write the entry")
