package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

// ValueCount is how many records have a value.
type ValueCount struct {
	Value string
	Count int64
}

// facets counts the records of a query by the values of an index.
type facets struct {
	executor *executor
	x        *schema.Index
	most     int // how many of the most frequent values are wanted; 0: all
	all      []ValueCount
}

// Steps of facets.
const (
	facetValues = 200 // values in a pipeline
	// A value costs about as much to intersect as so many records to read one by one.
	facetCost = 8
)

// CountBy counts the records of a query by the values of a field: the most frequent ones.
func (f *Query) CountBy(ctx context.Context, field string, most int) ([]ValueCount, error) {
	if most < 0 {
		return nil, fmt.Errorf("%w: CountBy(%q, %d): it cannot be negative", schema.ErrValue, field, most)
	}
	number, err := (&resolver{f.Objects.Declaration}).fieldNumber(field)
	if err != nil {
		return nil, err
	}
	x := f.Objects.Declaration.Schema.ValueIndex(number)
	if x == nil && f.Objects.Declaration.Schema.Fields[number].Computed {
		return nil, fmt.Errorf("%w: CountBy(%q): it is computed; store the value in a field with `redis:\",index\"`", schema.ErrNoIndex, field)
	}
	if x == nil {
		return nil, fmt.Errorf("%w: CountBy(%q): declare it `redis:\"%s,index\"`", schema.ErrNoIndex, field, field)
	}
	bare := &Query{Objects: f.Objects, Conds: f.Conds, Among: f.Among, err: f.err}
	run, _, err := bare.start(ctx, 0)
	if err == nil {
		err = f.Objects.Table.Registry.CheckBuilt(ctx, x)
	}
	if err == nil && f.Objects.Declaration.Schema.Expires >= 0 {
		_, err = f.Objects.Table.SweepAll(ctx) // an expired record is counted otherwise
	}
	if err != nil {
		return nil, err
	}
	c := &facets{executor: run, x: x, most: most}
	if err := c.count(ctx); err != nil {
		return nil, err
	}
	c.keep(0)
	return c.all, nil
}

func (c *facets) count(ctx context.Context) error {
	sets, plain := c.intersected()
	if plain && len(sets) > 0 {
		// Few records and many values: read the records.
		k := &counter{t: c.executor.t, parts: c.executor.t.Layout.Parts[:min(len(c.executor.t.Layout.Parts), countedParts)]}
		var values, records int64
		k.add(1, func(p *schema.Partition, _ int) rueidis.Completed {
			return c.executor.t.Client.B().Zcard().Key(c.executor.t.Layout.IndexKey(p, c.x)).Build()
		}, func(n int64) { values = n })
		k.path(c.executor.paths[0])
		if err := k.run(ctx); err != nil {
			return err
		}
		records = c.executor.paths[0].size
		plain = values*facetCost <= records
	}
	if !plain {
		return c.countRows(ctx)
	}
	for i := range c.executor.t.Layout.Parts {
		if err := c.countValues(ctx, i, sets); err != nil {
			return err
		}
	}
	return nil
}

// intersected returns the sets whose intersection is what the query finds, if there are
// such sets; none: it finds all records.
func (c *facets) intersected() ([]schema.Entry, bool) {
	if c.executor.among != nil {
		return nil, false
	}
	switch c.executor.countable() {
	case countEvery:
		return c.executor.scans[0].sets, true
	case countKey:
		return nil, c.executor.paths[0].x == nil
	}
	return nil, false
}

// countValues counts by the values in the directory of a partition, in lexicographic
// order: those that no earlier partition has.
func (c *facets) countValues(ctx context.Context, part int, sets []schema.Entry) error {
	t := c.executor.t
	from := "-"
	for {
		values, err := t.Client.Do(ctx, t.Client.B().Zrange().Key(t.Layout.IndexKey(&t.Layout.Parts[part], c.x)).Min(from).Max("+").Bylex().
			Limit(0, facetValues).Build()).AsStrSlice()
		if err != nil {
			return t.TypeError(ctx, err)
		}
		if err := c.countSome(ctx, part, values, sets); err != nil {
			return err
		}
		if len(values) < facetValues {
			return nil
		}
		from = "(" + values[len(values)-1]
	}
}

// countSome counts by some values that a partition has.
func (c *facets) countSome(ctx context.Context, part int, values []string, sets []schema.Entry) error {
	for i := range part {
		if len(values) == 0 {
			return nil
		}
		listed, err := c.executor.t.Client.Do(ctx, c.executor.t.Client.B().Zmscore().Key(c.executor.t.Layout.IndexKey(&c.executor.t.Layout.Parts[i], c.x)).Member(values...).Build()).ToArray()
		if err != nil || len(listed) != len(values) {
			return errors.Join(c.executor.t.TypeError(ctx, err), schema.ErrReply(err))
		}
		var others []string
		for j, value := range values {
			if listed[j].IsNil() {
				others = append(others, value)
			}
		}
		values = others
	}
	counts := make([]int64, len(values))
	for i := range c.executor.t.Layout.Parts {
		of, err := c.sizes(ctx, i, values, sets)
		if err != nil {
			return err
		}
		for j, n := range of {
			counts[j] += n
		}
	}
	for i, value := range values {
		if counts[i] > 0 {
			c.all = append(c.all, ValueCount{value, counts[i]})
		}
	}
	c.keep(4 * facetValues)
	return nil
}

// sizes returns how many of the records in sets have each of some values, in a partition.
func (c *facets) sizes(ctx context.Context, part int, values []string, sets []schema.Entry) ([]int64, error) {
	t, p := c.executor.t, &c.executor.t.Layout.Parts[part]
	counts := make([]int64, len(values))
	key := func(i int) string { return t.Layout.ValueKey(p, schema.Entry{Index: c.x, Value: values[i]}) }
	if len(sets) == 0 {
		commands := make(rueidis.Commands, len(values))
		for i := range values {
			commands[i] = t.Client.B().Zcard().Key(key(i)).Build()
		}
		for i, reply := range t.Client.DoMulti(ctx, commands...) {
			var err error
			if counts[i], err = reply.AsInt64(); err != nil {
				return nil, t.TypeError(ctx, err, key(i))
			}
		}
		return counts, nil
	}
	keys := []string{p.Expires, p.Meta}
	for _, e := range sets {
		keys = append(keys, t.Layout.ValueKey(p, e))
	}
	calls := make([]script.Call, len(values))
	for i := range values {
		calls[i] = script.Call{Keys: append(slices.Clone(keys), key(i)), Args: []string{countEvery, "0", strconv.FormatInt(flag(t.Schema.Expires >= 0), 10), "0"}}
	}
	for i, reply := range countScript.RunMany(ctx, t.Client, calls) {
		m, err := reply.ToMessage()
		if err != nil {
			return nil, t.TypeError(ctx, err, calls[i].Keys...)
		}
		if m.IsInt64() {
			counts[i], _ = m.ToInt64()
			continue
		}
		// Too many to intersect at once, or something has expired.
		if counts[i], err = c.one(ctx, part, values[i]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// one counts the records with a value in a partition step by step.
func (c *facets) one(ctx context.Context, part int, value string) (int64, error) {
	has := &expr{op: schema.OpEq, field: c.x.FieldNumbers[0], values: []string{value}, index: c.x, ranges: []schema.Range{{Low: value, High: value + "\x00"}}}
	q := &parsedQuery{e: &expr{op: schema.OpAnd, terms: append(slices.Clone(c.executor.e.terms), has)}}
	run, err := newExecutor(ctx, c.executor.t, q, nil)
	if err == nil {
		err = run.start(cursor{})
	}
	total := int64(0)
	for _, w := range run.scans {
		if err == nil && w.part == &c.executor.t.Layout.Parts[part] {
			var n int64
			n, err = w.countEach(ctx, 0)
			total += n
		}
	}
	return total, err
}

// countRows reads the contents of the records that the query finds.
func (c *facets) countRows(ctx context.Context) error {
	counts := map[string]int64{}
	for {
		rows, err := c.executor.next(ctx, maxRows)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		commands := make(rueidis.Commands, len(rows))
		for i, h := range rows {
			commands[i] = c.executor.t.Client.B().Hget().Key(c.executor.t.Layout.Of(h.id).Content).Field(h.id).Build()
		}
		for _, reply := range c.executor.t.Client.DoMulti(ctx, commands...) {
			text, err := reply.ToString()
			if rueidis.IsRedisNil(err) {
				continue // deleted meanwhile
			}
			if err != nil {
				return c.executor.t.TypeError(ctx, err)
			}
			_, entries, err := schema.Unpack(schema.Content(text))
			if errors.Is(err, schema.ErrContent) {
				continue
			}
			for _, e := range entries {
				if e.Number == c.x.Number {
					counts[e.Value]++
				}
			}
		}
	}
	for value, n := range counts {
		c.all = append(c.all, ValueCount{value, n})
	}
	return nil
}

// keep drops the values that are not among the most frequent ones if there are so many
// more.
func (c *facets) keep(more int) {
	if more > 0 && (c.most == 0 || len(c.all) < c.most+more) {
		return
	}
	slices.SortFunc(c.all, func(a, b ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if c.most > 0 {
		c.all = c.all[:min(c.most, len(c.all))]
	}
}
