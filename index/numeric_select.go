package index

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"strings"

	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/internal/script"
)

// scored is an entry as it is read.
type scored struct {
	id    string
	score float64
}

func compareScored(a, b scored) int {
	return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.id, b.id))
}

// Select yields the entries of a span in the order of their numbers. It reads in
// steps of a round trip each, 100 entries or Limit, then 500; each costs O(log n)
// and what it returns, at any offset and behind any cursor. Only in an index of
// several partitions an offset costs as much as reading what it passes over.
func (x *Numeric[N]) Select(ctx context.Context, s Span[N], page Page) iter.Seq2[NumericEntry[N], error] {
	return func(yield func(NumericEntry[N], error) bool) {
		fail := func(err error) { yield(NumericEntry[N]{}, x.wrap(ctx, err)) }
		if err := x.set.Check(ctx); err != nil {
			fail(err)
			return
		}
		r := scoreReader{set: x.set, script: x.page, page: page.settled()}
		var err error
		if r.low, r.high, err = s.ends(); err == nil {
			r.afterScore, r.afterID, err = cursorOf(page.After)
		}
		if err == nil {
			err = r.first(ctx)
		}
		if err != nil {
			fail(err)
			return
		}
		for e, err := range r.all(ctx) {
			if err != nil {
				fail(err)
				return
			}
			entry, err := entryOf[N](e.id, e.score)
			if err != nil {
				fail(err)
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// scoreReader reads a span, in steps, of all partitions.
type scoreReader struct {
	set                 *partition.Set
	script              script.Script
	page                Page
	low, high           string
	afterScore, afterID string

	steps [][]scored // the first of each partition
	size  int        // of the first steps
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
	return script.Call{Keys: keys.All(), Args: []string{r.low, r.high, reverse, strconv.Itoa(offset), strconv.Itoa(size), score, id}}
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

// all yields the part of all partitions that the page wants.
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

// read yields the entries of one partition, whose first step is there.
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
