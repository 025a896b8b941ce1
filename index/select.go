package index

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/internal/script"
)

//go:embed sift.lua
var siftLua string

// LexRange is a range of members, its ends as ZRANGEBYLEX takes them: "[a"
// includes a, "(a" does not, "-" and "+" are before and behind all.
type LexRange struct{ Min, Max string }

// All is the range of all members.
func allMembers() LexRange { return LexRange{"-", "+"} }

// Prefix is the range of the members that begin with some bytes.
func Prefix(p string) LexRange {
	end := ordered.Successor(p)
	switch {
	case p == "":
		return allMembers()
	case end == "":
		return LexRange{"[" + p, "+"}
	}
	return LexRange{"[" + p, "(" + end}
}

// LexQuery says what Select is to find.
type LexQuery struct {
	Page
	// Ranges do not overlap and are in order. Default: all.
	Ranges []LexRange
	// Keep, if there is one, passes over the members for which it is false,
	// before Limit and Offset count them.
	Keep func(member string) bool

	sift []string // how sift.lua reads the columns; empty: it is not needed
}

// How many members are read in a step: few at first, as most readers want no
// more. sift.lua looks at lookAt in about a millisecond.
const (
	firstStep  = 100
	nextStep   = 500
	lookAt     = 1000
	rangesStep = 64
)

// Select yields the entries of a query in order. It reads in steps of a round
// trip each: the first asks all ranges of all partitions for their first 100
// members, or Limit, the next ones a range for 500. A step costs O(log n) for
// each range, and what it returns.
//
// An entry that others put or remove while it reads is seen or not, and never
// half; one that they move from before the place of the reader to behind it can
// be seen in both.
func (x *Lexical) Select(ctx context.Context, q LexQuery) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if err := x.set.Check(ctx); err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		ranges, err := q.clipped()
		if err != nil {
			yield(Member{}, x.wrap(ctx, err))
			return
		}
		page := q.settled()
		sources := make([]iter.Seq2[string, error], len(x.set.Keys))
		reader := lexReader{x: x, q: q, ranges: ranges}
		reader.q.Page = page
		if len(sources) == 1 && len(ranges) == 1 && q.Keep == nil && len(q.sift) == 0 {
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

// yieldPage yields the part of all members that a page wants.
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
			// Not one that this index writes; Verify tells of it.
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

// clipped returns the ranges in the order in which they are read, without what
// is before the cursor.
func (q *LexQuery) clipped() ([]LexRange, error) {
	ranges := q.Ranges
	if len(ranges) == 0 {
		ranges = []LexRange{allMembers()}
	}
	at, err := scan.DecodeCursor(q.After)
	if err != nil {
		return nil, err
	}
	var all []LexRange
	for _, r := range ranges {
		if !isEnd(r.Min) || !isEnd(r.Max) {
			return nil, fmt.Errorf("%w: the range from %s to %s: an end is -, +, or begins with [ or (", ErrValue, shown(r.Min), shown(r.Max))
		}
		switch {
		case q.After == "":
		case q.Reverse && before(r.Min, at):
			r.Max = tighter(r.Max, at)
		case q.Reverse, !beyond(r.Max, at):
			continue
		default:
			r.Min = tighterMin(r.Min, at)
		}
		all = append(all, r)
	}
	if q.Reverse {
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
	}
	return all, nil
}

// isEnd tells whether ZRANGEBYLEX takes an end of a range.
func isEnd(end string) bool {
	return end == "-" || end == "+" || strings.HasPrefix(end, "[") || strings.HasPrefix(end, "(")
}

// before tells whether a range that begins at min has something before at.
func before(min, at string) bool { return min == "-" || min != "+" && min[1:] < at }

// beyond tells whether a range that ends at max has something behind at.
func beyond(max, at string) bool { return max == "+" || max != "-" && max[1:] > at }

// tighter is the end of a range that also ends before at.
func tighter(max, at string) string {
	if max == "+" || max != "-" && max[1:] >= at {
		return "(" + at
	}
	return max
}

// tighterMin is the beginning of a range that also begins behind at.
func tighterMin(min, at string) string {
	if min == "-" || min != "+" && min[1:] <= at {
		return "(" + at
	}
	return min
}

// lexReader reads the ranges of a query.
type lexReader struct {
	x      *Lexical
	q      LexQuery
	ranges []LexRange
	offset int // that the server passes over
}

// step is what a reading of a range found.
type step struct {
	members []string
	last    string // go on behind it; empty: the range is at its end
}

// ask is a reading of a range in a partition.
type ask struct {
	keys *partition.Keys
	LexRange
}

// first reads the beginnings of the first ranges in every partition: one round
// trip.
func (r *lexReader) first(ctx context.Context) ([][]step, error) {
	ranges := r.ranges[:min(rangesStep, len(r.ranges))]
	var asks []ask
	for i := range r.x.set.Keys {
		for _, g := range ranges {
			asks = append(asks, ask{&r.x.set.Keys[i], g})
		}
	}
	all, err := r.steps(ctx, asks, r.firstSize(), r.offset)
	if err != nil {
		return nil, err
	}
	steps := make([][]step, len(r.x.set.Keys))
	for i := range steps {
		steps[i] = all[i*len(ranges) : (i+1)*len(ranges)]
	}
	return steps, nil
}

// firstSize is how many members the first step reads.
func (r *lexReader) firstSize() int {
	wanted := r.q.Limit + r.q.Offset - r.offset
	if r.q.Limit <= 0 || r.q.Keep != nil || len(r.q.sift) > 0 && wanted > firstStep {
		return firstStep
	}
	return min(wanted, nextStep)
}

// read yields the members of one partition, of whose first ranges the beginnings
// are there.
func (r *lexReader) read(ctx context.Context, keys *partition.Keys, steps []step) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for begin := 0; begin < len(r.ranges); begin += rangesStep {
			ranges := r.ranges[begin:min(begin+rangesStep, len(r.ranges))]
			if begin > 0 {
				asks := make([]ask, len(ranges))
				for i, g := range ranges {
					asks[i] = ask{keys, g}
				}
				var err error
				if steps, err = r.steps(ctx, asks, firstStep, 0); err != nil {
					yield("", err)
					return
				}
			}
			for i, g := range ranges {
				if !r.readRange(ctx, ask{keys, g}, steps[i], yield) {
					return
				}
			}
		}
	}
}

// readRange yields the members of a range whose beginning is there, and tells
// whether to go on.
func (r *lexReader) readRange(ctx context.Context, a ask, s step, yield func(string, error) bool) bool {
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
		more, err := r.steps(ctx, []ask{a}, nextStep, 0)
		if err != nil {
			yield("", err)
			return false
		}
		s = more[0]
	}
}

// steps reads the beginnings of ranges in one round trip.
func (r *lexReader) steps(ctx context.Context, asks []ask, size, offset int) ([]step, error) {
	if len(r.q.sift) > 0 {
		return r.sifted(ctx, asks, size)
	}
	client := r.x.set.Client
	commands := make(rueidis.Commands, len(asks))
	for i, a := range asks {
		if r.q.Reverse {
			commands[i] = client.B().Zrevrangebylex().Key(a.keys.Index).Max(a.Max).Min(a.Min).Limit(int64(offset), int64(size)).Build()
		} else {
			commands[i] = client.B().Zrangebylex().Key(a.keys.Index).Min(a.Min).Max(a.Max).Limit(int64(offset), int64(size)).Build()
		}
	}
	steps := make([]step, len(asks))
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

// do sends commands; a single one by the shorter way.
func (r *lexReader) do(ctx context.Context, commands rueidis.Commands) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{r.x.set.Client.Do(ctx, commands[0])}
	}
	return r.x.set.Client.DoMulti(ctx, commands...)
}

// sifted is steps where the server keeps only what is within the bounds of
// columns.
func (r *lexReader) sifted(ctx context.Context, asks []ask, size int) ([]step, error) {
	calls := make([]script.Call, len(asks))
	for i, a := range asks {
		calls[i] = r.x.siftCall(a.keys, a.LexRange, r.q, size)
	}
	steps := make([]step, len(asks))
	for i, reply := range r.x.sift.RunMany(ctx, r.x.set.Client, calls) {
		_, last, members, err := siftReply(reply)
		if err != nil {
			return nil, err
		}
		steps[i] = step{members, last}
	}
	return steps, nil
}

// siftCall is a run of sift.lua; size 0 counts.
func (x *Lexical) siftCall(keys *partition.Keys, r LexRange, q LexQuery, size int) script.Call {
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

// Count is how many entries are in the ranges of a query, of which Page and Keep
// count for nothing: one round trip, O(log n) for each range and partition.
func (x *Lexical) Count(ctx context.Context, q LexQuery) (int64, error) {
	q.Page = Page{}
	ranges, err := q.clipped()
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

// countSifted counts in steps what sift.lua keeps, all partitions at once.
func (x *Lexical) countSifted(ctx context.Context, q LexQuery, ranges []LexRange) (int64, error) {
	var total int64
	for _, r := range ranges {
		left := make([]LexRange, len(x.set.Keys)) // of each partition; empty: nothing
		for i := range left {
			left[i] = r
		}
		for {
			var calls []script.Call
			var asked []int
			for i, rest := range left {
				if rest != (LexRange{}) {
					calls = append(calls, x.siftCall(&x.set.Keys[i], rest, q, 0))
					asked = append(asked, i)
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
				if left[asked[c]] = (LexRange{"(" + last, r.Max}); last == "" {
					left[asked[c]] = LexRange{}
				}
			}
		}
	}
	return total, nil
}
