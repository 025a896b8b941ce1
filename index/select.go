package index

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// Range is a range of members, its ends as ZRANGEBYLEX takes them: "[a" includes a,
// "(a" excludes it, "-" and "+" are the first and the last of all.
type Range struct{ Min, Max string }

// allMembers is the range of all members.
func allMembers() Range { return Range{"-", "+"} }

// PrefixRange returns the range of the members that begin with a prefix.
func PrefixRange(prefix string) Range {
	end := ordered.Successor(prefix)
	switch {
	case prefix == "":
		return allMembers()
	case end == "":
		return Range{"[" + prefix, "+"}
	}
	return Range{"[" + prefix, "(" + end}
}

// memberQuery is a query of a Lexical.
type memberQuery struct {
	Page
	ranges []Range                  // disjoint and in order; empty: all
	keep   func(member string) bool // a filter before Limit and Offset count; may be nil
	sift   []string                 // bounds of columns for sift.lua; empty: not needed
}

// The numbers of members in a step: few at first, as most readers want no more.
// sift.lua examines lookAt members in about a millisecond.
const (
	firstStep  = 100
	nextStep   = 500
	lookAt     = 1000
	rangesStep = 64
)

// Select yields the entries of some ranges in order; without ranges, all. The ranges
// must be disjoint and in order. It reads in steps of a round trip: the first one
// reads 100 members, or Limit, of every range in every partition, the next ones 500 of
// a range. A step costs O(log n) for each range, and what it returns.
//
// An entry that is put or removed during the query is seen or not, and never half.
// One that is moved forward can be seen at both places.
func (x *Lexical) Select(ctx context.Context, page Page, ranges ...Range) iter.Seq2[Member, error] {
	return x.query(ctx, memberQuery{Page: page, ranges: ranges})
}

// All yields all entries in order.
func (x *Lexical) All(ctx context.Context, page Page) iter.Seq2[Member, error] {
	return x.Select(ctx, page)
}

func (x *Lexical) query(ctx context.Context, q memberQuery) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if err := x.set.Check(ctx); err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		ranges, err := q.clip()
		if err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		page := q.normalize()
		sources := make([]iter.Seq2[string, error], len(x.set.Keys))
		reader := memberReader{x: x, q: q, ranges: ranges}
		reader.q.Page = page
		if len(sources) == 1 && len(ranges) == 1 && q.keep == nil && len(q.sift) == 0 {
			reader.offset, page.Offset = page.Offset, 0
		}
		first, err := reader.first(ctx)
		if err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		for i := range sources {
			sources[i] = reader.read(ctx, &x.set.Keys[i], first[i])
		}
		compare := strings.Compare
		if q.Reverse {
			compare = func(a, b string) int { return strings.Compare(b, a) }
		}
		x.yieldPage(ctx, scan.Merge(compare, sources...), page, yield)
	}
}

// yieldPage yields the entries of a page.
func (x *Lexical) yieldPage(ctx context.Context, members iter.Seq2[string, error], page Page, yield func(Member, error) bool) {
	n := 0
	for member, err := range members {
		if err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		if page.Offset > 0 {
			page.Offset--
			continue
		}
		id, err := x.id(member)
		if err != nil {
			// This index did not write it; Verify reports it.
			continue
		}
		if !yield(Member{id, member}, nil) {
			return
		}
		if n++; n == page.Limit {
			return
		}
	}
}

// clip returns the ranges in the order in which they are read, from the cursor on.
func (q *memberQuery) clip() ([]Range, error) {
	ranges := q.ranges
	if len(ranges) == 0 {
		ranges = []Range{allMembers()}
	}
	at, err := scan.DecodeCursor(q.After)
	if err != nil {
		return nil, err
	}
	var all []Range
	for _, r := range ranges {
		if !isEnd(r.Min) || !isEnd(r.Max) {
			return nil, fmt.Errorf("%w: the range from %s to %s: an end is -, +, or begins with [ or (", ErrValue, shorten(r.Min), shorten(r.Max))
		}
		switch {
		case q.After == "":
		case q.Reverse && beginsBefore(r.Min, at):
			r.Max = lowerMax(r.Max, at)
		case q.Reverse, !endsAfter(r.Max, at):
			continue
		default:
			r.Min = raiseMin(r.Min, at)
		}
		all = append(all, r)
	}
	if q.Reverse {
		slices.Reverse(all)
	}
	return all, nil
}

// isEnd reports whether ZRANGEBYLEX takes an end of a range.
func isEnd(end string) bool {
	return end == "-" || end == "+" || strings.HasPrefix(end, "[") || strings.HasPrefix(end, "(")
}

// beginsBefore reports whether a range that begins at min has members before at.
func beginsBefore(min, at string) bool { return min == "-" || min != "+" && min[1:] < at }

// endsAfter reports whether a range that ends at max has members after at.
func endsAfter(max, at string) bool { return max == "+" || max != "-" && max[1:] > at }

// lowerMax returns the end of a range that must also end before at.
func lowerMax(max, at string) string {
	if max == "+" || max != "-" && max[1:] >= at {
		return "(" + at
	}
	return max
}

// raiseMin returns the beginning of a range that must also begin after at.
func raiseMin(min, at string) string {
	if min == "-" || min != "+" && min[1:] <= at {
		return "(" + at
	}
	return min
}

// memberReader reads the ranges of a query.
type memberReader struct {
	x      *Lexical
	q      memberQuery
	ranges []Range
	offset int // skipped by the server
}

// step is one read of a range.
type step struct {
	members []string
	last    string // continue after it; empty: the range is exhausted
}

// rangeRead is a range in a partition that is to read.
type rangeRead struct {
	keys *partition.Keys
	Range
}

// first reads the beginning of each of the first ranges in every partition: one
// round trip.
func (r *memberReader) first(ctx context.Context) ([][]step, error) {
	ranges := r.ranges[:min(rangesStep, len(r.ranges))]
	var reads []rangeRead
	for i := range r.x.set.Keys {
		for _, g := range ranges {
			reads = append(reads, rangeRead{&r.x.set.Keys[i], g})
		}
	}
	all, err := r.steps(ctx, reads, r.firstSize(), r.offset)
	if err != nil {
		return nil, err
	}
	steps := make([][]step, len(r.x.set.Keys))
	for i := range steps {
		steps[i] = all[i*len(ranges) : (i+1)*len(ranges)]
	}
	return steps, nil
}

// firstSize is the number of members in the first step.
func (r *memberReader) firstSize() int {
	wanted := r.q.Limit + r.q.Offset - r.offset
	if r.q.Limit <= 0 || r.q.keep != nil || len(r.q.sift) > 0 && wanted > firstStep {
		return firstStep
	}
	return min(wanted, nextStep)
}

// read yields the members of one partition. The steps are the beginnings of its
// first ranges.
func (r *memberReader) read(ctx context.Context, keys *partition.Keys, steps []step) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for begin := 0; begin < len(r.ranges); begin += rangesStep {
			ranges := r.ranges[begin:min(begin+rangesStep, len(r.ranges))]
			if begin > 0 {
				reads := make([]rangeRead, len(ranges))
				for i, g := range ranges {
					reads[i] = rangeRead{keys, g}
				}
				var err error
				if steps, err = r.steps(ctx, reads, firstStep, 0); err != nil {
					yield("", err)
					return
				}
			}
			for i, g := range ranges {
				if !r.readRange(ctx, rangeRead{keys, g}, steps[i], yield) {
					return
				}
			}
		}
	}
}

// readRange yields the members of a range from its first step on, and reports
// whether to continue.
func (r *memberReader) readRange(ctx context.Context, a rangeRead, s step, yield func(string, error) bool) bool {
	for {
		for _, m := range s.members {
			if (r.q.keep == nil || r.q.keep(m)) && !yield(m, nil) {
				return false
			}
		}
		if s.last == "" {
			return true
		}
		if r.q.Reverse {
			a.Max = "(" + s.last
		} else {
			a.Min = "(" + s.last
		}
		more, err := r.steps(ctx, []rangeRead{a}, nextStep, 0)
		if err != nil {
			yield("", err)
			return false
		}
		s = more[0]
	}
}

// steps reads the beginnings of ranges: one round trip.
func (r *memberReader) steps(ctx context.Context, reads []rangeRead, size, offset int) ([]step, error) {
	if len(r.q.sift) > 0 {
		return r.sifted(ctx, reads, size)
	}
	client := r.x.set.Client
	commands := make(rueidis.Commands, len(reads))
	for i, a := range reads {
		if r.q.Reverse {
			commands[i] = client.B().Zrevrangebylex().Key(a.keys.Index).Max(a.Max).Min(a.Min).Limit(int64(offset), int64(size)).Build()
		} else {
			commands[i] = client.B().Zrangebylex().Key(a.keys.Index).Min(a.Min).Max(a.Max).Limit(int64(offset), int64(size)).Build()
		}
	}
	steps := make([]step, len(reads))
	for i, reply := range r.do(ctx, commands) {
		members, err := reply.AsStrSlice()
		if err != nil {
			return nil, err
		}
		steps[i].members = members
		if len(members) == size {
			steps[i].last = members[size-1]
		}
	}
	return steps, nil
}

// do sends commands; a single one without a pipeline.
func (r *memberReader) do(ctx context.Context, commands rueidis.Commands) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{r.x.set.Client.Do(ctx, commands[0])}
	}
	return r.x.set.Client.DoMulti(ctx, commands...)
}

// sifted is steps with a filter in the server: the bounds of columns.
func (r *memberReader) sifted(ctx context.Context, reads []rangeRead, size int) ([]step, error) {
	calls := make([]script.Call, len(reads))
	for i, a := range reads {
		calls[i] = r.x.siftCall(a.keys, a.Range, r.q, size)
	}
	steps := make([]step, len(reads))
	for i, reply := range r.x.sift.RunMany(ctx, r.x.set.Client, calls) {
		_, last, members, err := siftReply(reply)
		if err != nil {
			return nil, err
		}
		steps[i] = step{members, last}
	}
	return steps, nil
}

// siftCall is a call of sift.lua; size 0 counts.
func (x *Lexical) siftCall(keys *partition.Keys, r Range, q memberQuery, size int) script.Call {
	reverse := "0"
	if q.Reverse {
		reverse = "1"
	}
	args := append([]string{r.Min, r.Max, reverse, strconv.Itoa(size), strconv.Itoa(lookAt)}, q.sift...)
	return script.Call{Keys: keys.All(), Args: args}
}

func siftReply(reply rueidis.RedisResult) (n int64, last string, members []string, err error) {
	all, err := reply.ToArray()
	if err != nil {
		return 0, "", nil, err
	}
	if n, err = all[0].AsInt64(); err != nil {
		return 0, "", nil, err
	}
	if last, err = all[1].ToString(); err != nil {
		return 0, "", nil, err
	}
	for _, v := range all[2:] {
		m, err := v.ToString()
		if err != nil {
			return 0, "", nil, err
		}
		members = append(members, m)
	}
	return n, last, members, nil
}

// Count returns the number of entries in some ranges, which must be disjoint; without
// ranges, of all. One round trip, O(log n) for each range and partition.
func (x *Lexical) Count(ctx context.Context, ranges ...Range) (int64, error) {
	return x.count(ctx, memberQuery{ranges: ranges})
}

// count counts the results of a query without a page.
func (x *Lexical) count(ctx context.Context, q memberQuery) (int64, error) {
	if q.keep != nil {
		return x.countKept(ctx, q)
	}
	ranges, err := q.clip()
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	if err := x.set.Check(ctx); err != nil {
		return 0, x.wrap(ctx, err)
	}
	if len(q.sift) > 0 {
		n, err := x.countSifted(ctx, q, ranges)
		return n, x.wrap(ctx, err)
	}
	var total int64
	for begin := 0; begin < len(ranges); begin += rangesStep {
		var commands rueidis.Commands
		for _, r := range ranges[begin:min(begin+rangesStep, len(ranges))] {
			for i := range x.set.Keys {
				commands = append(commands, x.set.Client.B().Zlexcount().Key(x.set.Keys[i].Index).Min(r.Min).Max(r.Max).Build())
			}
		}
		for _, reply := range x.set.Client.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			if err != nil {
				return 0, x.wrap(ctx, err)
			}
			total += n
		}
	}
	return total, nil
}

// countKept counts what passes a filter here.
func (x *Lexical) countKept(ctx context.Context, q memberQuery) (n int64, err error) {
	for _, err := range x.query(ctx, q) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// countSifted counts what sift.lua keeps, in steps over all partitions at once.
func (x *Lexical) countSifted(ctx context.Context, q memberQuery, ranges []Range) (int64, error) {
	var total int64
	for _, r := range ranges {
		left := make([]Range, len(x.set.Keys)) // in each partition; empty: nothing
		for i := range left {
			left[i] = r
		}
		for {
			var calls []script.Call
			var sent []int
			for i, rest := range left {
				if rest != (Range{}) {
					calls = append(calls, x.siftCall(&x.set.Keys[i], rest, q, 0))
					sent = append(sent, i)
				}
			}
			if len(calls) == 0 {
				break
			}
			for c, reply := range x.sift.RunMany(ctx, x.set.Client, calls) {
				n, last, _, err := siftReply(reply)
				if err != nil {
					return 0, err
				}
				total += n
				if left[sent[c]] = (Range{"(" + last, r.Max}); last == "" {
					left[sent[c]] = Range{}
				}
			}
		}
	}
	return total, nil
}
