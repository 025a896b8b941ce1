package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// ValueCount is a value with the number of records that have it.
type ValueCount struct {
	Value string // as in the key of its set: folded if the index is case-insensitive, and a digest if it is long
	Count int64
}

// facets counts records by the values of an index.
type facets struct {
	executor *executor
	x        *schema.Index
	counts   map[string]int64
}

// CountBy counts the records of a query by the values of a field, and returns the n most
// frequent values; 0: all.
func (f *Query) CountBy(ctx context.Context, field string, n int) ([]ValueCount, error) {
	if n < 0 {
		return nil, fmt.Errorf("%w: CountBy(%q, %d): the number of values cannot be negative", schema.ErrValue, field, n)
	}
	number, err := (&resolver{f.Objects.Declaration}).fieldNumber(field)
	if err != nil {
		return nil, err
	}
	x := f.Objects.Declaration.Schema.ValueIndex(number)
	if x == nil && f.Objects.Declaration.Schema.Fields[number].Computed {
		return nil, fmt.Errorf("%w: CountBy(%q): the field is computed; store its value in a field with `redis:\",index\"`", schema.ErrNoIndex, field)
	}
	if x == nil {
		return nil, fmt.Errorf("%w: CountBy(%q): declare it `redis:\"%s,index\"`", schema.ErrNoIndex, field, field)
	}
	unordered := &Query{Objects: f.Objects, Conds: f.Conds, Among: f.Among, err: f.err}
	run, _, err := unordered.start(ctx, 0)
	if err == nil {
		err = f.Objects.Table.Registry.CheckBuilt(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	c := &facets{executor: run, x: x, counts: map[string]int64{}}
	if len(run.e.terms) == 0 && run.among == nil {
		err = c.countValues(ctx)
	} else {
		err = c.countRows(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c.mostFrequent(n), nil
}

// facetValues is the number of sets counted in one pipeline.
const facetValues = 500

// countValues counts all records: it reads the sizes of the sets listed in the directories.
func (c *facets) countValues(ctx context.Context) error {
	t := c.executor.t
	if _, err := t.SweepAll(ctx); err != nil { // expired records stay in the sets until swept
		return err
	}
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		for from := "-"; ; {
			values, err := t.Client.Do(ctx, t.Client.B().Zrange().Key(t.Layout.IndexKey(p, c.x)).Min(from).Max("+").Bylex().
				Limit(0, facetValues).Build()).AsStrSlice()
			if err != nil {
				return t.TypeError(ctx, err)
			}
			commands, keys := make(rueidis.Commands, len(values)), make([]string, len(values))
			for j, value := range values {
				keys[j] = t.Layout.ValueKey(p, schema.Entry{Index: c.x, Value: value})
				commands[j] = t.Client.B().Zcard().Key(keys[j]).Build()
			}
			for j, reply := range t.Client.DoMulti(ctx, commands...) {
				n, err := reply.AsInt64()
				if err != nil {
					return t.TypeError(ctx, err, keys[j])
				}
				if n > 0 {
					c.counts[values[j]] += n
				}
			}
			if len(values) < facetValues {
				break
			}
			from = "(" + values[len(values)-1]
		}
	}
	return nil
}

// countRows reads the contents of the records that the query finds.
func (c *facets) countRows(ctx context.Context) error {
	t := c.executor.t
	for {
		rows, err := c.executor.next(ctx, maxRows)
		if err != nil || len(rows) == 0 {
			return err
		}
		commands := make(rueidis.Commands, len(rows))
		for i, h := range rows {
			commands[i] = t.Client.B().Hget().Key(t.Layout.Of(h.id).Content).Field(h.id).Build()
		}
		for _, reply := range t.Client.DoMulti(ctx, commands...) {
			text, err := reply.ToString()
			if rueidis.IsRedisNil(err) {
				continue // deleted concurrently
			}
			if err != nil {
				return t.TypeError(ctx, err)
			}
			_, entries, err := schema.Unpack(schema.Content(text))
			if errors.Is(err, schema.ErrContent) {
				continue
			}
			for _, e := range entries {
				if e.Number == c.x.Number {
					c.counts[e.Value]++
				}
			}
		}
	}
}

// mostFrequent returns the limit most frequent values; 0: all.
func (c *facets) mostFrequent(limit int) []ValueCount {
	all := make([]ValueCount, 0, len(c.counts))
	for value, n := range c.counts {
		all = append(all, ValueCount{value, n})
	}
	slices.SortFunc(all, func(a, b ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}
