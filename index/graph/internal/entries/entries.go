// Package entries reads the entries of a graph: single ranges of its sorted sets in order, or
// many ranges at once. It does not depend on patterns or queries.
package entries

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/internal/ranged"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
)

// Reader reads the entries of a graph.
type Reader struct{ Set *partition.Set }

// Range is a range of entries.
type Range struct {
	Prefix  string // common prefix of the entries
	Whole   bool   // the prefix is a complete entry
	Subject string // if known, only its partition is read
}

// bounds returns the bounds of the range for ZRANGE BYLEX: entries with the prefix "spo:a:"
// sort before "spo:a;".
func (r Range) bounds() (low, high string) {
	if r.Whole {
		return "[" + r.Prefix, "[" + r.Prefix
	}
	return "[" + r.Prefix, "(" + strings.TrimSuffix(r.Prefix, ":") + ";"
}

// Check returns an error if the stored declaration differs from the Set's.
func (r *Reader) Check(ctx context.Context) error {
	return r.Wrap(ctx, r.Set.Check(ctx))
}

// Wrap adds the package and the key to a database error.
func (r *Reader) Wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("graph: %q: %w", r.Set.Key, r.Set.Error(ctx, err))
}

// Damaged returns the error for an entry that this package cannot have written.
func (r *Reader) Damaged(entry string) error {
	return fmt.Errorf("graph: %q has an entry %.100q: %w; Repair removes it", r.Set.Key, entry, index.ErrCorrupt)
}

// keys returns the partitions that can contain entries of a range.
func (r *Reader) keys(s Range) []partition.Keys {
	if s.Subject != "" {
		i := r.Set.Index(s.Subject)
		return r.Set.Keys[i : i+1]
	}
	return r.Set.Keys
}

// All yields the entries of a range, merged from its partitions. If after is not empty, it
// starts after that entry.
func (r *Reader) All(ctx context.Context, s Range, page index.Page, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		low, high := s.bounds()
		q := ranged.Query{Limit: page.Limit, Offset: page.Offset, Reverse: page.Reverse, Ranges: []ranged.Range{{Min: low, Max: high}}}
		if after != "" {
			q.After = scan.EncodeCursor(after)
		}
		reader := ranged.Reader{Set: r.Set, Keys: r.keys(s)}
		for item, err := range reader.Read(ctx, q) {
			if !yield(item.Member, r.Wrap(ctx, err)) || err != nil {
				return
			}
		}
	}
}

// Counts returns the number of entries in each range: one round trip per 10,000 ranges.
func (r *Reader) Counts(ctx context.Context, ranges []Range) ([]int64, error) {
	counts := make([]int64, len(ranges))
	var commands rueidis.Commands
	var rangeOf []int // index of each command's range
	send := func() error {
		for i, reply := range r.Set.Client.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			if err != nil {
				return r.Wrap(ctx, err)
			}
			counts[rangeOf[i]] += n
		}
		commands, rangeOf = commands[:0], rangeOf[:0]
		return nil
	}
	for i, s := range ranges {
		low, high := s.bounds()
		for _, key := range r.keys(s) {
			commands, rangeOf = append(commands, r.Set.Client.B().Zlexcount().Key(key.Index).Min(low).Max(high).Build()), append(rangeOf, i)
			if len(commands) == roundEntries {
				if err := send(); err != nil {
					return nil, err
				}
			}
		}
	}
	return counts, send()
}
