package index

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/internal/entries"
	"retwis/index/internal/ranged"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Number constrains the values of a Numeric.
type Number interface{ ~int | ~int64 | ~float64 }

// Numeric is an index on one number: a sorted set of ids with the number as score, the simplest
// index of the tutorial. It finds and counts the ids whose numbers are in a range.
//
//	ages, err := index.NewNumeric[int](client, "people.by-age", index.NumericOptions{Name: "age"})
//	err = ages.Put(ctx, "manuel", 25)
//	for entry, err := range ages.Select(ctx, index.Page{Limit: 20}, index.Between("age", 18, 35)) {
//
// A score is a float64. NaN is refused, and so are integers beyond ±2^53, which a float64
// cannot hold exactly; a Composite with one column holds all 64 bits. Ids with the same number
// are sorted by their bytes.
type Numeric[N Number] struct {
	entries *entries.Index
	column  Column
}

// NumericOptions are the options of NewNumeric.
type NumericOptions struct {
	// Name is the column name of the number in conditions. Default: value.
	Name string
	// Partitions is the number of hash slots over which the index is sharded by id, so that a
	// Cluster can spread the index over several servers. A query reads all of them. Default: 1.
	Partitions int
}

// NumericEntry is an entry of a Numeric.
type NumericEntry[N Number] struct {
	ID     string
	Number N
}

// Cursor returns the position of the entry, for Page.After.
func (e NumericEntry[N]) Cursor() string {
	return ranged.Cursor(float64(e.Number), e.ID)
}

// scoreText formats a number as a score. -0 becomes 0, since Redis treats -0 and 0 as equal.
func scoreText[N Number](n N) string { return ranged.Text(float64(n)) }

// maxExact is the largest n such that a float64 holds all integers up to n.
const maxExact = 1 << 53

// checkNumber returns an error for a number that a score cannot hold exactly.
func checkNumber[N Number](n N) error {
	switch {
	case math.IsNaN(float64(n)):
		return fmt.Errorf("%w: NaN cannot be ordered", ErrValue)
	case isInteger[N]() && (int64(n) > maxExact || int64(n) < -maxExact):
		return fmt.Errorf("%w: %v is beyond ±2^53, where a score cannot hold every integer: use a Composite", ErrValue, n)
	}
	return nil
}

// isInteger reports whether N is an integer type.
func isInteger[N Number]() bool { return N(1)/N(2) == 0 }

// kindNumeric is the kind in the declaration of a Numeric.
const kindNumeric = "numeric"

// NewNumeric returns the index at a key. It sends no command; the first Put creates the index.
func NewNumeric[N Number](client rueidis.Client, key string, opt NumericOptions) (*Numeric[N], error) {
	if opt.Name == "" {
		opt.Name = "value"
	}
	column := Column{Name: opt.Name, Type: Float}
	if isInteger[N]() {
		column.Type = Int
	}
	column, err := column.normalize()
	if err != nil {
		return nil, fmt.Errorf("index: %s: Options.Name: %w", key, err)
	}
	x := &Numeric[N]{column: column}
	x.entries, err = entries.New(client, key, entries.Options{
		Package: "index", Declaration: partition.Declaration{Kind: kindNumeric, Text: column.String(), Partitions: opt.Partitions},
		Scored: true, Describe: func(score string) string { return score },
		CheckScore: func(score string) error {
			e, err := entryOf[N]("", score)
			return cmp.Or(err, checkNumber(e.Number))
		},
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// OpenNumeric returns the index at a key with its declared column name: one round trip. It
// returns ErrNotFound if there is no index, and ErrDeclared if the index holds another type of
// number.
func OpenNumeric[N Number](ctx context.Context, client rueidis.Client, key string) (*Numeric[N], error) {
	d, err := partition.ReadKind(ctx, client, key, kindNumeric)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	name, _, ok := strings.Cut(d.Text, ":")
	if !ok {
		return nil, fmt.Errorf("index: %w", partition.Corrupt(key, fmt.Errorf("%q is not a column", d.Text)))
	}
	x, err := NewNumeric[N](client, key, NumericOptions{Name: name, Partitions: d.Partitions})
	if err == nil && x.column.String() != d.Text {
		err = fmt.Errorf("index: %w: %q is %s, not %s", ErrDeclared, key, d, Declaration(x.entries.Set.Declaration()))
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Column returns the name and the type of the number.
func (x *Numeric[N]) Column() Column { return x.column }

// Key returns the key of the index.
func (x *Numeric[N]) Key() string { return x.entries.Set.Key }

// Check returns the error that Put would return for an invalid entry. It sends no command.
func (x *Numeric[N]) Check(id string, n N) error {
	if _, err := entryFor(id, n); err != nil {
		return fmt.Errorf("index: %s: %w", x.Key(), err)
	}
	return nil
}

// entryFor encodes an entry.
func entryFor[N Number](id string, n N) (entries.Entry, error) {
	if err := cmp.Or(entries.CheckID(id), checkNumber(n)); err != nil {
		return entries.Entry{}, fmt.Errorf("id %s: %w", ranged.Shorten(id), err)
	}
	return entries.Entry{ID: id, Value: scoreText(n)}, nil
}

// Create creates an empty index unless it exists. Put and Rebuild also create a missing
// index; use Create if there are no objects yet.
func (x *Numeric[N]) Create(ctx context.Context) error { return x.entries.Create(ctx) }

// Put adds or moves the entry of an id: one script.
func (x *Numeric[N]) Put(ctx context.Context, id string, n N) error {
	e, err := entryFor(id, n)
	if err != nil {
		return x.entries.Wrap(ctx, err)
	}
	return x.entries.Put(ctx, e)
}

// PutMany puts entries in pipelined scripts of a hundred, and returns the number written. The
// entries before an invalid entry are written; repeating the call is safe. If an id occurs
// twice, the last entry wins.
func (x *Numeric[N]) PutMany(ctx context.Context, all iter.Seq[NumericEntry[N]]) (int, error) {
	return x.entries.PutMany(ctx, func(yield func(entries.Entry, error) bool) {
		for e := range all {
			if entry, err := entryFor(e.ID, e.Number); !yield(entry, err) || err != nil {
				return
			}
		}
	})
}

// Remove removes ids from the index and returns the number removed: one round trip for
// thousands of ids.
func (x *Numeric[N]) Remove(ctx context.Context, ids ...string) (int, error) {
	return x.entries.Remove(ctx, ids...)
}

// Get returns the entry of an id, or ErrNotFound: one round trip. If N is an integer
// and the score is not, it returns ErrCorrupt.
func (x *Numeric[N]) Get(ctx context.Context, id string) (NumericEntry[N], error) {
	found, err := x.entries.Get(ctx, id)
	if err != nil {
		return NumericEntry[N]{}, err
	}
	e, err := entryOf[N](id, found.Value)
	return e, x.entries.Wrap(ctx, err)
}

// GetMany returns the entries of ids, in the given order, omitting ids that are not in the
// index: one round trip.
func (x *Numeric[N]) GetMany(ctx context.Context, ids ...string) ([]NumericEntry[N], error) {
	found, err := x.entries.GetMany(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]NumericEntry[N], len(found))
	for i, e := range found {
		if all[i], err = entryOf[N](e.ID, e.Value); err != nil {
			return nil, x.entries.Wrap(ctx, err)
		}
	}
	return all, nil
}

// entryOf decodes an entry from a score in text form.
func entryOf[N Number](id, score string) (NumericEntry[N], error) {
	f, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return NumericEntry[N]{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return entryAt[N](id, f)
}

// entryAt returns the entry with a score, which another program may have written. It does not
// round the score to an integer: the cursor of a rounded entry could lead back to the same entry
// in an endless loop.
func entryAt[N Number](id string, score float64) (NumericEntry[N], error) {
	n := N(score)
	if float64(n) != score {
		return NumericEntry[N]{}, fmt.Errorf("%w: id %s has the score %g, which is not an integer", ErrCorrupt, ranged.Shorten(id), score)
	}
	return NumericEntry[N]{id, n}, nil
}

// Len returns the number of entries: one round trip.
func (x *Numeric[N]) Len(ctx context.Context) (int64, error) { return x.entries.Len(ctx) }

// Select yields the entries that match all conditions, sorted by number. Conditions must be on
// the column of the index; Prefix is not supported. It reads 100 entries, or Limit, in the
// first round trip and 500 in each later one. A round trip costs O(log n) plus the entries
// returned, at any cursor. With one range and one partition, an offset adds no cost.
func (x *Numeric[N]) Select(ctx context.Context, page Page, conditions ...Condition) iter.Seq2[NumericEntry[N], error] {
	return func(yield func(NumericEntry[N], error) bool) {
		ranges, err := x.plan(conditions)
		if err != nil {
			yield(NumericEntry[N]{}, x.entries.Wrap(ctx, err))
			return
		}
		if len(ranges) == 0 {
			return
		}
		q := ranged.Query{Limit: page.Limit, Offset: page.Offset, Reverse: page.Reverse, After: page.After, Ranges: ranges}
		for item, err := range x.entries.Select(ctx, q) {
			var e NumericEntry[N]
			if err == nil {
				e, err = entryAt[N](item.ID, item.Score)
				err = x.entries.Wrap(ctx, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// All yields all entries, sorted by number.
func (x *Numeric[N]) All(ctx context.Context, page Page) iter.Seq2[NumericEntry[N], error] {
	return x.Select(ctx, page)
}

// Count returns the number of entries that match all conditions: one round trip and O(log n)
// per 64 values of an In.
func (x *Numeric[N]) Count(ctx context.Context, conditions ...Condition) (int64, error) {
	ranges, err := x.plan(conditions)
	if err != nil || len(ranges) == 0 {
		return 0, x.entries.Wrap(ctx, err)
	}
	return x.entries.Count(ctx, ranged.Query{Ranges: ranges})
}

// Hashes returns a source of the Redis hashes whose keys match a pattern such as user:*. The
// number is read from the field with the column's name. A hash without that field is not in the
// index. See the function Hashes.
func (x *Numeric[N]) Hashes(pattern string) (Source[N], error) {
	return Hashes(x.entries.Set.Client, pattern, x.parse)
}

// parse reads the number from the fields of a hash.
func (x *Numeric[N]) parse(_ string, fields map[string]string) (n N, ok bool, err error) {
	text, ok := fields[x.column.Name]
	if !ok {
		return 0, false, nil
	}
	v, err := x.column.Parse(text)
	switch v := v.(type) {
	case int64:
		n = N(v)
	case float64:
		n = N(v)
	}
	return n, true, err
}

// Verify compares the index with the objects that src.All yields, in steps of 200. With
// src.Lookup, it also finds entries without an object. A numeric index has no redundancy of its
// own, so Verify returns ErrValue without a source.
func (x *Numeric[N]) Verify(ctx context.Context, src *Source[N], opt maintain.Options) (maintain.Report, error) {
	if src == nil {
		return maintain.Report{}, fmt.Errorf("%w: a numeric index is verified only against a source", ErrValue)
	}
	return x.entries.Verify(ctx, scoresOf(src), opt)
}

// Repair corrects what Verify reports, from the objects of src. Each entry is compared again in
// the step that changes it, so that concurrent writes are kept. src needs a Lookup.
func (x *Numeric[N]) Repair(ctx context.Context, src *Source[N], opt maintain.Options) (maintain.Report, error) {
	return x.entries.Repair(ctx, scoresOf(src), opt)
}

// Rebuild builds a new index from a source and replaces the old index: see Composite.Rebuild.
func (x *Numeric[N]) Rebuild(ctx context.Context, src Source[N], opt maintain.Options) (maintain.Report, error) {
	return x.entries.Rebuild(ctx, scoresOf(&src), opt)
}

// Adopt turns a sorted set created by hand, with ids as members and numbers as scores, into
// this index, in steps of 200. Report.Checked is the number of entries that are now in the
// index. Entries that the index could not have written are reported as Invalid and
// kept unchanged; if all entries are invalid, Adopt fails.
func (x *Numeric[N]) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.entries.Adopt(ctx, opt)
}

// scoresOf converts a source of numbers to a source of scores.
func scoresOf[N Number](src *Source[N]) *entries.Source {
	if src == nil {
		return &entries.Source{}
	}
	return entries.From(src.All, src.Lookup, func(id string, n N) (string, error) {
		return scoreText(n), cmp.Or(entries.CheckID(id), checkNumber(n))
	})
}
