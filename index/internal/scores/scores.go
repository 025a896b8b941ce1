// Package scores reads the entries of a numeric index by their scores.
package scores

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// Text formats a score; -0 is 0, as Redis orders it.
func Text(f float64) string { return strconv.FormatFloat(f+0, 'g', -1, 64) }

// Range is a range of scores.
type Range struct {
	Low, High         float64
	openLow, openHigh bool // the end is excluded
}

// All is the range of all scores.
func All() Range { return Range{Low: math.Inf(-1), High: math.Inf(1)} }

// Min and Max are the ends of the range as ZRANGEBYSCORE takes them.
func (r Range) Min() string { return scoreEnd(r.Low, r.openLow) }
func (r Range) Max() string { return scoreEnd(r.High, r.openHigh) }

func scoreEnd(f float64, open bool) string {
	switch {
	case open:
		return "(" + Text(f)
	case math.IsInf(f, -1):
		return "-inf" // numeric_page.lua knows that nothing is below
	}
	return Text(f)
}

// Raise moves the beginning of the range up.
func (r *Range) Raise(f float64, open bool) {
	if f > r.Low || f == r.Low && open {
		r.Low, r.openLow = f, open
	}
}

// Lower moves the end of the range down.
func (r *Range) Lower(f float64, open bool) {
	if f < r.High || f == r.High && open {
		r.High, r.openHigh = f, open
	}
}

// Empty reports whether no number is in the range.
func (r Range) Empty() bool {
	return r.Low > r.High || r.Low == r.High && (r.openLow || r.openHigh)
}

// Has reports whether a number is in the range.
func (r Range) Has(f float64) bool {
	return (f > r.Low || f == r.Low && !r.openLow) && (f < r.High || f == r.High && !r.openHigh)
}

// The numbers of entries in a step: few at first, as most readers want no more.
const (
	firstStep = 100
	nextStep  = 500
)

// Entry is an entry with its score.
type Entry struct {
	ID    string
	Score float64
}

func compare(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.ID, b.ID))
}

// Page selects a part of the entries.
type Page struct {
	Limit, Offset       int // Limit 0: all
	Reverse             bool
	AfterScore, AfterID string // begin after this entry; empty: at the beginning
}

// Reader reads a range of scores of all partitions in steps.
type Reader struct {
	Set    *partition.Set
	Script script.Script // numeric_page.lua
	Page
	Range

	steps [][]Entry // the first one of each partition
	size  int       // of the first steps
}

// Yield reads and yields the entries of the page.
func (r *Reader) Yield(ctx context.Context, yield func(Entry, error) bool) {
	if err := r.first(ctx); err != nil {
		yield(Entry{}, err)
		return
	}
	for e, err := range r.all(ctx) {
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// YieldEach yields the entries of several ranges, one after the other.
func (r *Reader) YieldEach(ctx context.Context, ranges []Range, yield func(Entry, error) bool) {
	if r.Reverse {
		slices.Reverse(ranges)
	}
	skip, left, limited := r.Offset, r.Limit, r.Limit > 0
	for _, g := range ranges {
		one := *r
		one.Range, one.Offset = g, 0
		if limited {
			one.Limit = skip + left
		}
		more := true
		one.Yield(ctx, func(e Entry, err error) bool {
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

// first reads the first step of every partition: one round trip.
func (r *Reader) first(ctx context.Context) error {
	offset := 0
	if len(r.Set.Keys) == 1 {
		offset, r.Offset = r.Offset, 0
	}
	r.size = firstStep
	if r.Limit > 0 {
		r.size = min(r.Limit+r.Offset, nextStep)
	}
	calls := make([]script.Call, len(r.Set.Keys))
	for i := range calls {
		calls[i] = r.call(&r.Set.Keys[i], offset, r.size, r.AfterScore, r.AfterID)
	}
	for _, reply := range r.Script.RunMany(ctx, r.Set.Client, calls) {
		step, err := scoredOf(reply.AsStrSlice())
		if err != nil {
			return err
		}
		r.steps = append(r.steps, step)
	}
	return nil
}

func (r *Reader) call(keys *partition.Keys, offset, size int, score, id string) script.Call {
	reverse := "0"
	if r.Reverse {
		reverse = "1"
	}
	return script.Call{Keys: keys.All(), Args: []string{r.Min(), r.Max(), reverse, strconv.Itoa(offset), strconv.Itoa(size), score, id}}
}

func scoredOf(pairs []string, err error) ([]Entry, error) {
	if err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		f, err := strconv.ParseFloat(pairs[i+1], 64)
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{pairs[i], f})
	}
	return all, nil
}

// all yields the page from all partitions, whose first steps are read.
func (r *Reader) all(ctx context.Context) iter.Seq2[Entry, error] {
	sources := make([]iter.Seq2[Entry, error], len(r.steps))
	for i := range sources {
		sources[i] = r.read(ctx, &r.Set.Keys[i], r.steps[i])
	}
	order := compare
	if r.Reverse {
		order = func(a, b Entry) int { return compare(b, a) }
	}
	return func(yield func(Entry, error) bool) {
		n, skip := 0, r.Offset
		for e, err := range scan.Merge(order, sources...) {
			if err == nil && skip > 0 {
				skip--
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
			if n++; n == r.Limit {
				return
			}
		}
	}
}

// read yields the entries of one partition from its first step on.
func (r *Reader) read(ctx context.Context, keys *partition.Keys, step []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
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
			call := r.call(keys, 0, nextStep, Text(last.Score), last.ID)
			var err error
			if step, err = scoredOf(r.Script.Run(ctx, r.Set.Client, call.Keys, call.Args).AsStrSlice()); err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}
