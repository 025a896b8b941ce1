package space

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index/internal/ranged"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// In a skip scan the server reads the pieces of a range and skips the gaps between the pieces. A
// script that reads skipPieces pieces takes about 0.2 ms, and a script that reads skipMembers
// members less than 1 ms.
const (
	skipPieces  = 32   // per script
	skipScripts = 4    // per pipeline; the next pipeline is in flight while a reply is read
	skipMembers = 1000 // per script
)

// refine covers a region with MaxRanges ranges. If the ranges contain far more points than the
// region, as for a long and thin box, refine cuts the ranges into pieces for a skip scan. It
// counts points, in one round trip, only if the ranges are much larger than the region.
func (x *reader) refine(ctx context.Context, r *region) error {
	if r.spans != nil {
		return nil
	}
	r.spans = x.points.covering(r.blocks, x.points.maxRanges)
	length, volume := 0.0, 0.0
	for _, s := range r.spans {
		length, volume = length+s.length, volume+s.volume
	}
	if volume > 0.5*length && x.minWaste > 0 {
		return nil
	}
	points, err := x.pointsIn(ctx, r.spans, length)
	if err != nil || points*(1-volume/length) < x.minWaste {
		return err
	}
	// No wider than the gaps between ranges, so that each piece is in one range.
	width := x.minGap * length / points
	for i := 1; i < len(r.spans); i++ {
		width = min(width, x.points.layout.length(r.spans[i-1].high, r.spans[i].low))
	}
	for i := range r.blocks {
		r.pieces = append(r.pieces, x.points.layout.fineCover(r.blocks[i].low, x.points.coverHigh(&r.blocks[i]), width)...)
	}
	if len(r.blocks) > 1 {
		r.pieces = x.points.joinOverlaps(r.pieces)
	}
	return nil
}

// pointsIn estimates the number of points in ranges by counting the points in the
// longest ranges.
func (x *reader) pointsIn(ctx context.Context, spans []span, length float64) (float64, error) {
	longest := slices.Clone(spans)
	slices.SortFunc(longest, func(a, b span) int { return cmp.Compare(b.length, a.length) })
	longest = longest[:min(8, len(longest))]
	counts, err := x.counts(ctx, x.points.ranges(longest))
	if err != nil {
		return 0, err
	}
	points, counted := 0.0, 0.0
	for i, n := range counts {
		points, counted = points+float64(n), counted+longest[i].length
	}
	return points * length / counted, nil
}

// skipScan yields the members of pieces, which must be in reading order.
func (x *reader) skipScan(ctx context.Context, pieces []ranged.Range, reverse bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		sources := make([]iter.Seq2[string, error], len(x.set.Keys))
		for i := range sources {
			sources[i] = x.skipIn(ctx, &x.set.Keys[i], pieces, reverse)
		}
		for member, err := range scan.Merge(order(reverse), sources...) {
			if err != nil {
				err = x.wrap(x.set.Error(ctx, err))
			}
			if !yield(member, err) || err != nil {
				return
			}
		}
	}
}

// skipIn yields the members of pieces in one partition.
func (x *reader) skipIn(ctx context.Context, keys *partition.Keys, pieces []ranged.Range, reverse bool) iter.Seq2[string, error] {
	call := func(pieces []ranged.Range) script.Call {
		args := []string{strconv.Itoa(skipMembers), "0"}
		if reverse {
			args[1] = "1"
		}
		for _, p := range pieces {
			args = append(args, p.Min, p.Max)
		}
		return script.Call{Keys: keys.All()[:1], Args: args}
	}
	// send sends the scripts of a window of pieces.
	send := func(batches [][]ranged.Range) <-chan []rueidis.RedisResult {
		calls := make([]script.Call, len(batches))
		for i, b := range batches {
			calls[i] = call(b)
		}
		replies := make(chan []rueidis.RedisResult, 1)
		go func() { replies <- x.skip.RunMany(ctx, x.set.Client, calls) }()
		return replies
	}
	return func(yield func(string, error) bool) {
		windows := slices.Collect(slices.Chunk(slices.Collect(slices.Chunk(pieces, skipPieces)), skipScripts))
		if len(windows) == 0 {
			return
		}
		next := send(windows[0])
		defer func() {
			if next != nil {
				<-next // so that its goroutine does not outlive the iterator
			}
		}()
		for i, batches := range windows {
			replies := <-next
			if next = nil; i+1 < len(windows) {
				next = send(windows[i+1])
			}
			for j, reply := range replies {
				for pending := batches[j]; ; reply = x.skip.Run(ctx, x.set.Client, keys.All()[:1], call(pending).Args) {
					done, members, err := skipReply(reply)
					if err != nil {
						yield("", err)
						return
					}
					for _, m := range members {
						if !yield(m, nil) {
							return
						}
					}
					if pending = slices.Clone(pending[done:]); len(pending) == 0 {
						break
					}
					if last := members[len(members)-1]; reverse {
						pending[0].Max = "(" + last
					} else {
						pending[0].Min = "(" + last
					}
				}
			}
		}
	}
}

// skipReply decodes a reply of skip.lua.
func skipReply(reply rueidis.RedisResult) (done int64, members []string, err error) {
	all, err := reply.ToArray()
	if err != nil {
		return 0, nil, err
	}
	if done, err = all[0].AsInt64(); err != nil {
		return 0, nil, err
	}
	for _, piece := range all[1:] {
		read, err := piece.AsStrSlice()
		if err != nil {
			return 0, nil, err
		}
		members = append(members, read...)
	}
	return done, members, nil
}
