// Package members reads the members of a lexicographic index: ranges of its sorted sets, in
// order, merged from its partitions.
package members

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// Member is an entry of an index.
type Member struct{ ID, Member string }

// Query selects members.
type Query struct {
	Limit, Offset int // Limit 0: all
	Reverse       bool
	After         string                   // a cursor
	Ranges        []Range                  // disjoint and in order; empty: all
	Keep          func(member string) bool // a filter before Limit and Offset count; may be nil
	Sift          []string                 // bounds of columns for sift.lua; empty: not needed
}

// Reader reads the members of an index.
type Reader struct {
	Set  *partition.Set
	ID   func(member string) (string, error)
	Sift script.Script
}

// Shorten quotes an id or a member for an error.
func Shorten(id string) string {
	if len(id) > 60 {
		return fmt.Sprintf("%q…", id[:60])
	}
	return fmt.Sprintf("%q", id)
}

// The numbers of members in a step: few at first, as most readers want no more.
// sift.lua examines lookAt members in about a millisecond.
const (
	firstStep  = 100
	nextStep   = 500
	lookAt     = 1000
	rangesStep = 64
)

// Read yields the members of a query in order, without those that have no id.
func (x *Reader) Read(ctx context.Context, q Query) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if err := x.Set.Check(ctx); err != nil {
			yield(Member{}, err)
			return
		}
		ranges, err := q.clip()
		if err != nil {
			yield(Member{}, err)
			return
		}
		page := q.normalize()
		sources := make([]iter.Seq2[string, error], len(x.Set.Keys))
		reader := memberReader{x: x, q: page, ranges: ranges}
		if len(sources) == 1 && len(ranges) == 1 && q.Keep == nil && len(q.Sift) == 0 {
			reader.offset, page.Offset = page.Offset, 0
		}
		first, err := reader.first(ctx)
		if err != nil {
			yield(Member{}, err)
			return
		}
		for i := range sources {
			sources[i] = reader.read(ctx, &x.Set.Keys[i], first[i])
		}
		compare := strings.Compare
		if q.Reverse {
			compare = func(a, b string) int { return strings.Compare(b, a) }
		}
		x.yieldPage(scan.Merge(compare, sources...), page, yield)
	}
}

// yieldPage yields the entries of a page.
func (x *Reader) yieldPage(members iter.Seq2[string, error], page Query, yield func(Member, error) bool) {
	n := 0
	for member, err := range members {
		if err != nil {
			yield(Member{}, err)
			return
		}
		if page.Offset > 0 {
			page.Offset--
			continue
		}
		id, err := x.ID(member)
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

// memberReader reads the ranges of a query.
type memberReader struct {
	x      *Reader
	q      Query
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
	for i := range r.x.Set.Keys {
		for _, g := range ranges {
			reads = append(reads, rangeRead{&r.x.Set.Keys[i], g})
		}
	}
	all, err := r.steps(ctx, reads, r.firstSize(), r.offset)
	if err != nil {
		return nil, err
	}
	steps := make([][]step, len(r.x.Set.Keys))
	for i := range steps {
		steps[i] = all[i*len(ranges) : (i+1)*len(ranges)]
	}
	return steps, nil
}

// firstSize is the number of members in the first step.
func (r *memberReader) firstSize() int {
	wanted := r.q.Limit + r.q.Offset - r.offset
	if r.q.Limit <= 0 || r.q.Keep != nil || len(r.q.Sift) > 0 && wanted > firstStep {
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
			if (r.q.Keep == nil || r.q.Keep(m)) && !yield(m, nil) {
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
	if len(r.q.Sift) > 0 {
		return r.sifted(ctx, reads, size)
	}
	client := r.x.Set.Client
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
		return []rueidis.RedisResult{r.x.Set.Client.Do(ctx, commands[0])}
	}
	return r.x.Set.Client.DoMulti(ctx, commands...)
}

// sifted is steps with a filter in the server: the bounds of columns.
func (r *memberReader) sifted(ctx context.Context, reads []rangeRead, size int) ([]step, error) {
	calls := make([]script.Call, len(reads))
	for i, a := range reads {
		calls[i] = r.x.siftCall(a.keys, a.Range, r.q, size)
	}
	steps := make([]step, len(reads))
	for i, reply := range r.x.Sift.RunMany(ctx, r.x.Set.Client, calls) {
		_, last, members, err := siftReply(reply)
		if err != nil {
			return nil, err
		}
		steps[i] = step{members, last}
	}
	return steps, nil
}

// siftCall is a call of sift.lua; size 0 counts.
func (x *Reader) siftCall(keys *partition.Keys, r Range, q Query, size int) script.Call {
	reverse := "0"
	if q.Reverse {
		reverse = "1"
	}
	args := append([]string{r.Min, r.Max, reverse, strconv.Itoa(size), strconv.Itoa(lookAt)}, q.Sift...)
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

// Count counts the results of a query without a page.
func (x *Reader) Count(ctx context.Context, q Query) (int64, error) {
	if q.Keep != nil {
		return x.countKept(ctx, q)
	}
	ranges, err := q.clip()
	if err != nil {
		return 0, err
	}
	if err := x.Set.Check(ctx); err != nil {
		return 0, err
	}
	if len(q.Sift) > 0 {
		n, err := x.countSifted(ctx, q, ranges)
		return n, err
	}
	var total int64
	for begin := 0; begin < len(ranges); begin += rangesStep {
		var commands rueidis.Commands
		for _, r := range ranges[begin:min(begin+rangesStep, len(ranges))] {
			for i := range x.Set.Keys {
				commands = append(commands, x.Set.Client.B().Zlexcount().Key(x.Set.Keys[i].Index).Min(r.Min).Max(r.Max).Build())
			}
		}
		for _, reply := range x.Set.Client.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

// countKept counts what passes a filter here.
func (x *Reader) countKept(ctx context.Context, q Query) (n int64, err error) {
	for _, err := range x.Read(ctx, q) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// countSifted counts what sift.lua keeps, in steps over all partitions at once.
func (x *Reader) countSifted(ctx context.Context, q Query, ranges []Range) (int64, error) {
	var total int64
	for _, r := range ranges {
		left := make([]Range, len(x.Set.Keys)) // in each partition; empty: nothing
		for i := range left {
			left[i] = r
		}
		for {
			var calls []script.Call
			var sent []int
			for i, rest := range left {
				if rest != (Range{}) {
					calls = append(calls, x.siftCall(&x.Set.Keys[i], rest, q, 0))
					sent = append(sent, i)
				}
			}
			if len(calls) == 0 {
				break
			}
			for c, reply := range x.Sift.RunMany(ctx, x.Set.Client, calls) {
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

// normalize clamps Limit and Offset so that they are not negative and can be added.
func (q Query) normalize() Query {
	q.Limit = min(max(q.Limit, 0), math.MaxInt/2)
	q.Offset = min(max(q.Offset, 0), math.MaxInt/2)
	return q
}
