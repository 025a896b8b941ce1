package space

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/internal/script"
)

//go:embed jump.lua
var jumpLua string

// How the server jumps. A script of so many pieces takes it some 0.2 ms, and one
// of so many members less than 1 ms.
const (
	jumpPieces  = 32   // of a script
	jumpScripts = 4    // of a pipeline; while one is looked at the next is under way
	jumpMembers = 1000 // that a script reads
	// jumpWorth is how many points a gap must hold to be worth a jump: it takes
	// the server as long to find the other side as to read so many, and the
	// client to pass over them.
	jumpWorth = 5
	// jumpWaste is how many points must be beside a box before they are counted.
	jumpWaste = 1000
)

// cutFinely cuts the ranges of a region into pieces, for the server to jump from
// one to the next, where they hold far more than the region: as they do in a long
// and thin box. To find out, it counts: one round trip, which other boxes do not
// need.
func (x *Index) cutFinely(ctx context.Context, r *region) error {
	length, volume := 0.0, 0.0
	for _, s := range r.spans {
		length, volume = length+s.length, volume+s.volume
	}
	if volume > 0.5*length && x.jumpWaste > 0 {
		return nil
	}
	points, err := x.pointsIn(ctx, r.spans, length)
	if err != nil || points*(1-volume/length) < x.jumpWaste {
		return err
	}
	// Not a gap less than the ranges leave out, so that each piece is in one.
	width := x.jumpWorth * length / points
	for i := 1; i < len(r.spans); i++ {
		width = min(width, x.length(r.spans[i-1].high, r.spans[i].low))
	}
	for i := range r.blocks {
		r.pieces = append(r.pieces, x.finely(r.blocks[i].low, x.open(&r.blocks[i]), width)...)
	}
	if len(r.blocks) > 1 {
		r.pieces = x.apart(r.pieces)
	}
	return nil
}

// pointsIn is about how many points are in ranges: counted in the longest of them.
func (x *Index) pointsIn(ctx context.Context, spans []span, length float64) (float64, error) {
	longest := slices.Clone(spans)
	slices.SortFunc(longest, func(a, b span) int { return cmp.Compare(b.length, a.length) })
	longest = longest[:min(8, len(longest))]
	counts, err := x.counts(ctx, x.ranges(longest))
	if err != nil {
		return 0, err
	}
	points, counted := 0.0, 0.0
	for i, n := range counts {
		points, counted = points+float64(n), counted+longest[i].length
	}
	return points * length / counted, nil
}

// jump yields the members of the pieces of a region that are on a page, and for
// which keep holds.
func (x *Index) skipScan(ctx context.Context, r *region, page index.Page, keep func(string) bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		pieces, err := clipped(x.ranges(r.pieces), page)
		if err != nil {
			yield("", x.named(err))
			return
		}
		sources := make([]iter.Seq2[string, error], len(x.set.Keys))
		for i := range sources {
			sources[i] = x.jumpIn(ctx, &x.set.Keys[i], pieces, page.Reverse)
		}
		compare := strings.Compare
		if page.Reverse {
			compare = func(a, b string) int { return strings.Compare(b, a) }
		}
		n := 0
		for member, err := range scan.Merge(compare, sources...) {
			switch {
			case err != nil:
				yield("", x.named(x.set.Error(ctx, err)))
				return
			case !keep(member):
				continue
			case page.Offset > 0:
				page.Offset--
				continue
			}
			if n++; !yield(member, nil) || n == page.Limit {
				return
			}
		}
	}
}

// clipped returns pieces in the order in which they are read, without what is
// before a cursor.
func clipped(pieces []index.Range, page index.Page) ([]index.Range, error) {
	at, err := scan.DecodeCursor(page.After)
	if err != nil {
		return nil, err
	}
	pieces = ahead(pieces, page)
	if page.Reverse {
		slices.Reverse(pieces)
	}
	if page.After != "" && len(pieces) > 0 {
		if first := &pieces[0]; page.Reverse && (first.Max == "+" || first.Max[1:] > at) {
			first.Max = "(" + at
		} else if !page.Reverse && first.Min[1:] <= at {
			first.Min = "(" + at
		}
	}
	return pieces, nil
}

// jumpIn yields the members of pieces in a partition.
func (x *Index) jumpIn(ctx context.Context, keys *partition.Keys, pieces []index.Range, reverse bool) iter.Seq2[string, error] {
	call := func(pieces []index.Range) script.Call {
		args := []string{strconv.Itoa(jumpMembers), "0"}
		if reverse {
			args[1] = "1"
		}
		for _, p := range pieces {
			args = append(args, p.Min, p.Max)
		}
		return script.Call{Keys: keys.All()[:1], Args: args}
	}
	// ask sends the scripts of a window of the pieces.
	ask := func(batches [][]index.Range) <-chan []rueidis.RedisResult {
		calls := make([]script.Call, len(batches))
		for i, b := range batches {
			calls[i] = call(b)
		}
		answer := make(chan []rueidis.RedisResult, 1)
		go func() { answer <- x.jumps.RunMany(ctx, x.set.Client, calls) }()
		return answer
	}
	return func(yield func(string, error) bool) {
		windows := slices.Collect(slices.Chunk(slices.Collect(slices.Chunk(pieces, jumpPieces)), jumpScripts))
		if len(windows) == 0 {
			return
		}
		next := ask(windows[0])
		defer func() {
			if next != nil {
				<-next // or its goroutine would outlive the reader
			}
		}()
		for i, batches := range windows {
			replies := <-next
			if next = nil; i+1 < len(windows) {
				next = ask(windows[i+1])
			}
			for j, reply := range replies {
				for rest := batches[j]; ; reply = x.jumps.Run(ctx, x.set.Client, keys.All()[:1], call(rest).Args) {
					done, members, err := jumped(reply)
					if err != nil {
						yield("", err)
						return
					}
					for _, m := range members {
						if !yield(m, nil) {
							return
						}
					}
					if rest = slices.Clone(rest[done:]); len(rest) == 0 {
						break
					}
					if last := members[len(members)-1]; reverse {
						rest[0].Max = "(" + last
					} else {
						rest[0].Min = "(" + last
					}
				}
			}
		}
	}
}

func jumped(reply rueidis.RedisResult) (done int64, members []string, err error) {
	all, err := reply.ToArray()
	if err != nil {
		return 0, nil, err
	}
	if done, err = all[0].AsInt64(); err != nil {
		return 0, nil, err
	}
	for _, piece := range all[1:] {
		some, err := piece.AsStrSlice()
		if err != nil {
			return 0, nil, err
		}
		members = append(members, some...)
	}
	return done, members, nil
}
