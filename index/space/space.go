package space

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/ordered"
	"retwis/internal/partition"
	"retwis/internal/script"
)

// Index is an index of points at a key. It is for use by many at a time.
type Index struct {
	lex  *index.Lexical
	set  *partition.Set
	opt  Options
	axes []axis
	layout
	head int // bytes of a member before its id
	skip script.Script

	minGap, minWaste float64 // the constants, except in tests
}

// Options are the options of New.
type Options struct {
	// Dims are the dimensions, from 1 to 16. Their order is part of the
	// declaration.
	Dims []Dim
	// Partitions is over how many hash slots the index is spread, by id: on a
	// Cluster over as many servers. A query asks all of them. Default: 1.
	Partitions int
	// MaxRanges is how many ranges of the curve a query reads at most: fewer
	// read more beside the box, more take the server longer to find. It is no
	// part of the declaration. Default: 32, at most 4,096.
	MaxRanges int
}

// Entry is a point of the index.
type Entry struct {
	ID     string
	Values []any // one for each dimension, of the type that Type says
	member string
}

// Cursor is the place of an entry that was read, for index.Page.After.
func (e Entry) Cursor() string { return index.Member{Member: e.member}.Cursor() }

// kind is what an index of points remembers as its kind.
const kind = "space"

// New returns the index at a key. It asks no server; the index comes into being
// when something is put.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	axes, err := settle(opt.Dims)
	if err != nil {
		return nil, fmt.Errorf("space: %s: Options.Dims: %w", key, err)
	}
	if opt.MaxRanges < 0 || opt.MaxRanges > maxRanges {
		return nil, fmt.Errorf("space: %s: Options.MaxRanges is %d: it must be from 1 to %d", key, opt.MaxRanges, maxRanges)
	}
	if opt.MaxRanges == 0 {
		opt.MaxRanges = defaultRanges
	}
	x := &Index{opt: opt, axes: axes, skip: partition.NewScript(skipLua), minGap: minGap, minWaste: minWaste}
	x.opt.Dims = make([]Dim, len(axes))
	spans := make([]uint64, len(axes))
	words := make([]string, len(axes))
	for d := range axes {
		x.opt.Dims[d], spans[d], words[d] = axes[d].Dim, axes[d].span, axes[d].String()
	}
	x.layout = newLayout(spans)
	x.head = x.bytes
	for d := range axes {
		if axes[d].Type == Float {
			x.head += 8
		}
	}
	d := partition.Declaration{Kind: kind, Text: strings.Join(words, ","), Partitions: opt.Partitions}
	if x.set, err = partition.New(client, key, d); err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	x.lex, err = index.NewLexical(client, key, index.LexicalOptions{
		Kind: kind, Declaration: d.Text, Partitions: opt.Partitions, ID: x.id, Describe: x.describe,
	})
	return x, err
}

// Open returns the index at a key as it was declared when it came into being: one
// round trip. It returns index.ErrNotFound where there is none.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.Read(ctx, client, key)
	if err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	if d.Kind != kind {
		return nil, fmt.Errorf("space: %w: %q is %s, not %s", index.ErrDeclared, key, d, kind)
	}
	dims, err := ParseDims(d.Text)
	if err != nil {
		return nil, fmt.Errorf("space: %s.meta: %w", key, err)
	}
	return New(client, key, Options{Dims: dims, Partitions: d.Partitions})
}

// Key is the key of the index.
func (x *Index) Key() string { return x.lex.Key() }

// Dims are the dimensions of the index, in order.
func (x *Index) Dims() []Dim { return slices.Clone(x.opt.Dims) }

// Partitions is over how many hash slots the index is spread.
func (x *Index) Partitions() int { return len(x.set.Keys) }

// Put adds a point with a value for each dimension, or moves it: one script. A
// value that a dimension cannot hold is refused with index.ErrValue.
func (x *Index) Put(ctx context.Context, id string, values ...any) error {
	m, err := x.member(id, values)
	if err != nil {
		return x.named(err)
	}
	return x.lex.Put(ctx, m)
}

// PutMany puts points in pipelined scripts of a hundred, and returns how many are
// in. Each is put as a whole or not at all; after an error those before it are
// in, and it can be repeated without harm. Of an id that comes twice the later
// one stays.
func (x *Index) PutMany(ctx context.Context, entries iter.Seq[Entry]) (int, error) {
	var wrong error
	n, err := x.lex.PutMany(ctx, func(yield func(index.Member) bool) {
		for e := range entries {
			var m index.Member
			if m, wrong = x.member(e.ID, e.Values); wrong != nil || !yield(m) {
				return
			}
		}
	})
	if err == nil && wrong != nil {
		err = x.named(wrong)
	}
	return n, err
}

// Check tells whether Put would take a point; it asks no server.
func (x *Index) Check(id string, values ...any) error {
	if _, err := x.member(id, values); err != nil {
		return x.named(err)
	}
	return nil
}

// Remove takes ids out of the index and returns how many were in: one round trip
// for thousands.
func (x *Index) Remove(ctx context.Context, ids ...string) (int, error) {
	return x.lex.Remove(ctx, ids...)
}

// Get returns the point of an id, or index.ErrNotFound: one round trip.
func (x *Index) Get(ctx context.Context, id string) (Entry, error) {
	all, err := x.GetMany(ctx, id)
	if err == nil && len(all) == 0 {
		err = x.named(fmt.Errorf("%w: id %q", index.ErrNotFound, shortened(id)))
	}
	if err != nil {
		return Entry{}, err
	}
	return all[0], nil
}

// GetMany returns the points of ids, in their order, without those that are not
// in the index: one round trip.
func (x *Index) GetMany(ctx context.Context, ids ...string) ([]Entry, error) {
	members, err := x.lex.GetMany(ctx, ids...)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(members))
	for i, m := range members {
		if entries[i], err = x.entry(m); err != nil {
			return nil, x.named(err)
		}
	}
	return entries, nil
}

// Len is how many points there are: one round trip.
func (x *Index) Len(ctx context.Context) (int64, error) { return x.lex.Len(ctx) }

// Hashes returns the Redis hashes whose keys match a pattern such as point:* as a
// source of the index: a dimension is the field of its name. An object without one of
// the fields is not in the index. See index.Hashes.
func (x *Index) Hashes(pattern string) (index.Source[[]any], error) {
	return index.Hashes(x.set.Client, pattern, x.parse)
}

// parse reads the values of the dimensions from the fields of a hash.
func (x *Index) parse(_ string, fields map[string]string) (values []any, ok bool, err error) {
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

// Bits are the bits of the dimensions of a point as they are woven into one
// number, as zeros and ones: what the index orders it by.
func (x *Index) Bits(values ...any) (string, error) {
	places, err := x.places(values)
	if err != nil {
		return "", x.named(err)
	}
	return x.text(x.weave(codesOf(places))), nil
}

// named words an error with the key of the index.
func (x *Index) named(err error) error { return fmt.Errorf("space: %s: %w", x.Key(), err) }

// places returns where a point stands on each axis.
func (x *Index) places(values []any) ([]place, error) {
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

func codesOf(places []place) []uint64 {
	codes := make([]uint64, len(places))
	for d, p := range places {
		codes[d] = p.code
	}
	return codes
}

// member encodes a point: the number, the exact values of floats, the id.
func (x *Index) member(id string, values []any) (index.Member, error) {
	if id == "" || len(id) > index.MaxID {
		return index.Member{}, fmt.Errorf("%w: an id has %d bytes: it must have from 1 to %d", index.ErrValue, len(id), index.MaxID)
	}
	places, err := x.places(values)
	if err != nil {
		return index.Member{}, fmt.Errorf("id %q: %w", shortened(id), err)
	}
	b := make([]byte, 0, x.head+len(id))
	b = x.layout.append(b, x.weave(codesOf(places)))
	for d := range x.axes {
		if x.axes[d].Type == Float {
			b = binary.BigEndian.AppendUint64(b, places[d].exact)
		}
	}
	return index.Member{ID: id, Member: string(append(b, id...))}, nil
}

var errMember = errors.New("it is not one that this index writes")

// id returns the id of a member, having seen that Put could have written it.
func (x *Index) id(member string) (string, error) {
	var places [maxDims]place
	if err := x.readPlaces(places[:len(x.axes)], member); err != nil {
		return "", err
	}
	return member[x.head:], nil
}

// placesOf returns the places of a member.
func (x *Index) placesOf(member string) ([]place, error) {
	places := make([]place, len(x.axes))
	return places, x.readPlaces(places, member)
}

func (x *Index) readPlaces(places []place, member string) error {
	if len(member) <= x.head {
		return errMember
	}
	var words, codes [maxDims]uint64
	z, all := words[:x.words], codes[:len(x.axes)]
	x.read(z, member)
	if x.beyond(z) {
		return errMember
	}
	x.unweave(all, z)
	at := x.bytes
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

// beyond tells whether a number has bits before its first.
func (x *Index) beyond(z []uint64) bool {
	used := uint(len(x.bits) - 64*(x.words-1))
	return used < 64 && z[0]>>used != 0
}

func exactAt(member string, at int) uint64 {
	m := member[at:][:8]
	return uint64(m[0])<<56 | uint64(m[1])<<48 | uint64(m[2])<<40 | uint64(m[3])<<32 |
		uint64(m[4])<<24 | uint64(m[5])<<16 | uint64(m[6])<<8 | uint64(m[7])
}

// entry decodes a member.
func (x *Index) entry(m index.Member) (Entry, error) {
	var buffer [maxDims]place
	places := buffer[:len(x.axes)]
	err := x.readPlaces(places, m.Member)
	if err == nil && m.Member[x.head:] != m.ID {
		err = errMember
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%w: id %q: %w: see Verify", index.ErrCorrupt, shortened(m.ID), err)
	}
	return x.entryAt(m, places), nil
}

func (x *Index) entryAt(m index.Member, places []place) Entry {
	e := Entry{ID: m.ID, Values: make([]any, len(places)), member: m.Member}
	for d, p := range places {
		e.Values[d] = x.axes[d].value(p)
	}
	return e
}

// describe words a member for a report.
func (x *Index) describe(member string) string {
	places, err := x.placesOf(member)
	if err != nil {
		return fmt.Sprintf("%q", member)
	}
	words := make([]string, len(places))
	for d, p := range places {
		words[d] = x.axes[d].Name + "=" + x.axes[d].format(x.axes[d].value(p))
	}
	return strings.Join(words, " ")
}
