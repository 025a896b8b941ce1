package suggest

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/internal/partition"
)

// Remove removes terms, given in any spelling, and returns how many there were:
// one round trip for 1,600.
func (x *Index) Remove(ctx context.Context, terms ...string) (gone int, err error) {
	defer x.wrap(&err)
	names, err := x.names(terms)
	if err != nil {
		return 0, err
	}
	return x.remove(ctx, "all", 0, names)
}

// Block removes terms, and keeps them from being counted and suggested until
// Unblock. Only the very terms are blocked, in any spelling, not what begins with
// them. A rebuild leaves them out.
func (x *Index) Block(ctx context.Context, terms ...string) (err error) {
	defer x.wrap(&err)
	names, err := x.names(terms)
	if err != nil {
		return err
	}
	_, err = x.remove(ctx, "block", 0, names)
	return err
}

// Unblock lets terms be counted again, from nothing.
func (x *Index) Unblock(ctx context.Context, terms ...string) (err error) {
	defer x.wrap(&err)
	names, err := x.names(terms)
	if err != nil {
		return err
	}
	commands := make(rueidis.Commands, len(names))
	for i, name := range names {
		k := x.keys[x.set.Index(name)]
		commands[i] = x.set.Client.B().Srem().Key(k.blocked).Member(name).Build()
	}
	for _, r := range x.set.Client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// Blocked returns the normalised form of each term that is blocked, in order.
func (x *Index) Blocked(ctx context.Context) (all []string, err error) {
	defer x.wrap(&err)
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	for _, k := range x.keys {
		for cursor := uint64(0); ; {
			page, err := x.set.Client.Do(ctx, x.set.Client.B().Sscan().Key(k.blocked).Cursor(cursor).Count(500).Build()).AsScanEntry()
			if err != nil {
				return nil, err
			}
			all = append(all, page.Elements...)
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil // SSCAN may tell twice
}

// Sweep removes the terms with fewer searches than least, with a half-life those
// of which less is left, and returns how many. It reads all terms, some hundreds
// at a time, and keeps to opt.Rate; each that goes is looked at once more in the
// step that removes it. Without it, a half-life lets terms sink but never go.
func (x *Index) Sweep(ctx context.Context, least int64, opt index.Upkeep) (gone int64, err error) {
	defer x.wrap(&err)
	if err := x.set.Check(ctx); err != nil {
		return 0, err
	}
	below := float64(least)
	if x.opt.HalfLife > 0 {
		below = math.Log2(below) + x.time()
	}
	pace := partition.NewPace(opt.Rate)
	for _, k := range x.keys {
		for cursor := uint64(0); ; {
			page, err := x.set.Client.Do(ctx, x.set.Client.B().Hscan().Key(k.Content).Cursor(cursor).Count(500).Build()).AsScanEntry()
			if err != nil {
				return gone, err
			}
			var rare []string
			for i := 0; i+1 < len(page.Elements); i += 2 {
				if t, ok := parseValue(page.Elements[i], page.Elements[i+1]); ok && t.count < below {
					rare = append(rare, t.name)
				}
			}
			n, err := x.remove(ctx, "below", below, rare)
			gone += int64(n)
			if err != nil {
				return gone, err
			}
			if err := pace.Done(ctx, len(page.Elements)/2); err != nil {
				return gone, err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return gone, nil
}

// names normalises terms; each is in the answer once.
func (x *Index) names(terms []string) ([]string, error) {
	names := make([]string, len(terms))
	for i, t := range terms {
		var err error
		if names[i], err = x.name(t); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// remove runs remove.lua on some names, and returns how many have gone.
func (x *Index) remove(ctx context.Context, how string, amount float64, names []string) (int, error) {
	if len(x.keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return 0, err
		}
	}
	parts := make([][]string, len(x.keys))
	for _, name := range names {
		p := x.set.Index(name)
		parts[p] = append(parts[p], name)
	}
	var calls []partition.Call
	for p, part := range parts {
		for batch := range chunks(part, func(name string) int { return len(name) }) {
			args := append(x.set.Args(), how, strconv.FormatFloat(amount, 'f', -1, 64))
			calls = append(calls, partition.Call{Keys: x.keys[p].removing(), Args: append(args, batch...)})
		}
	}
	gone := 0
	for piece := range slices.Chunk(calls, pipeline) {
		for _, r := range x.scripts.remove.RunMany(ctx, x.set.Client, piece) {
			n, err := r.AsInt64()
			if err := x.set.Error(ctx, err); err != nil {
				return gone, err
			}
			gone += int(n)
		}
	}
	return gone, nil
}
