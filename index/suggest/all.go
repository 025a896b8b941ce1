package suggest

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"retwis/index"
	"retwis/internal/scan"
)

// step is how many entries All reads at a time.
const step = 500

// All yields the terms that begin with a prefix, as Complete takes it, in the order
// of their entries, which begin with the normalised form, a colon and the spelling:
// "a b" comes before "a", since a blank is less than a colon, and "a" before "ab".
// Counts do not change that order: so a reader who pages while others add sees no
// term twice, and misses none that stayed. It reads 500 at a time, or page.Limit if
// that is less.
func (x *Index) All(ctx context.Context, prefix string, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		yield = x.wrapping(yield)
		name, err := x.normal(prefix)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		after, err := scan.DecodeCursor(page.After)
		if err != nil {
			yield(Entry{}, fmt.Errorf("%w: %w", index.ErrValue, err))
			return
		}
		if page.Limit < 0 || page.Offset < 0 {
			yield(Entry{}, fmt.Errorf("%w: a page of limit %d and offset %d: they cannot be negative", index.ErrValue, page.Limit, page.Offset))
			return
		}
		if err := x.set.Check(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		var sequences []iter.Seq2[Entry, error]
		for _, k := range x.keys {
			for _, prefix := range rangesOf(name) {
				sequences = append(sequences, x.walk(ctx, k, prefix, after, page))
			}
		}
		n := 0
		order := func(a, b Entry) int {
			by := strings.Compare(a.key()+":", b.key()+":")
			if page.Reverse {
				return -by
			}
			return by
		}
		for e, err := range scan.Merge(order, sequences...) {
			if n++; err == nil && n <= page.Offset {
				continue
			}
			if !yield(e, err) || err != nil || n == page.Offset+page.Limit {
				return
			}
		}
	}
}

// wrapping words the error of an iteration for its caller.
func (x *Index) wrapping(yield func(Entry, error) bool) func(Entry, error) bool {
	return func(e Entry, err error) bool {
		x.wrap(&err)
		return yield(e, err)
	}
}

// walk yields the terms of a partition.
func (x *Index) walk(ctx context.Context, k keys, prefix, after string, page index.Page) iter.Seq2[Entry, error] {
	low, high := "["+prefix, "["+prefix+"\xff"
	count := int64(step)
	if page.Limit > 0 && page.Offset < step {
		count = int64(min(page.Limit+page.Offset, step))
	}
	return func(yield func(Entry, error) bool) {
		for {
			// A key ends with a colon, which the semicolon is next to. So the range
			// begins behind the term whatever its count is now.
			switch {
			case after != "" && !page.Reverse:
				low = max(low, "["+after+";")
			case after != "" && after+":" < high[1:]:
				high = "(" + after + ":"
			}
			b := x.set.Client.B()
			command := b.Zrangebylex().Key(k.Index).Min(low).Max(high).Limit(0, count).Build()
			if page.Reverse {
				command = b.Zrevrangebylex().Key(k.Index).Max(high).Min(low).Limit(0, count).Build()
			}
			members, err := x.set.Client.Do(ctx, command).AsStrSlice()
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, member := range members {
				t, ok := parseEntry(member)
				if !ok {
					yield(Entry{}, fmt.Errorf("%w: the entry %q of %s", index.ErrCorrupt, member, k.Index))
					return
				}
				if !yield(Entry{Suggestion: x.shown(t), Name: nameOf(t.key)}, nil) {
					return
				}
				after = t.key
			}
			if int64(len(members)) < count {
				return
			}
		}
	}
}
