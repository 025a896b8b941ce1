// Package ranged reads ranges of the sorted sets of an index and merges the partitions in
// order: by member if all scores are 0, or by score.
package ranged

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

var (
	//go:embed sift.lua
	siftLua string
	//go:embed page.lua
	pageLua string
)

var (
	siftScript = sync.OnceValue(func() script.Script { return partition.NewScript(ordered.LuaLess + siftLua) })
	pageScript = sync.OnceValue(func() script.Script { return partition.NewScript(ordered.LuaLess + pageLua) })
)

// Item is a member read from the index.
type Item struct {
	ID     string // from Reader.ID
	Member string
	Score  float64 // 0, unless the index is scored
}

// Query selects members.
type Query struct {
	Limit, Offset int // Limit 0: all
	Reverse       bool
	After         string                   // a cursor
	Ranges        []Range                  // disjoint and sorted; empty: all
	Keep          func(member string) bool // filter applied before Limit and Offset; may be nil
	Sift          []string                 // column bounds for sift.lua; empty: no filter
}

// Reader reads the members of an index.
type Reader struct {
	Set *partition.Set
	// Keys are the partitions to read. Default: all.
	Keys []partition.Keys
	// ID returns the id of a member; members without an id are skipped. Default: the member.
	ID func(member string) (string, error)
	// Scored indicates that members are ordered by score, and that ranges are ranges of scores.
	Scored bool
}

// Shorten quotes an id or a member for an error.
func Shorten(id string) string {
	if len(id) > 60 {
		return fmt.Sprintf("%q…", id[:60])
	}
	return fmt.Sprintf("%q", id)
}

// Sizes of steps. sift.lua examines 1,000 members in about a millisecond.
const (
	firstStep   = 100  // members in the first step; most callers need no more
	nextStep    = 500  // members in a later step
	maxExamined = 1000 // members examined by one call of sift.lua
	rangesStep  = 64   // ranges per step
)

func (x *Reader) keys() []partition.Keys {
	if x.Keys != nil {
		return x.Keys
	}
	return x.Set.Keys
}

// Read yields the members of a query in order. It reads in steps of one round trip: the first
// step reads 100 members, or Limit, of each of the first ranges in every partition; later steps
// read 500 members of one range.
func (x *Reader) Read(ctx context.Context, q Query) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := x.Set.Check(ctx); err != nil {
			yield(Item{}, err)
			return
		}
		ranges, after, err := q.clip(x.Scored)
		if err != nil {
			yield(Item{}, err)
			return
		}
		page, keys := q.normalize(), x.keys()
		r := reading{x: x, q: page, ranges: ranges, after: after}
		if len(keys) == 1 && len(ranges) == 1 && q.Keep == nil && len(q.Sift) == 0 {
			r.offset, page.Offset = page.Offset, 0
		}
		first, err := r.first(ctx)
		if err != nil {
			yield(Item{}, err)
			return
		}
		sources := make([]iter.Seq2[Item, error], len(keys))
		for i := range sources {
			sources[i] = r.read(ctx, &keys[i], first[i])
		}
		order := compare
		if q.Reverse {
			order = func(a, b Item) int { return compare(b, a) }
		}
		x.yieldPage(scan.Merge(order, sources...), page, yield)
	}
}

// compare compares items by score, then by member.
func compare(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Member, b.Member))
}

// yieldPage yields the items of a page.
func (x *Reader) yieldPage(items iter.Seq2[Item, error], page Query, yield func(Item, error) bool) {
	n := 0
	for item, err := range items {
		if err != nil {
			yield(Item{}, err)
			return
		}
		if page.Offset > 0 {
			page.Offset--
			continue
		}
		if item.ID = item.Member; x.ID != nil {
			if item.ID, err = x.ID(item.Member); err != nil {
				continue // not written by this index; Verify reports it
			}
		}
		if n++; !yield(item, nil) || n == page.Limit {
			return
		}
	}
}

// reading is a query in progress.
type reading struct {
	x      *Reader
	q      Query
	ranges []Range
	after  Item // scored index: the item to read after; no Member: none
	offset int  // number of members that the server skips
}

// step is one read of a range.
type step struct {
	items []Item
	last  Item // the item to continue after, if more is set
	more  bool
}

// rangeRead is a range to read in one partition.
type rangeRead struct {
	keys *partition.Keys
	Range
	after Item
}

// first reads the first step of the first ranges in every partition: one round trip.
func (r *reading) first(ctx context.Context) ([][]step, error) {
	ranges, keys := r.ranges[:min(rangesStep, len(r.ranges))], r.x.keys()
	var reads []rangeRead
	for i := range keys {
		for _, g := range ranges {
			reads = append(reads, rangeRead{&keys[i], g, r.after})
		}
	}
	all, err := r.steps(ctx, reads, r.firstSize(), r.offset)
	if err != nil {
		return nil, err
	}
	steps := make([][]step, len(keys))
	for i := range steps {
		steps[i] = all[i*len(ranges) : (i+1)*len(ranges)]
	}
	return steps, nil
}

// firstSize returns the number of members in the first step.
func (r *reading) firstSize() int {
	wanted := r.q.Limit + r.q.Offset - r.offset
	if r.q.Limit <= 0 || r.q.Keep != nil || len(r.q.Sift) > 0 && wanted > firstStep {
		return firstStep
	}
	return min(wanted, nextStep)
}

// read yields the members of one partition. steps holds the first step of the first ranges.
func (r *reading) read(ctx context.Context, keys *partition.Keys, steps []step) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		steps := steps // the sequence may be iterated more than once
		for begin := 0; begin < len(r.ranges); begin += rangesStep {
			ranges := r.ranges[begin:min(begin+rangesStep, len(r.ranges))]
			if begin > 0 {
				reads := make([]rangeRead, len(ranges))
				for i, g := range ranges {
					reads[i] = rangeRead{keys, g, r.after}
				}
				var err error
				if steps, err = r.steps(ctx, reads, firstStep, 0); err != nil {
					yield(Item{}, err)
					return
				}
			}
			for i, g := range ranges {
				if !r.readRange(ctx, rangeRead{keys: keys, Range: g}, steps[i], yield) {
					return
				}
			}
		}
	}
}

// readRange yields the members of a range, starting with its first step, and reports whether to
// continue.
func (r *reading) readRange(ctx context.Context, a rangeRead, s step, yield func(Item, error) bool) bool {
	for {
		for _, m := range s.items {
			if (r.q.Keep == nil || r.q.Keep(m.Member)) && !yield(m, nil) {
				return false
			}
		}
		switch {
		case !s.more:
			return true
		case r.x.Scored:
			a.after = s.last
		case r.q.Reverse:
			a.Max = "(" + s.last.Member
		default:
			a.Min = "(" + s.last.Member
		}
		more, err := r.steps(ctx, []rangeRead{a}, nextStep, 0)
		if err != nil {
			yield(Item{}, err)
			return false
		}
		s = more[0]
	}
}

// steps reads one step of each range: one round trip.
func (r *reading) steps(ctx context.Context, reads []rangeRead, size, offset int) ([]step, error) {
	client := r.x.Set.Client
	steps := make([]step, len(reads))
	var replies []rueidis.RedisResult
	switch {
	case r.x.Scored:
		calls := make([]script.Call, len(reads))
		for i, a := range reads {
			calls[i] = r.pageCall(a, offset, size)
		}
		replies = pageScript().RunMany(ctx, client, calls)
	case len(r.q.Sift) > 0:
		return r.sifted(ctx, reads, size)
	default:
		commands := make(rueidis.Commands, len(reads))
		for i, a := range reads {
			if r.q.Reverse {
				commands[i] = client.B().Zrevrangebylex().Key(a.keys.Index).Max(a.Max).Min(a.Min).Limit(int64(offset), int64(size)).Build()
			} else {
				commands[i] = client.B().Zrangebylex().Key(a.keys.Index).Min(a.Min).Max(a.Max).Limit(int64(offset), int64(size)).Build()
			}
		}
		replies = do(ctx, client, commands)
	}
	for i, reply := range replies {
		texts, err := reply.AsStrSlice()
		if err != nil {
			return nil, err
		}
		if steps[i].items, err = r.items(texts); err != nil {
			return nil, err
		}
		if steps[i].more = len(steps[i].items) == size; steps[i].more {
			steps[i].last = steps[i].items[size-1]
		}
	}
	return steps, nil
}

// items decodes members, each followed by its score if the index is scored.
func (r *reading) items(texts []string) ([]Item, error) {
	if !r.x.Scored {
		items := make([]Item, len(texts))
		for i, m := range texts {
			items[i].Member = m
		}
		return items, nil
	}
	items := make([]Item, len(texts)/2)
	for i := range items {
		f, err := strconv.ParseFloat(texts[2*i+1], 64)
		if err != nil {
			return nil, err
		}
		items[i] = Item{Member: texts[2*i], Score: f}
	}
	return items, nil
}

// do sends commands, in a pipeline if there are several.
func do(ctx context.Context, client rueidis.Client, commands rueidis.Commands) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{client.Do(ctx, commands[0])}
	}
	return client.DoMulti(ctx, commands...)
}

// pageCall returns a call of page.lua.
func (r *reading) pageCall(a rangeRead, offset, size int) script.Call {
	score := ""
	if a.after.Member != "" {
		score = Text(a.after.Score)
	}
	return script.Call{Keys: a.keys.All(), Args: []string{a.Min, a.Max, flag(r.q.Reverse), strconv.Itoa(offset), strconv.Itoa(size), score, a.after.Member}}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// sifted is like steps, but the server filters the members by column bounds.
func (r *reading) sifted(ctx context.Context, reads []rangeRead, size int) ([]step, error) {
	calls := make([]script.Call, len(reads))
	for i, a := range reads {
		calls[i] = siftCall(a.keys, a.Range, r.q, size)
	}
	steps := make([]step, len(reads))
	for i, reply := range siftScript().RunMany(ctx, r.x.Set.Client, calls) {
		_, last, members, err := siftReply(reply)
		if err != nil {
			return nil, err
		}
		steps[i].items, _ = r.items(members)
		steps[i].last, steps[i].more = Item{Member: last}, last != ""
	}
	return steps, nil
}

// siftCall returns a call of sift.lua. With size 0, sift.lua only counts members.
func siftCall(keys *partition.Keys, r Range, q Query, size int) script.Call {
	args := append([]string{r.Min, r.Max, flag(q.Reverse), strconv.Itoa(size), strconv.Itoa(maxExamined)}, q.Sift...)
	return script.Call{Keys: keys.All(), Args: args}
}

// siftReply decodes a reply of sift.lua.
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

// Count counts the results of a query, ignoring Limit and Offset. It takes one round trip per
// 64 ranges or, with a filter, one per thousand members.
func (x *Reader) Count(ctx context.Context, q Query) (total int64, err error) {
	if q.Keep != nil {
		for _, err := range x.Read(ctx, q) {
			if err != nil {
				return 0, err
			}
			total++
		}
		return total, nil
	}
	ranges, _, err := q.clip(x.Scored)
	if err != nil {
		return 0, err
	}
	if len(q.Sift) > 0 {
		if err := x.Set.Check(ctx); err != nil {
			return 0, err
		}
		return x.countSifted(ctx, q, ranges)
	}
	counts, err := x.Counts(ctx, ranges)
	for _, n := range counts {
		total += n
	}
	return total, err
}

// Counts returns the number of members in each range.
func (x *Reader) Counts(ctx context.Context, ranges []Range) ([]int64, error) {
	if err := x.Set.Check(ctx); err != nil {
		return nil, err
	}
	counts, keys, client := make([]int64, len(ranges)), x.keys(), x.Set.Client
	for begin := 0; begin < len(ranges); begin += rangesStep {
		chunk := ranges[begin:min(begin+rangesStep, len(ranges))]
		commands := make(rueidis.Commands, 0, len(chunk)*len(keys))
		for _, r := range chunk {
			for i := range keys {
				if x.Scored {
					commands = append(commands, client.B().Zcount().Key(keys[i].Index).Min(r.Min).Max(r.Max).Build())
				} else {
					commands = append(commands, client.B().Zlexcount().Key(keys[i].Index).Min(r.Min).Max(r.Max).Build())
				}
			}
		}
		for i, reply := range do(ctx, client, commands) {
			n, err := reply.AsInt64()
			if err != nil {
				return nil, err
			}
			counts[begin+i/len(keys)] += n
		}
	}
	return counts, nil
}

// countSifted counts the members that sift.lua keeps, in steps over all partitions in parallel.
func (x *Reader) countSifted(ctx context.Context, q Query, ranges []Range) (int64, error) {
	var total int64
	keys := x.keys()
	for _, r := range ranges {
		remaining := make([]Range, len(keys)) // per partition; empty: done
		for i := range remaining {
			remaining[i] = r
		}
		for {
			var calls []script.Call
			var partitions []int // partition of each call
			for i, unread := range remaining {
				if unread != (Range{}) {
					calls = append(calls, siftCall(&keys[i], unread, q, 0))
					partitions = append(partitions, i)
				}
			}
			if len(calls) == 0 {
				break
			}
			for c, reply := range siftScript().RunMany(ctx, x.Set.Client, calls) {
				n, last, _, err := siftReply(reply)
				if err != nil {
					return 0, err
				}
				total += n
				if remaining[partitions[c]] = (Range{"(" + last, r.Max}); last == "" {
					remaining[partitions[c]] = Range{}
				}
			}
		}
	}
	return total, nil
}

// normalize clamps Limit and Offset so that they are not negative and their sum does not
// overflow.
func (q Query) normalize() Query {
	q.Limit = min(max(q.Limit, 0), math.MaxInt/2)
	q.Offset = min(max(q.Offset, 0), math.MaxInt/2)
	return q
}
