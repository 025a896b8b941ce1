package index

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/internal/script"
)

var (
	//go:embed numeric_put.lua
	numericPutLua string
	//go:embed numeric_remove.lua
	numericRemoveLua string
	//go:embed numeric_watch.lua
	numericWatchLua string
	//go:embed numeric_replace.lua
	numericReplaceLua string
	//go:embed numeric_fill.lua
	numericFillLua string
	//go:embed numeric_finish.lua
	numericFinishLua string
	//go:embed numeric_page.lua
	numericPageLua string
)

// Number is what a Numeric is over.
type Number interface{ ~int | ~int64 | ~float64 }

// Numeric is an index over one number: a sorted set of ids, scored by it, as
// people have used for this from the beginning. It answers: which ids have a
// number between these, and how many are there?
//
//	ages, err := index.NewNumeric[int](client, "people.by-age", index.NumericOptions{})
//	err = ages.Put(ctx, "manuel", 25)
//	for entry, err := range ages.Select(ctx, index.From(18).To(35), index.Page{Limit: 20}) {
//
// A score is a float64. Integers beyond ±2^53, which it cannot tell apart, are
// refused, and NaN: a Composite with one column orders all 64 bits. Ids with the
// same number are in the order of their bytes.
type Numeric[N Number] struct {
	set    *partition.Set
	column Column

	put, remove, page script.Script
	target            *target // of maintenance
}

// NumericOptions are the options of NewNumeric.
type NumericOptions struct {
	// Name is what the number is called, as a column of a Composite is. Default:
	// value.
	Name string
	// Partitions is over how many hash slots the index is spread, by id: on a
	// Cluster over as many servers. A query asks all of them. Default: 1.
	Partitions int
}

// NumericEntry is an entry of a Numeric.
type NumericEntry[N Number] struct {
	ID     string
	Number N
}

// Cursor is the place of the entry, for Page.After.
func (e NumericEntry[N]) Cursor() string {
	return scan.EncodeCursor(scoreText(e.Number) + " " + e.ID)
}

// scoreText is a number as a score is written; -0 is 0, as Redis orders it.
func scoreText[N Number](n N) string { return strconv.FormatFloat(float64(n)+0, 'g', -1, 64) }

// Span is a range of numbers. The zero value is all of them.
type Span[N Number] struct {
	low, high         N
	hasLow, hasHigh   bool
	openLow, openHigh bool
}

// From is the numbers from low on, low included.
func From[N Number](low N) Span[N] { return Span[N]{low: low, hasLow: true} }

// Over is the numbers above low, without it.
func Over[N Number](low N) Span[N] { return Span[N]{low: low, hasLow: true, openLow: true} }

// To ends a span at high, included.
func (s Span[N]) To(high N) Span[N] {
	s.high, s.hasHigh, s.openHigh = high, true, false
	return s
}

// Before ends a span below high, without it.
func (s Span[N]) Before(high N) Span[N] {
	s.high, s.hasHigh, s.openHigh = high, true, true
	return s
}

// ends are the ends of a span as ZRANGEBYSCORE takes them.
func (s Span[N]) ends() (low, high string, err error) {
	low, high = "-inf", "+inf"
	if s.hasLow {
		if low, err = endText(s.low, s.openLow); err != nil {
			return "", "", err
		}
	}
	if s.hasHigh {
		high, err = endText(s.high, s.openHigh)
	}
	return low, high, err
}

func endText[N Number](n N, open bool) (string, error) {
	if err := checkNumber(n); err != nil {
		return "", err
	}
	if open {
		return "(" + scoreText(n), nil
	}
	return scoreText(n), nil
}

// maxExact is the greatest integer up to which each one is a float64.
const maxExact = 1 << 53

// checkNumber refuses what a score cannot hold exactly.
func checkNumber[N Number](n N) error {
	switch {
	case math.IsNaN(float64(n)):
		return fmt.Errorf("%w: NaN has no place in an order", ErrValue)
	case isInteger[N]() && (int64(n) > maxExact || int64(n) < -maxExact):
		return fmt.Errorf("%w: %v is beyond ±2^53, where the score of a sorted set cannot tell integers apart: use a Composite", ErrValue, n)
	}
	return nil
}

// isInteger tells whether a type of numbers has no fractions.
func isInteger[N Number]() bool { return N(1)/N(2) == 0 }

// kindNumeric is what a Numeric remembers as its kind.
const kindNumeric = "numeric"

// NewNumeric returns the index at a key. It asks no server.
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
	set, err := partition.New(client, key, partition.Declaration{Kind: kindNumeric, Text: column.String(), Partitions: opt.Partitions})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	x := &Numeric[N]{
		set: set, column: column,
		put: partition.NewScript(numericPutLua), remove: partition.NewScript(numericRemoveLua), page: partition.NewScript(ordered.LuaLess + numericPageLua),
	}
	x.target = x.newTarget()
	return x, nil
}

// OpenNumeric returns the index at a key as it was declared: one round trip. It
// returns ErrNotFound where there is none, and ErrDeclared where it is over
// another kind of number.
func OpenNumeric[N Number](ctx context.Context, client rueidis.Client, key string) (*Numeric[N], error) {
	d, err := Declared(ctx, client, key)
	if err != nil {
		return nil, err
	}
	if d.Kind != kindNumeric {
		return nil, fmt.Errorf("index: %w: %q is %s, not %s", ErrDeclared, key, d, kindNumeric)
	}
	name, _, _ := strings.Cut(d.Text, ":")
	x, err := NewNumeric[N](client, key, NumericOptions{Name: name, Partitions: d.Partitions})
	if err == nil && x.column.String() != d.Text {
		err = fmt.Errorf("index: %w: %q is %s, not %s", ErrDeclared, key, d, Declaration(x.set.Declaration()))
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Column is what the number is called and what it is.
func (x *Numeric[N]) Column() Column { return x.column }

// Key is the key of the index.
func (x *Numeric[N]) Key() string { return x.set.Key }

func (x *Numeric[N]) wrap(ctx context.Context, err error) error { return wrap(ctx, x.set, err) }

// Check tells whether Put would take an entry; it asks no server.
func (x *Numeric[N]) Check(id string, n N) error {
	err := cmp.Or(checkID(id), checkNumber(n))
	if err != nil {
		return fmt.Errorf("index: %s: id %s: %w", x.Key(), shown(id), err)
	}
	return nil
}

// Put adds an entry, or moves it: one script.
func (x *Numeric[N]) Put(ctx context.Context, id string, n N) error {
	if err := x.Check(id, n); err != nil {
		return err
	}
	if len(x.set.Keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return x.wrap(ctx, err)
		}
	}
	r := x.put.Run(ctx, x.set.Client, x.set.Of(id).All(), append(x.set.Args(), id, scoreText(n)))
	return x.wrap(ctx, r.Error())
}

// PutMany puts entries in pipelined scripts of a hundred, and returns how many
// are in. After an error those before it are in, and it can be repeated without
// harm.
func (x *Numeric[N]) PutMany(ctx context.Context, entries iter.Seq[NumericEntry[N]]) (int, error) {
	w, err := newWriter(ctx, x.set, x.put, x.set.Args())
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	var wrong error
	for e := range entries {
		if wrong = x.Check(e.ID, e.Number); wrong != nil {
			break
		}
		if wrong = w.add(e.ID, scoreText(e.Number)); wrong != nil {
			break
		}
	}
	return w.closed(x.wrap, wrong)
}

// Remove takes ids out of the index and returns how many were in: one round trip
// for thousands.
func (x *Numeric[N]) Remove(ctx context.Context, ids ...string) (int, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, x.wrap(ctx, err)
	}
	removed := 0
	calls := make([]script.Call, 0, len(ids)/removeBatch+1)
	for p, batch := range byPartition(x.set, ids) {
		for _, some := range batch {
			calls = append(calls, script.Call{Keys: x.set.Keys[p].All(), Args: append(x.set.Args(), some...)})
		}
	}
	for _, r := range x.remove.RunMany(ctx, x.set.Client, calls) {
		n, err := r.AsInt64()
		if err != nil {
			return removed, x.wrap(ctx, err)
		}
		removed += int(n)
	}
	return removed, nil
}

// Get returns the entry of an id, or ErrNotFound: one round trip. Where N is an
// integer and the score is none, that is ErrCorrupt.
func (x *Numeric[N]) Get(ctx context.Context, id string) (NumericEntry[N], error) {
	if err := x.set.Check(ctx); err != nil {
		return NumericEntry[N]{}, x.wrap(ctx, err)
	}
	f, err := x.set.Client.Do(ctx, x.set.Client.B().Zscore().Key(x.set.Of(id).Index).Member(id).Build()).AsFloat64()
	if rueidis.IsRedisNil(err) {
		err = fmt.Errorf("%w: id %s", ErrNotFound, shown(id))
	}
	if err != nil {
		return NumericEntry[N]{}, x.wrap(ctx, err)
	}
	e, err := entryOf[N](id, f)
	return e, x.wrap(ctx, err)
}

// entryOf is the entry with a score, which somebody else may have written: the
// cursor of one that was rounded would lead back to it for ever.
func entryOf[N Number](id string, score float64) (NumericEntry[N], error) {
	n := N(score)
	if float64(n) != score {
		return NumericEntry[N]{}, fmt.Errorf("%w: id %s has the score %g, which is not an integer", ErrCorrupt, shown(id), score)
	}
	return NumericEntry[N]{id, n}, nil
}

// Len is how many entries there are: one round trip.
func (x *Numeric[N]) Len(ctx context.Context) (int64, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, x.wrap(ctx, err)
	}
	n, err := sum(ctx, x.set, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Zcard().Key(k.Index).Build()
	})
	return n, x.wrap(ctx, err)
}

// Count is how many entries are in a span: one round trip, O(log n).
func (x *Numeric[N]) Count(ctx context.Context, s Span[N]) (int64, error) {
	low, high, err := s.ends()
	if err == nil {
		err = x.set.Check(ctx)
	}
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	n, err := sum(ctx, x.set, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Zcount().Key(k.Index).Min(low).Max(high).Build()
	})
	return n, x.wrap(ctx, err)
}

// cursorOf reads a cursor.
func cursorOf(after string) (score, id string, err error) {
	if after == "" {
		return "", "", nil
	}
	position, err := scan.DecodeCursor(after)
	if err != nil {
		return "", "", err
	}
	score, id, ok := strings.Cut(position, " ")
	if f, err := strconv.ParseFloat(score, 64); !ok || err != nil || math.IsNaN(f) {
		return "", "", errors.New("the cursor is not one that this index gave")
	}
	return score, id, nil
}
