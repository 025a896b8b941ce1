package index

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// scored is an entry with its score.
type scored struct {
	id    string
	score float64
}

func compareScored(a, b scored) int {
	return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.id, b.id))
}

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
				entry, err = entryOf[N](e.id, e.score)
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
			return x.set.Client.B().Zcount().Key(k.Index).Min(r.min()).Max(r.max()).Build()
		})
		total += n
	}
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	return total, nil
}

// query yields the scores of a page.
func (x *Numeric[N]) query(ctx context.Context, page Page, conditions []Condition) iter.Seq2[scored, error] {
	return func(yield func(scored, error) bool) {
		ranges, err := x.plan(conditions)
		if err == nil {
			err = x.set.Check(ctx)
		}
		r := scoreReader{set: x.set, script: x.page, page: page}
		if err == nil {
			r.afterScore, r.afterID, err = parseCursor(page.After)
		}
		switch {
		case err != nil:
			yield(scored{}, err)
		case len(ranges) == 1:
			r.scoreRange = ranges[0]
			r.yield(ctx, yield)
		default:
			r.yieldEach(ctx, ranges, yield)
		}
	}
}

// yieldEach yields the entries of several ranges, one after the other.
func (r *scoreReader) yieldEach(ctx context.Context, ranges []scoreRange, yield func(scored, error) bool) {
	if r.page.Reverse {
		slices.Reverse(ranges)
	}
	skip, left, limited := r.page.Offset, r.page.Limit, r.page.Limit > 0
	for _, g := range ranges {
		one := *r
		one.scoreRange, one.page.Offset = g, 0
		if limited {
			one.page.Limit = skip + left
		}
		more := true
		one.yield(ctx, func(e scored, err error) bool {
			if err == nil && skip > 0 {
				skip--
				return true
			}
			left--
			more = yield(e, err) && err == nil && (!limited || left > 0)
			return more
		})
		if !more {
			return
		}
	}
}

// scoreReader reads a range of scores of all partitions in steps.
type scoreReader struct {
	set    *partition.Set
	script script.Script
	page   Page
	scoreRange
	afterScore, afterID string

	steps [][]scored // the first one of each partition
	size  int        // of the first steps
}

// yield reads and yields the entries of the page.
func (r *scoreReader) yield(ctx context.Context, yield func(scored, error) bool) {
	if err := r.first(ctx); err != nil {
		yield(scored{}, err)
		return
	}
	for e, err := range r.all(ctx) {
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// first reads the first step of every partition: one round trip.
func (r *scoreReader) first(ctx context.Context) error {
	offset := 0
	if len(r.set.Keys) == 1 {
		offset, r.page.Offset = r.page.Offset, 0
	}
	r.size = firstStep
	if r.page.Limit > 0 {
		r.size = min(r.page.Limit+r.page.Offset, nextStep)
	}
	calls := make([]script.Call, len(r.set.Keys))
	for i := range calls {
		calls[i] = r.call(&r.set.Keys[i], offset, r.size, r.afterScore, r.afterID)
	}
	for _, reply := range r.script.RunMany(ctx, r.set.Client, calls) {
		step, err := scoredOf(reply.AsStrSlice())
		if err != nil {
			return err
		}
		r.steps = append(r.steps, step)
	}
	return nil
}

func (r *scoreReader) call(keys *partition.Keys, offset, size int, score, id string) script.Call {
	reverse := "0"
	if r.page.Reverse {
		reverse = "1"
	}
	return script.Call{Keys: keys.All(), Args: []string{r.min(), r.max(), reverse, strconv.Itoa(offset), strconv.Itoa(size), score, id}}
}

func scoredOf(pairs []string, err error) ([]scored, error) {
	if err != nil {
		return nil, err
	}
	all := make([]scored, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		f, err := strconv.ParseFloat(pairs[i+1], 64)
		if err != nil {
			return nil, err
		}
		all = append(all, scored{pairs[i], f})
	}
	return all, nil
}

// all yields the page from all partitions, whose first steps are read.
func (r *scoreReader) all(ctx context.Context) iter.Seq2[scored, error] {
	sources := make([]iter.Seq2[scored, error], len(r.steps))
	for i := range sources {
		sources[i] = r.read(ctx, &r.set.Keys[i], r.steps[i])
	}
	compare := compareScored
	if r.page.Reverse {
		compare = func(a, b scored) int { return compareScored(b, a) }
	}
	return func(yield func(scored, error) bool) {
		n, skip := 0, r.page.Offset
		for e, err := range scan.Merge(compare, sources...) {
			if err == nil && skip > 0 {
				skip--
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
			if n++; n == r.page.Limit {
				return
			}
		}
	}
}

// read yields the entries of one partition from its first step on.
func (r *scoreReader) read(ctx context.Context, keys *partition.Keys, step []scored) iter.Seq2[scored, error] {
	return func(yield func(scored, error) bool) {
		for size := r.size; ; size = nextStep {
			for _, e := range step {
				if !yield(e, nil) {
					return
				}
			}
			if len(step) < size {
				return
			}
			last := step[len(step)-1]
			call := r.call(keys, 0, nextStep, scoreText(last.score), last.id)
			var err error
			if step, err = scoredOf(r.script.Run(ctx, r.set.Client, call.Keys, call.Args).AsStrSlice()); err != nil {
				yield(scored{}, err)
				return
			}
		}
	}
}
