package suggest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/redis/rueidis"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// Cleanup decrements the counts of n random terms, removes terms that reach 0, and returns the
// number removed. Like Options.Cleanup, it removes terms that are searched once and never again,
// but at a time of your choice and over the whole index. It takes one round trip per 100 terms,
// at opt.Rate. For an index with a half-life, whose counts decay anyway, it returns
// index.ErrValue.
func (x *Index) Cleanup(ctx context.Context, n int, opt maintain.Options) (removed int, err error) {
	defer x.wrap(&err)
	switch {
	case n < 1:
		return 0, fmt.Errorf("%w: %d terms: use 1 or more", index.ErrValue, n)
	case x.opt.HalfLife > 0:
		return 0, fmt.Errorf("%w: the index has a half-life: remove rare terms with Prune or %q", index.ErrValue, "retwis suggest sweep "+x.set.Key)
	}
	if err := x.set.Check(ctx); err != nil {
		return 0, err
	}
	run := engine.Start(opt)
	run.Total = int64(n)
	for n > 0 {
		terms, err := sample(ctx, x, min(n, batchTerms))
		if err != nil || len(terms) == 0 {
			return removed, err
		}
		deleted, err := x.remove(ctx, "lose", 1, terms)
		removed += deleted
		if err != nil {
			return removed, err
		}
		n -= len(terms)
		if err := run.Step(ctx, len(terms)); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sample returns the names of at most n random terms, taken from the partitions in proportion
// to their sizes, at least one from each: two round trips.
func sample(ctx context.Context, x *Index, n int) ([]string, error) {
	sizes := make(rueidis.Commands, len(x.keys))
	for i, k := range x.keys {
		sizes[i] = x.set.Client.B().Hlen().Key(k.Content).Build()
	}
	lengths := make([]int64, len(x.keys))
	total := int64(0)
	for i, r := range x.set.Client.DoMulti(ctx, sizes...) {
		var err error
		if lengths[i], err = r.AsInt64(); err != nil {
			return nil, err
		}
		total += lengths[i]
	}
	if total == 0 {
		return nil, nil
	}
	var commands rueidis.Commands
	for i, k := range x.keys {
		if share := (int64(n)*lengths[i] + total - 1) / total; share > 0 {
			commands = append(commands, x.set.Client.B().Hrandfield().Key(k.Content).Count(share).Build())
		}
	}
	var names []string
	for _, r := range x.set.Client.DoMulti(ctx, commands...) {
		found, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	if len(names) > n {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names[:min(n, len(names))], nil
}

// Prune removes terms with a count below minCount, and returns the number removed. With a
// half-life it compares the decayed count; decay alone removes no term. It reads all terms, a
// few hundred per step, at opt.Rate; the script that removes a term checks the count of the term
// again. Prune can be interrupted and repeated.
func (x *Index) Prune(ctx context.Context, minCount int64, opt maintain.Options) (removed int, err error) {
	defer x.wrap(&err)
	if minCount < 1 {
		return 0, fmt.Errorf("%w: counts are never below %d", index.ErrValue, minCount)
	}
	run := engine.Start(opt)
	if run.Total, err = x.set.Len(ctx); err != nil {
		return 0, err
	}
	below := float64(minCount)
	if x.opt.HalfLife > 0 {
		now, err := x.now(ctx)
		if err != nil {
			return 0, err
		}
		below = math.Log2(below) + now
	}
	for _, k := range x.keys {
		for page, err := range scan.Hash(ctx, x.set.Client, k.Content, step) {
			if err != nil {
				return removed, err
			}
			var rare []string
			for i := 0; i+1 < len(page); i += 2 {
				if t, ok := parseValue(page[i], page[i+1]); ok && t.count < below {
					rare = append(rare, t.name)
				}
			}
			n, err := x.remove(ctx, "below", below, rare)
			removed += n
			if err != nil {
				return removed, err
			}
			if err := run.Step(ctx, len(page)/2); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}
