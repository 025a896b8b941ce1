// Package entries reads the entries of a graph: the ranges of its sorted sets, in one order
// or many at once. It knows neither patterns nor queries.
package entries

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
)

// readSize is the number of entries per read.
const readSize = 500

// Reader reads the entries of a graph.
type Reader struct{ Set *partition.Set }

// Range is a range of entries.
type Range struct {
	Prefix  string // of all its entries
	Whole   bool   // the prefix is all of the one entry
	Subject string // if known: its partition has the whole range
}

// bounds returns the bounds of the range for ZRANGE BYLEX: entries with the prefix
// "spo:a:" come before "spo:a;".
func (r Range) bounds() (low, high string) {
	if r.Whole {
		return "[" + r.Prefix, "[" + r.Prefix
	}
	return "[" + r.Prefix, "(" + strings.TrimSuffix(r.Prefix, ":") + ";"
}

// Check returns an error if the stored declaration differs.
func (r *Reader) Check(ctx context.Context) error {
	return r.Wrap(ctx, r.Set.Check(ctx))
}

// Wrap adds the package and the key to an error of the database.
func (r *Reader) Wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("graph: %q: %w", r.Set.Key, r.Set.Error(ctx, err))
}

// Damaged returns the error of an entry that this package cannot have written.
func (r *Reader) Damaged(entry string) error {
	return fmt.Errorf("graph: %q has an entry %.100q: %w; Repair removes it", r.Set.Key, entry, index.ErrCorrupt)
}

// keys returns the keys of the partitions that can have entries of a range.
func (r *Reader) keys(s Range) []string {
	if s.Subject != "" {
		return []string{r.Set.Of(s.Subject).Index}
	}
	keys := make([]string, len(r.Set.Keys))
	for i := range keys {
		keys[i] = r.Set.Keys[i].Index
	}
	return keys
}

// All yields the entries of a range, merged from the partitions that can have some.
func (r *Reader) All(ctx context.Context, s Range, page index.Page, after string) iter.Seq2[string, error] {
	keys := r.keys(s)
	skip := 0
	part := part{Range: s, reverse: page.Reverse, after: after, want: page.Limit, skip: page.Offset}
	if len(keys) > 1 { // the offset counts merged entries
		skip, part.skip = page.Offset, 0
		if part.want > 0 {
			part.want += skip
		}
	}
	sequences := make([]iter.Seq2[string, error], len(keys))
	for i, key := range keys {
		sequences[i] = part.read(ctx, r, key)
	}
	compare := strings.Compare
	if page.Reverse {
		compare = func(a, b string) int { return strings.Compare(b, a) }
	}
	merged := scan.Merge(compare, sequences...)
	if skip == 0 {
		return merged
	}
	return func(yield func(string, error) bool) {
		skipped := 0
		for entry, err := range merged {
			if skipped++; err == nil && skipped <= skip {
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// part reads a range of one partition.
type part struct {
	Range
	reverse bool
	after   string // the entry after which to start; empty: at the beginning
	skip    int
	want    int // how many entries at most; 0: all
}

func (p part) read(ctx context.Context, r *Reader, key string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		p := p // a sequence can be iterated twice
		for {
			count := readSize
			if p.want > 0 {
				count = min(count, p.want)
			}
			found, err := r.Set.Client.Do(ctx, p.command(r, key, count)).AsStrSlice()
			if err != nil {
				yield("", r.Wrap(ctx, err))
				return
			}
			for _, entry := range found {
				if !yield(entry, nil) {
					return
				}
			}
			if p.want > 0 {
				if p.want -= len(found); p.want == 0 {
					return
				}
			}
			if len(found) < count {
				return
			}
			p.after, p.skip = found[len(found)-1], 0
		}
	}
}

// command reads the next count entries of the range.
func (p *part) command(r *Reader, key string, count int) rueidis.Completed {
	low, high := p.bounds()
	b := r.Set.Client.B().Zrange().Key(key)
	if p.reverse {
		if p.after != "" {
			high = "(" + p.after
		}
		return b.Min(high).Max(low).Bylex().Rev().Limit(int64(p.skip), int64(count)).Build()
	}
	if p.after != "" {
		low = "(" + p.after
	}
	return b.Min(low).Max(high).Bylex().Limit(int64(p.skip), int64(count)).Build()
}

// Counts returns the number of entries in each range: one round trip for 10,000 ranges.
func (r *Reader) Counts(ctx context.Context, ranges []Range) ([]int64, error) {
	counts := make([]int64, len(ranges))
	var commands rueidis.Commands
	var of []int
	send := func() error {
		for i, reply := range r.Set.Client.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			if err != nil {
				return r.Wrap(ctx, err)
			}
			counts[of[i]] += n
		}
		commands, of = commands[:0], of[:0]
		return nil
	}
	for i, s := range ranges {
		low, high := s.bounds()
		for _, key := range r.keys(s) {
			commands, of = append(commands, r.Set.Client.B().Zlexcount().Key(key).Min(low).Max(high).Build()), append(of, i)
			if len(commands) == roundEntries {
				if err := send(); err != nil {
					return nil, err
				}
			}
		}
	}
	return counts, send()
}
