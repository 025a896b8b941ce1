package index

import (
	"context"
	"iter"

	"github.com/redis/rueidis"

	"retwis/index/internal/scores"
	"retwis/internal/redis/partition"
)

// Select yields the entries that match all conditions, in the order of their numbers.
// The conditions are on the column of the index; Prefix is not among them. It reads in
// steps of a round trip each, 100 entries or Limit, then 500; each costs O(log n) and
// what it returns, at any offset and after any cursor. Only in an index of several
// partitions an offset costs as much as reading what it skips. The values of an In are
// read one after the other.
func (x *Numeric[N]) Select(ctx context.Context, page Page, conditions ...Condition) iter.Seq2[NumericEntry[N], error] {
	return func(yield func(NumericEntry[N], error) bool) {
		for e, err := range x.query(ctx, page.normalize(), conditions) {
			var entry NumericEntry[N]
			if err == nil {
				entry, err = entryOf[N](e.ID, e.Score)
			}
			if err = x.wrap(ctx, err); !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

// All yields all entries in the order of their numbers.
func (x *Numeric[N]) All(ctx context.Context, page Page) iter.Seq2[NumericEntry[N], error] {
	return x.Select(ctx, page)
}

// Count returns how many entries match all conditions: one round trip, O(log n), for
// each value of an In.
func (x *Numeric[N]) Count(ctx context.Context, conditions ...Condition) (int64, error) {
	ranges, err := x.plan(conditions)
	if err == nil {
		err = x.set.Check(ctx)
	}
	var total int64
	for _, r := range ranges {
		if err != nil {
			break
		}
		var n int64
		n, err = x.set.Sum(ctx, func(k *partition.Keys) rueidis.Completed {
			return x.set.Client.B().Zcount().Key(k.Index).Min(r.Min()).Max(r.Max()).Build()
		})
		total += n
	}
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	return total, nil
}

// query yields the scores of a page.
func (x *Numeric[N]) query(ctx context.Context, page Page, conditions []Condition) iter.Seq2[scores.Entry, error] {
	return func(yield func(scores.Entry, error) bool) {
		ranges, err := x.plan(conditions)
		if err == nil {
			err = x.set.Check(ctx)
		}
		r := scores.Reader{Set: x.set, Script: x.page, Page: scores.Page{Limit: page.Limit, Offset: page.Offset, Reverse: page.Reverse}}
		if err == nil {
			r.AfterScore, r.AfterID, err = parseCursor(page.After)
		}
		switch {
		case err != nil:
			yield(scores.Entry{}, err)
		case len(ranges) == 1:
			r.Range = ranges[0]
			r.Yield(ctx, yield)
		default:
			r.YieldEach(ctx, ranges, yield)
		}
	}
}
