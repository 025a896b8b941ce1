package space

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/internal/entries"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

//go:embed skip.lua
var skipLua string

// Limits of a skip scan.
const (
	// minGap is the number of points that a gap must contain to be skipped: finding the end of
	// the gap takes the server as long as reading that many points.
	minGap = 5
	// minWaste is the number of points outside of a box at which a skip scan pays off.
	minWaste = 1000
)

// Index is an index of points at a key. It is safe for concurrent use.
type Index struct {
	reader *reader
	opt    Options
}

// reader reads an index.
type reader struct {
	points  *points
	entries *entries.Index
	set     *partition.Set
	skip    script.Script

	// Set to the constants, except in tests.
	firstRead        int
	minGap, minWaste float64
}

// Options configures New.
type Options struct {
	// Dims are the dimensions, 1 to 16. Their order is part of the declaration.
	Dims []Dim
	// Partitions is the number of hash slots over which the index is sharded by id, so that a
	// Cluster can spread the index over several servers. A query reads all of them. Default: 1.
	Partitions int
	// MaxRanges is the maximum number of ranges of the curve that cover a large box: fewer
	// ranges read more points outside of the box, more ranges take the server longer to find.
	// MaxRanges is not part of the declaration. Default: 32, at most 4,096.
	MaxRanges int
}

// kind is the kind in the declaration of an index of points.
const kind = "space"

// New returns the index at a key. It sends no command; the first Put creates the index.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	axes, err := newAxes(opt.Dims)
	if err != nil {
		return nil, fmt.Errorf("space: %s: Options.Dims: %w", key, err)
	}
	if opt.MaxRanges < 0 || opt.MaxRanges > maxRanges {
		return nil, fmt.Errorf("space: %s: Options.MaxRanges is %d: it must be from 1 to %d", key, opt.MaxRanges, maxRanges)
	}
	if opt.MaxRanges == 0 {
		opt.MaxRanges = defaultRanges
	}
	p := newPoints(axes, opt.MaxRanges)
	r := &reader{points: p, skip: partition.NewScript(skipLua), firstRead: firstRead, minGap: minGap, minWaste: minWaste}
	x := &Index{reader: r, opt: opt}
	x.opt.Dims = make([]Dim, len(axes))
	declarations := make([]string, len(axes))
	for d := range axes {
		x.opt.Dims[d], declarations[d] = axes[d].Dim, axes[d].String()
	}
	r.entries, err = entries.New(client, key, entries.Options{
		Package: "space", Declaration: partition.Declaration{Kind: kind, Text: strings.Join(declarations, ","), Partitions: opt.Partitions},
		ID: p.id, Describe: p.describe,
	})
	if err != nil {
		return nil, err
	}
	r.set = r.entries.Set
	return x, nil
}

// Open returns the index at a key with its declared dimensions, or index.ErrNotFound if there
// is no index: one round trip.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.ReadKind(ctx, client, key, kind)
	if err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	dims, err := ParseDims(d.Text)
	if err != nil {
		return nil, fmt.Errorf("space: %w", partition.Corrupt(key, err))
	}
	return New(client, key, Options{Dims: dims, Partitions: d.Partitions})
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.reader.set.Key }

// Dims returns the dimensions of the index, in order.
func (x *Index) Dims() []Dim { return slices.Clone(x.opt.Dims) }

// Partitions returns the number of hash slots over which the index is sharded.
func (x *Index) Partitions() int { return len(x.reader.set.Keys) }

// Create creates an empty index unless it exists. Put and Rebuild also create a missing
// index; use Create if there are no objects yet.
func (x *Index) Create(ctx context.Context) error { return x.reader.entries.Create(ctx) }

// Put adds or moves the point of an id, with one value per dimension: one script. It returns
// index.ErrValue if a dimension cannot hold a value.
func (x *Index) Put(ctx context.Context, id string, values ...any) error {
	m, err := x.reader.points.member(id, values)
	if err != nil {
		return x.reader.wrap(err)
	}
	return x.reader.entries.Put(ctx, entries.Entry{ID: id, Value: m})
}

// PutMany puts points in pipelined scripts of a hundred, and returns the number written. Each
// point is written completely or not at all. The points before an invalid point are written;
// repeating the call is safe. If an id occurs twice, the last point wins.
func (x *Index) PutMany(ctx context.Context, all iter.Seq[Entry]) (int, error) {
	return x.reader.entries.PutMany(ctx, func(yield func(entries.Entry, error) bool) {
		for e := range all {
			if m, err := x.reader.points.member(e.ID, e.Values); !yield(entries.Entry{ID: e.ID, Value: m}, err) || err != nil {
				return
			}
		}
	})
}

// Check returns the error that Put would return for an invalid point. It sends no command.
func (x *Index) Check(id string, values ...any) error {
	if _, err := x.reader.points.member(id, values); err != nil {
		return x.reader.wrap(err)
	}
	return nil
}

// Remove removes ids from the index and returns the number removed: one round trip for
// thousands of ids.
func (x *Index) Remove(ctx context.Context, ids ...string) (int, error) {
	return x.reader.entries.Remove(ctx, ids...)
}

// Get returns the point of an id, or index.ErrNotFound: one round trip.
func (x *Index) Get(ctx context.Context, id string) (Entry, error) {
	e, err := x.reader.entries.Get(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	point, err := x.reader.points.entry(id, e.Value)
	return point, x.reader.entries.Wrap(ctx, err)
}

// GetMany returns the points of ids, in the given order, omitting ids that are not in the
// index: one round trip.
func (x *Index) GetMany(ctx context.Context, ids ...string) ([]Entry, error) {
	found, err := x.reader.entries.GetMany(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]Entry, len(found))
	for i, e := range found {
		if all[i], err = x.reader.points.entry(e.ID, e.Value); err != nil {
			return nil, x.reader.wrap(err)
		}
	}
	return all, nil
}

// Len returns the number of points: one round trip.
func (x *Index) Len(ctx context.Context) (int64, error) { return x.reader.entries.Len(ctx) }

// Hashes returns a source of the Redis hashes whose keys match a pattern such as point:*. Each
// dimension is read from the field of the same name. A hash that lacks one of the fields is not
// in the index. See index.Hashes.
func (x *Index) Hashes(pattern string) (index.Source[[]any], error) {
	return index.Hashes(x.reader.set.Client, pattern, x.reader.points.parse)
}

// wrap adds the package and the key of the index to an error.
func (x *reader) wrap(err error) error { return fmt.Errorf("space: %s: %w", x.set.Key, err) }
