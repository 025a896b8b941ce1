package space

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/internal/ranged"
)

// A query starts with a few ranges, and reads a hundred members of each in one round trip. For
// a small region, this is enough: a range costs the server as much as five members, so more
// ranges would cost more than they save. If a range has more members, the rest is read in the
// ranges of a finer cover.
const (
	coarseRanges = 8
	firstRead    = 100
	// A small page reads the first two ranges first, which usually fill the page.
	fewRanges = 2
	smallPage = 100
)

// chunk is the part of a range read so far, and the rest of the range.
type chunk struct {
	members []string // in the order of the page
	rest    *ranged.Range
}

// read yields the members of a region in curve order, starting at the cursor of a page, and
// some members near the region.
func (x *reader) read(ctx context.Context, r *region, page index.Page, log *readLog) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ranges, err := clip(x.points.ranges(r.coarse), page)
		if err == nil {
			err = x.set.Check(ctx)
		}
		if err != nil {
			yield("", x.wrap(err))
			return
		}
		for few := page.Limit > 0 && page.Limit+page.Offset <= smallPage; len(ranges) > 0; few = false {
			batch := ranges
			if few {
				batch = ranges[:min(fewRanges, len(ranges))]
			}
			ranges = ranges[len(batch):]
			chunks, err := x.begin(ctx, batch, page.Reverse)
			if err != nil {
				yield("", err)
				return
			}
			log.addChunks(batch, chunks)
			if !x.complete(ctx, r, chunks, page.Reverse, log, yield) {
				return
			}
		}
	}
}

// begin reads the first members of ranges in all partitions: one round trip.
func (x *reader) begin(ctx context.Context, ranges []ranged.Range, reverse bool) ([]chunk, error) {
	client := x.set.Client
	commands := make(rueidis.Commands, 0, len(ranges)*len(x.set.Keys))
	for _, r := range ranges {
		for i := range x.set.Keys {
			if key := x.set.Keys[i].Index; reverse {
				commands = append(commands, client.B().Zrevrangebylex().Key(key).Max(r.Max).Min(r.Min).Limit(0, int64(x.firstRead)).Build())
			} else {
				commands = append(commands, client.B().Zrangebylex().Key(key).Min(r.Min).Max(r.Max).Limit(0, int64(x.firstRead)).Build())
			}
		}
	}
	replies := client.DoMulti(ctx, commands...)
	chunks := make([]chunk, len(ranges))
	for i, r := range ranges {
		var err error
		if chunks[i], err = x.chunk(replies[i*len(x.set.Keys):][:len(x.set.Keys)], r, reverse); err != nil {
			return nil, x.wrap(x.set.Error(ctx, err))
		}
	}
	return chunks, nil
}

// chunk merges the replies of the partitions for the first members of a range. If a reply is
// full, members beyond its last member are left for the rest.
func (x *reader) chunk(replies []rueidis.RedisResult, r ranged.Range, reverse bool) (c chunk, err error) {
	compare := order(reverse)
	end, full := "", false
	for _, reply := range replies {
		members, err := reply.AsStrSlice()
		if err != nil {
			return c, err
		}
		if n := len(members); n == x.firstRead && (!full || compare(members[n-1], end) < 0) {
			end, full = members[n-1], true
		}
		c.members = append(c.members, members...)
	}
	if len(replies) > 1 {
		slices.SortFunc(c.members, compare)
	}
	if full {
		n, _ := slices.BinarySearchFunc(c.members, end, compare)
		c.members = c.members[:n+1]
		if c.rest = &r; reverse {
			r.Max = "(" + end
		} else {
			r.Min = "(" + end
		}
	}
	return c, nil
}

// order returns a comparison of members in the order of a page.
func order(reverse bool) func(a, b string) int {
	if reverse {
		return func(a, b string) int { return strings.Compare(b, a) }
	}
	return strings.Compare
}

// complete yields the members of chunks and of the rests of their ranges, which it reads only
// when reached. It reports whether to continue.
func (x *reader) complete(ctx context.Context, r *region, chunks []chunk, reverse bool, log *readLog, yield func(string, error) bool) bool {
	// flush yields the first n remaining chunks.
	flush := func(n int) bool {
		for _, c := range chunks[:n] {
			for _, m := range c.members {
				if !yield(m, nil) {
					return false
				}
			}
		}
		chunks = chunks[n:]
		return true
	}
	var rests []ranged.Range
	first := len(chunks)
	for i, c := range chunks {
		if c.rest != nil {
			first, rests = min(first, i+1), append(rests, *c.rest)
		}
	}
	if !flush(first) {
		return false
	}
	if len(rests) == 0 {
		return true
	}
	compare := order(reverse)
	for m, err := range x.finer(ctx, r, rests, reverse, log) {
		if err != nil {
			yield("", err)
			return false
		}
		n := 0
		for i, c := range chunks {
			if len(c.members) > 0 && compare(c.members[0], m) < 0 {
				n = i + 1
			}
		}
		if !flush(n) || !yield(m, nil) {
			return false
		}
	}
	return flush(len(chunks))
}

// finer yields the members of the rests of ranges, using a finer cover or a skip scan.
func (x *reader) finer(ctx context.Context, r *region, rests []ranged.Range, reverse bool, log *readLog) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := x.refine(ctx, r); err != nil {
			yield("", err)
			return
		}
		if reverse {
			slices.Reverse(rests)
		}
		ranges := intersect(x.points.ranges(r.spans), rests)
		log.addFiner(ranges)
		if r.pieces != nil {
			pieces := intersect(x.points.ranges(r.pieces), rests)
			if reverse {
				slices.Reverse(pieces)
			}
			x.skipScan(ctx, pieces, reverse)(yield)
			return
		}
		if len(ranges) == 0 {
			return // the rests contain no part of the region
		}
		for m, err := range x.entries.Select(ctx, ranged.Query{Reverse: reverse, Ranges: ranges}) {
			if !yield(m.Member, err) {
				return
			}
		}
	}
}
