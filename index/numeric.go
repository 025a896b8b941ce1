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

	"retwis/index/internal/batch"
	"retwis/index/internal/members"
	"retwis/index/internal/scores"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
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

// Number is the type of the values of a Numeric.
type Number interface{ ~int | ~int64 | ~float64 }

// Numeric is an index over one number: a sorted set of ids with the number as score,
// the simplest index of the tutorial. It answers: which ids have a number between
// these, and how many are there?
//
//	ages, err := index.NewNumeric[int](client, "people.by-age", index.NumericOptions{Name: "age"})
//	err = ages.Put(ctx, "manuel", 25)
//	for entry, err := range ages.Select(ctx, index.Page{Limit: 20}, index.Between("age", 18, 35)) {
//
// A score is a float64. NaN is refused, and integers beyond ±2^53, which a float64
// does not hold exactly: a Composite with one column orders all 64 bits. Ids with the
// same number are in the order of their bytes.
type Numeric[N Number] struct {
	set    *partition.Set
	column Column

	put, remove, page script.Script
}

// NumericOptions are the options of NewNumeric.
type NumericOptions struct {
	// Name is the name of the number in conditions, like that of a column. Default:
	// value.
	Name string
	// Partitions is the number of hash slots over which the index is spread by id: on
	// a Cluster, over as many servers. A query reads all of them. Default: 1.
	Partitions int
}

// NumericEntry is an entry of a Numeric.
type NumericEntry[N Number] struct {
	ID     string
	Number N
}

// Cursor returns the position of the entry, for Page.After.
func (e NumericEntry[N]) Cursor() string {
	return scan.EncodeCursor(scoreText(e.Number) + " " + e.ID)
}

// scoreText formats a number as a score; -0 is 0, as Redis orders it.
func scoreText[N Number](n N) string { return scores.Text(float64(n)) }

// maxExact is the greatest integer up to which each one is a float64.
const maxExact = 1 << 53

// checkNumber refuses what a score cannot hold exactly.
func checkNumber[N Number](n N) error {
	switch {
	case math.IsNaN(float64(n)):
		return fmt.Errorf("%w: NaN has no place in an order", ErrValue)
	case isInteger[N]() && (int64(n) > maxExact || int64(n) < -maxExact):
		return fmt.Errorf("%w: %v is beyond ±2^53, where a score does not hold each integer: use a Composite", ErrValue, n)
	}
	return nil
}

// isInteger reports whether a type of numbers has no fractions.
func isInteger[N Number]() bool { return N(1)/N(2) == 0 }

// kindNumeric is the kind in the declaration of a Numeric.
const kindNumeric = "numeric"

// NewNumeric returns the index at a key. It sends nothing to the server.
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
	return x, nil
}

// OpenNumeric returns the index at a key with the name that it was created with: one
// round trip. It returns ErrNotFound if there is no index, and ErrDeclared if it is over
// another type of number.
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

// Column returns the name and the type of the number.
func (x *Numeric[N]) Column() Column { return x.column }

// Key returns the key of the index.
func (x *Numeric[N]) Key() string { return x.set.Key }

func (x *Numeric[N]) wrap(ctx context.Context, err error) error { return wrap(ctx, x.set, err) }

// Check reports, without a server, why Put would refuse an entry.
func (x *Numeric[N]) Check(id string, n N) error {
	err := cmp.Or(checkID(id), checkNumber(n))
	if err != nil {
		return fmt.Errorf("index: %s: id %s: %w", x.Key(), members.Shorten(id), err)
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

// PutMany puts entries in pipelined scripts of a hundred, and returns how many are in.
// After an error those before it are in; it does no harm to repeat it. If an id comes
// twice, the last entry wins.
func (x *Numeric[N]) PutMany(ctx context.Context, entries iter.Seq[NumericEntry[N]]) (int, error) {
	w, err := batch.New(ctx, x.set, x.put, x.set.Args())
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	for e := range entries {
		if err = cmp.Or(checkID(e.ID), checkNumber(e.Number)); err != nil {
			err = fmt.Errorf("id %s: %w", members.Shorten(e.ID), err)
		} else {
			err = w.Add(e.ID, scoreText(e.Number))
		}
		if err != nil {
			break
		}
	}
	return w.Finish(x.wrap, err)
}

// Remove removes ids from the index and returns how many were in it: one round trip
// for thousands.
func (x *Numeric[N]) Remove(ctx context.Context, ids ...string) (int, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, x.wrap(ctx, err)
	}
	removed := 0
	calls := make([]script.Call, 0, len(ids)/removeBatch+1)
	for p, batch := range byPartition(x.set, ids) {
		for _, ids := range batch {
			calls = append(calls, script.Call{Keys: x.set.Keys[p].All(), Args: append(x.set.Args(), ids...)})
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

// byPartition groups ids by partition, in batches for a script.
func byPartition(set *partition.Set, ids []string) [][][]string {
	all := make([][][]string, len(set.Keys))
	for _, id := range ids {
		p := set.Index(id)
		if n := len(all[p]); n == 0 || len(all[p][n-1]) == removeBatch {
			all[p] = append(all[p], nil)
		}
		last := len(all[p]) - 1
		all[p][last] = append(all[p][last], id)
	}
	return all
}

// Get returns the entry of an id, or ErrNotFound: one round trip. If N is an integer
// and the score is not, it returns ErrCorrupt.
func (x *Numeric[N]) Get(ctx context.Context, id string) (NumericEntry[N], error) {
	all, err := x.GetMany(ctx, id)
	if err == nil && len(all) == 0 {
		err = x.wrap(ctx, errNoEntry(id))
	}
	if err != nil {
		return NumericEntry[N]{}, err
	}
	return all[0], nil
}

// GetMany returns the entries of ids, in their order, without those that are not in
// the index: one round trip.
func (x *Numeric[N]) GetMany(ctx context.Context, ids ...string) ([]NumericEntry[N], error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, x.wrap(ctx, err)
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = x.set.Client.B().Zscore().Key(x.set.Of(id).Index).Member(id).Build()
	}
	entries := make([]NumericEntry[N], 0, len(ids))
	for i, r := range x.set.Client.DoMulti(ctx, commands...) {
		f, err := r.AsFloat64()
		if rueidis.IsRedisNil(err) {
			continue
		}
		var e NumericEntry[N]
		if err == nil {
			e, err = entryOf[N](ids[i], f)
		}
		if err != nil {
			return nil, x.wrap(ctx, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entryOf returns the entry with a score, which another program may have written. An
// integer is not rounded: its cursor would lead back to the entry, without end.
func entryOf[N Number](id string, score float64) (NumericEntry[N], error) {
	n := N(score)
	if float64(n) != score {
		return NumericEntry[N]{}, fmt.Errorf("%w: id %s has the score %g, which is not an integer", ErrCorrupt, members.Shorten(id), score)
	}
	return NumericEntry[N]{id, n}, nil
}

// Len returns the number of entries: one round trip.
func (x *Numeric[N]) Len(ctx context.Context) (int64, error) {
	n, err := x.set.Len(ctx)
	return n, x.wrap(ctx, err)
}

// parseCursor reads a cursor.
func parseCursor(after string) (score, id string, err error) {
	if after == "" {
		return "", "", nil
	}
	position, err := scan.DecodeCursor(after)
	if err != nil {
		return "", "", err
	}
	score, id, ok := strings.Cut(position, " ")
	if f, err := strconv.ParseFloat(score, 64); !ok || err != nil || math.IsNaN(f) {
		return "", "", errors.New("invalid cursor: use one that an earlier page returned")
	}
	return score, id, nil
}

// Hashes returns the Redis hashes whose keys match a pattern such as user:* as a source
// of the index: the number is the field with the name of the column. An object without
// that field is not in the index. See the function Hashes.
func (x *Numeric[N]) Hashes(pattern string) (Source[N], error) {
	return Hashes(x.set.Client, pattern, x.parse)
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
