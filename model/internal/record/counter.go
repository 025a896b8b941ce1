package record

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// incr adds n to a counter.
func (t *Table) incr(ctx context.Context, id string, field *schema.GoField, n int64) (sum int64, err error) {
	defer t.Rows.Writes.Add(id)
	err = t.Registry.RetryRestored(ctx, func() error {
		sum, err = t.incrOnce(ctx, id, field, n)
		return err
	})
	return sum, err
}

// incrOnce runs counter.lua once.
func (t *Table) incrOnce(ctx context.Context, id string, f *schema.GoField, n int64) (int64, error) {
	low, high := "", ""
	if f.Bits < 64 {
		limit := greatest(f)
		low, high = strconv.FormatInt(-limit-1, 10), strconv.FormatInt(limit, 10)
	}
	minimum, maximum := f.Bounds()
	p := t.Layout.Of(id)
	keys := []string{p.Record(id), p.Content, p.Meta}
	args := []string{id, f.Stored, strconv.FormatInt(n, 10), low, high, minimum, maximum, t.Registry.Stamp()}
	number := t.Schema.Number(f.Stored)
	for _, x := range t.Schema.Indexes {
		last := len(x.Columns) - 1
		if x.ColumnOf(number) != last {
			continue
		}
		keys = append(keys, t.Layout.IndexKey(p, x))
		args = append(args, strconv.Itoa(x.Number), digit(x.Columns[last].Desc), digit(last == 0))
	}
	list, err := counterScript.Run(ctx, t.Client, keys, args).ToArray()
	if err != nil {
		return 0, t.counterError(ctx, id, f.Stored, err)
	}
	switch word, _ := list[0].ToString(); {
	case word == "NOTFOUND", word == "SCHEMA":
		return 0, t.Outcome(id, word)
	case word == "OVERFLOW":
		return 0, overflow(id, f, n)
	case len(list) != 2:
		return 0, schema.ErrReply(nil)
	case word == "BOUND":
		value, err := list[1].AsInt64()
		return value, cmp.Or(err, boundError(id, f, value, n))
	}
	sum, err := list[1].AsInt64()
	if err != nil {
		return 0, t.counterError(ctx, id, f.Stored, err)
	}
	return sum, nil
}

// greatest returns the largest number of the type of a counter.
func greatest(f *schema.GoField) int64 { return math.MaxInt64 >> (64 - f.Bits) }

// overflow returns the error for a sum that does not fit into the type of a counter.
func overflow(id string, f *schema.GoField, n int64) error {
	return fmt.Errorf("%w: %s of id %q cannot be changed by %d: the number would not fit into %d bits",
		schema.ErrValue, f.Stored, schema.Shorten(id), n, f.Bits)
}

// boundError returns the error for a sum that would exceed a bound of a counter.
func boundError(id string, f *schema.GoField, value, n int64) error {
	bound, maximum := f.Bounds()
	if n > 0 {
		bound = maximum
	}
	limit, _ := strconv.ParseInt(bound, 10, 64) // New has parsed the bound
	return &schema.BoundError{ID: id, Field: f.Stored, Value: value, By: n, Bound: limit}
}

// addition is an Incr in a model with computed fields. Since scripts cannot compute the index
// entries, the record is written as by Patch.
type addition struct {
	field  *schema.GoField
	n, sum int64
}

// added returns the change that adds to a counter and updates the index entries. It returns the
// same errors as counter.lua.
func (o *Objects) added(stored []schema.Text, record reflect.Value, e *edit) (*change, error) {
	f, n := e.addition.field, e.addition.n
	value, _ := strconv.ParseInt(stored[o.Declaration.Schema.Number(f.Stored)].Value, 10, 64) // 0 if absent
	sum := value + n
	e.addition.sum = sum
	minimum, maximum := f.Bounds()
	low, lowErr := strconv.ParseInt(minimum, 10, 64)
	high, highErr := strconv.ParseInt(maximum, 10, 64)
	switch {
	case n < 0 && sum > value, n > 0 && sum < value:
		return nil, overflow(e.id, f, n)
	case n < 0 && lowErr == nil && sum < low, n > 0 && highErr == nil && sum > high:
		e.addition.sum = value
		return nil, boundError(e.id, f, value, n)
	case n < 0 && sum < -greatest(f)-1, n > 0 && sum > greatest(f):
		return nil, overflow(e.id, f, n)
	}
	text := strconv.FormatInt(sum, 10)
	if err := f.Decode(f.Of(record), text); err != nil {
		return nil, err
	}
	fields, err := o.Declaration.Encode(record)
	if err != nil {
		return nil, err
	}
	copy(fields, stored[:len(o.Declaration.Schema.Names)]) // all except the counter and computed fields
	fields[o.Declaration.Schema.Number(f.Stored)] = schema.Text{Value: text, OK: true}
	c := &change{id: e.id, operation: "save", set: []string{f.Stored, text}}
	o.expect(c, stored)
	return c, o.Table.pack(c, fields)
}

// digit returns "1" for true, and "0" for false.
func digit(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// counterError describes the error for a key or field of another type.
func (t *Table) counterError(ctx context.Context, id, field string, err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok && strings.Contains(e.Error(), "not an integer") {
		return fmt.Errorf("%w: key %q, field %s: %w", schema.ErrCorrupt, t.Layout.Of(id).Record(id), field, err)
	}
	if typed := t.TypeError(ctx, err); typed != err {
		return typed
	}
	return t.Rows.ReadError(id, err)
}
