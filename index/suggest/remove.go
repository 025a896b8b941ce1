package suggest

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// Remove removes terms in these spellings and returns how many there were. One round
// trip for 1,600.
func (x *Index) Remove(ctx context.Context, terms ...string) (removed int, err error) {
	defer x.wrap(&err)
	keys, err := normalizeAll(terms, x.normalizer.key)
	if err != nil {
		return 0, err
	}
	return x.updates().remove(ctx, "all", 0, keys)
}

// Block removes terms and excludes them from being counted and suggested until Unblock,
// with all spellings of the same normalized form: blocking "damn" blocks "Damn!", and
// blocking "C#" blocks "C". Longer terms that begin with them are not blocked. A rebuild
// leaves blocked terms out. One round trip a term, more if a form has many spellings.
func (x *Index) Block(ctx context.Context, terms ...string) (err error) {
	defer x.wrap(&err)
	names, err := normalizeAll(terms, x.normalizer.name)
	if err != nil {
		return err
	}
	if len(x.completer.keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		args := append(x.set.Args(), name, strconv.Itoa(batchTerms))
		for more := int64(1); more == 1; {
			r := x.completer.scripts.block.Run(ctx, x.set.Client, x.completer.keys[x.set.Index(name)].all(), args)
			if more, err = r.AsInt64(); err != nil {
				return x.set.Error(ctx, err)
			}
		}
	}
	return nil
}

// Unblock allows terms to be counted again, from 0. One round trip.
func (x *Index) Unblock(ctx context.Context, terms ...string) (err error) {
	defer x.wrap(&err)
	names, err := normalizeAll(terms, x.normalizer.name)
	if err != nil {
		return err
	}
	commands := make(rueidis.Commands, len(names))
	for i, name := range names {
		k := x.completer.keys[x.set.Index(name)]
		commands[i] = x.set.Client.B().Srem().Key(k.blocked).Member(name).Build()
	}
	for _, r := range x.set.Client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// Blocked returns the blocked normalized forms, sorted.
func (x *Index) Blocked(ctx context.Context) (all []string, err error) {
	defer x.wrap(&err)
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	for _, k := range x.completer.keys {
		for page, err := range scan.Set(ctx, x.set.Client, k.blocked, step) {
			if err != nil {
				return nil, err
			}
			all = append(all, page...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil // SSCAN may return duplicates
}

// normalizeAll returns the keys or names of terms, sorted and without duplicates.
func normalizeAll(terms []string, of func(string) (string, error)) ([]string, error) {
	all := make([]string, len(terms))
	for i, t := range terms {
		var err error
		if all[i], err = of(t); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// remove runs remove.lua on terms and returns how many it removed.
func (up updates) remove(ctx context.Context, how string, amount float64, terms []string) (int, error) {
	if len(up.x.completer.keys) > 1 {
		if err := up.x.set.Declare(ctx); err != nil {
			return 0, err
		}
	}
	parts := make([][]string, len(up.x.completer.keys))
	for _, key := range terms {
		p := up.x.set.Index(nameOf(key))
		parts[p] = append(parts[p], key)
	}
	var calls []script.Call
	for p, part := range parts {
		for batch := range chunks(part, func(key string) int { return len(key) }) {
			args := append(up.x.set.Args(), how, strconv.FormatFloat(amount, 'f', -1, 64))
			calls = append(calls, script.Call{Keys: up.x.completer.keys[p].all(), Args: append(args, batch...)})
		}
	}
	removed := 0
	for piece := range slices.Chunk(calls, pipeline) {
		for _, r := range up.x.completer.scripts.remove.RunMany(ctx, up.x.set.Client, piece) {
			n, err := r.AsInt64()
			if err := up.x.set.Error(ctx, err); err != nil {
				return removed, err
			}
			removed += int(n)
		}
	}
	return removed, nil
}
