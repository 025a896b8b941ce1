package suggest

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// Remove removes terms, in any spelling, and returns the number that existed: one round trip per
// 3,200 terms.
func (x *Index) Remove(ctx context.Context, terms ...string) (removed int, err error) {
	defer x.wrap(&err)
	names, err := x.names(terms)
	if err != nil {
		return 0, err
	}
	return x.remove(ctx, "all", 0, names)
}

// Block removes terms, in any spelling, and keeps them from being counted and suggested until
// Unblock: blocking "damn" blocks "Damn!". Longer terms with these prefixes are not blocked. A
// rebuild skips blocked terms. Block takes as many round trips as Remove.
func (x *Index) Block(ctx context.Context, terms ...string) (err error) {
	defer x.wrap(&err)
	names, err := x.names(terms)
	if err != nil {
		return err
	}
	_, err = x.remove(ctx, "block", 0, names)
	return err
}

// Unblock allows terms to be counted again, from 0: one round trip.
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

// Blocked returns the blocked terms, in their normalized form, sorted.
func (x *Index) Blocked(ctx context.Context) (all []string, err error) {
	defer x.wrap(&err)
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	for _, k := range x.keys {
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

// names returns the normalized forms of terms, sorted and without duplicates.
func (x *Index) names(terms []string) ([]string, error) {
	names := make([]string, len(terms))
	for i, t := range terms {
		var err error
		if names[i], err = x.opt.Punctuation.name(t); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// remove runs remove.lua on names and returns the number of terms removed.
func (x *Index) remove(ctx context.Context, mode string, amount float64, names []string) (removed int, err error) {
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
	head := append(x.set.Args(), mode, strconv.FormatFloat(amount, 'f', -1, 64))
	var calls []script.Call
	for p, part := range parts {
		bytes := batchBytes
		for _, name := range part {
			if bytes += len(name); bytes > batchBytes || len(calls[len(calls)-1].Args) == len(head)+batchTerms {
				calls = append(calls, script.Call{Keys: x.keys[p].all(), Args: slices.Clone(head)})
				bytes = len(name)
			}
			c := &calls[len(calls)-1]
			c.Args = append(c.Args, name)
		}
	}
	err = x.run(ctx, x.scripts.remove, calls, func(r rueidis.RedisResult) error {
		n, err := r.AsInt64()
		removed += int(n)
		return err
	})
	return removed, err
}
