package space

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"retwis/index"
	"retwis/internal/ordered"
)

// Entry is a point of the index.
type Entry struct {
	ID     string
	Values []any // one for each dimension, of the Go type of its Type
	member string
}

// Cursor returns the position of a point that was read, for index.Page.After.
func (e Entry) Cursor() string { return index.Member{Member: e.member}.Cursor() }

// points encodes points as members of an index, without a server.
type points struct {
	axes      []axis
	layout    layout
	head      int // bytes of a member before its id
	maxRanges int // of a region
}

func newPoints(axes []axis, maxRanges int) *points {
	x := &points{axes: axes, maxRanges: maxRanges}
	spans := make([]uint64, len(axes))
	for d := range axes {
		spans[d] = axes[d].span
	}
	x.layout = newLayout(spans)
	x.head = x.layout.bytes
	for d := range axes {
		if axes[d].Type == Float {
			x.head += 8
		}
	}
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
	_, err = x.places(values)
	return values, err == nil, err
}

// isGeo reports whether the dimensions are GeoDims.
func (x *points) isGeo() bool {
	axes, _ := newAxes(GeoDims())
	return len(x.axes) == 2 && x.axes[0] == axes[0] && x.axes[1] == axes[1]
}

// places returns the place of a point on each axis.
func (x *points) places(values []any) ([]place, error) {
	if len(values) != len(x.axes) {
		return nil, fmt.Errorf("%w: there are %d values for %d dimensions", index.ErrValue, len(values), len(x.axes))
	}
	places := make([]place, len(values))
	for d, v := range values {
		var err error
		if places[d], err = x.axes[d].point(v); err != nil {
			return nil, fmt.Errorf("%w: dimension %s: %w", index.ErrValue, x.axes[d].Name, err)
		}
	}
	return places, nil
}

// member encodes a point: its number, the exact values of its floats, its id.
func (x *points) member(id string, values []any) (index.Member, error) {
	if id == "" || len(id) > index.MaxID {
		return index.Member{}, fmt.Errorf("%w: an id has %d bytes: it must have from 1 to %d", index.ErrValue, len(id), index.MaxID)
	}
	places, err := x.places(values)
	if err != nil {
		return index.Member{}, fmt.Errorf("id %q: %w", shorten(id), err)
	}
	b := make([]byte, 0, x.head+len(id))
	b = x.layout.append(b, x.layout.interleave(codesOf(places)))
	for d := range x.axes {
		if x.axes[d].Type == Float {
			b = binary.BigEndian.AppendUint64(b, places[d].exact)
		}
	}
	return index.Member{ID: id, Member: string(append(b, id...))}, nil
}

// id returns the id of a member, after checking that Put could have written it.
func (x *points) id(member string) (string, error) {
	var places [maxDims]place
	if err := x.readPlaces(places[:len(x.axes)], member); err != nil {
		return "", err
	}
	return member[x.head:], nil
}

// placesOf returns the places of a member.
func (x *points) placesOf(member string) ([]place, error) {
	places := make([]place, len(x.axes))
	return places, x.readPlaces(places, member)
}

func (x *points) readPlaces(places []place, member string) error {
	if len(member) <= x.head {
		return errMember
	}
	var words, codes [maxDims]uint64
	z, all := words[:x.layout.words], codes[:len(x.axes)]
	x.layout.read(z, member)
	if x.overflows(z) {
		return errMember
	}
	x.layout.deinterleave(all, z)
	at := x.layout.bytes
	for d := range x.axes {
		a := &x.axes[d]
		places[d].code = all[d]
		if all[d] > a.span {
			return errMember
		}
		if a.Type == Float {
			places[d].exact = exactAt(member, at)
			if f := ordered.FloatFromBits(places[d].exact); !(f >= a.low && f <= a.high) || a.floatPlace(f) != places[d] {
				return errMember
			}
			at += 8
		}
	}
	return nil
}

// overflows reports whether a number has more bits than the dimensions.
func (x *points) overflows(z []uint64) bool {
	used := uint(len(x.layout.bits) - 64*(x.layout.words-1))
	return used < 64 && z[0]>>used != 0
}

// entry decodes a member.
func (x *points) entry(m index.Member) (Entry, error) {
	var buffer [maxDims]place
	places := buffer[:len(x.axes)]
	err := x.readPlaces(places, m.Member)
	if err == nil && m.Member[x.head:] != m.ID {
		err = errMember
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%w: id %q: %w: see Verify", index.ErrCorrupt, shorten(m.ID), err)
	}
	return x.entryAt(m, places), nil
}

func (x *points) entryAt(m index.Member, places []place) Entry {
	e := Entry{ID: m.ID, Values: make([]any, len(places)), member: m.Member}
	for d, p := range places {
		e.Values[d] = x.axes[d].value(p)
	}
	return e
}

// describe formats a member for a report.
func (x *points) describe(member string) string {
	places, err := x.placesOf(member)
	if err != nil {
		return fmt.Sprintf("%q", member)
	}
	texts := make([]string, len(places))
	for d, p := range places {
		texts[d] = x.axes[d].Name + "=" + x.axes[d].format(x.axes[d].value(p))
	}
	return strings.Join(texts, " ")
}

func codesOf(places []place) []uint64 {
	codes := make([]uint64, len(places))
	for d, p := range places {
		codes[d] = p.code
	}
	return codes
}

func exactAt(member string, at int) uint64 {
	m := member[at:][:8]
	return uint64(m[0])<<56 | uint64(m[1])<<48 | uint64(m[2])<<40 | uint64(m[3])<<32 |
		uint64(m[4])<<24 | uint64(m[5])<<16 | uint64(m[6])<<8 | uint64(m[7])
}

var errMember = errors.New("this index did not write the entry")
