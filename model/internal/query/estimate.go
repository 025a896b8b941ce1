package query

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Limits of the estimate for choosing a path.
const (
	countedRanges = 64
	countedParts  = 8
)

// countCandidates counts the entries of all candidates, and all records: one pipeline.
func (f *executor) countCandidates(ctx context.Context, candidates []*candidate, order *orderedIndex) (int64, error) {
	t := f.t
	var paths []*accessPath
	for _, o := range candidates {
		o.all(func(s *accessPath) { paths = append(paths, s) })
	}
	if order != nil && order.x != nil {
		paths = append(paths, order.accessPath)
	}
	c := &counter{t: t, parts: t.Layout.Parts[:min(len(t.Layout.Parts), countedParts)]}
	for _, s := range paths {
		c.path(s)
	}
	records := int64(0)
	c.add(1, func(p *schema.Partition, _ int) rueidis.Completed { return t.Client.B().Zcard().Key(p.All).Build() }, func(n int64) {
		if records = n; order != nil && order.x == nil {
			order.size = n
		}
	})
	return records, c.run(ctx)
}

// counter counts entries in one pipeline.
type counter struct {
	t        *record.Table
	parts    []schema.Partition // partitions whose entries are counted
	commands rueidis.Commands
	sums     []func(replies []rueidis.RedisResult) ([]rueidis.RedisResult, error)
}

// add adds n items to count in each partition. The sum is extrapolated from the items that are
// actually counted.
func (c *counter) add(n int, command func(p *schema.Partition, i int) rueidis.Completed, use func(sum int64)) {
	counted := min(n, countedRanges)
	for i := range c.parts {
		for j := range counted {
			c.commands = append(c.commands, command(&c.parts[i], j))
		}
	}
	pending := counted * len(c.parts)
	c.sums = append(c.sums, func(replies []rueidis.RedisResult) ([]rueidis.RedisResult, error) {
		var total int64
		for _, r := range replies[:pending] {
			count, err := r.AsInt64()
			if err != nil {
				return nil, err
			}
			total += count
		}
		if counted > 0 {
			total = total * int64(n) / int64(counted)
		}
		use(total * int64(len(c.t.Layout.Parts)) / int64(len(c.parts)))
		return replies[pending:], nil
	})
}

// path adds the entries of a path, whose size run sets.
func (c *counter) path(s *accessPath) {
	b := c.t.Client.B
	switch {
	case s.members != nil:
	case s.x == nil:
		for _, g := range s.groups {
			c.add(len(g.sets), func(p *schema.Partition, i int) rueidis.Completed {
				return b().Zcard().Key(c.t.Layout.ValueKey(p, g.sets[i])).Build()
			}, func(n int64) {
				if s.size < 0 || n < s.size {
					s.size = n
				}
			})
		}
	case s.x.Unique:
		s.size = int64(len(s.ranges))
	default:
		c.add(len(s.ranges), func(p *schema.Partition, i int) rueidis.Completed {
			from, to := (&scan{accessPath: s}).ends(s.ranges[i])
			return b().Zlexcount().Key(c.t.Layout.IndexKey(p, s.x)).Min(from).Max(to).Build()
		}, func(n int64) { s.size = n })
	}
}

// run sends the commands and computes the sums.
func (c *counter) run(ctx context.Context) error {
	replies := c.t.Client.DoMulti(ctx, c.commands...)
	for _, sum := range c.sums {
		var err error
		if replies, err = sum(replies); err != nil {
			return c.t.TypeError(ctx, err)
		}
	}
	return nil
}
