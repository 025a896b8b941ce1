package suggest

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"retwis/index"
	"retwis/internal/scan"
)

// step is the number of terms that a scan reads at a time.
const step = 500

// All yields the terms with a prefix, normalized as for Complete, in the lexicographic
// order of their entries, name:spelling: "a b" comes before "a", since a blank is less
// than a colon, and "a" before "ab". Counts do not change the order: pages are stable
// under concurrent adds, without duplicates or gaps. It reads 500 terms a round trip, or
// page.Limit if that is less.
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
			yield(Entry{}, fmt.Errorf("%w: limit %d and offset %d must not be negative", index.ErrValue, page.Limit, page.Offset))
			return
		}
		if err := x.set.Check(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		var sequences []iter.Seq2[Entry, error]
		for _, k := range x.keys {
			for _, prefix := range rangesOf(name) {
				sequences = append(sequences, x.scan(ctx, k, prefix, after, page))
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

// wrapping adds the package and the key to the error of an iteration.
func (x *Index) wrapping(yield func(Entry, error) bool) func(Entry, error) bool {
	return func(e Entry, err error) bool {
		x.wrap(&err)
		return yield(e, err)
	}
}

// scan yields the terms of a partition.
func (x *Index) scan(ctx context.Context, k keys, prefix, after string, page index.Page) iter.Seq2[Entry, error] {
	low, high := "["+prefix, "["+prefix+"\xff"
	count := int64(step)
	if page.Limit > 0 && page.Offset < step {
		count = int64(min(page.Limit+page.Offset, step))
	}
	return func(yield func(Entry, error) bool) {
		for {
			// The key of an entry ends with a colon; the semicolon is the next byte. So the
			// range starts after the term, whatever its count is now.
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
					yield(Entry{}, fmt.Errorf("%w: entry %q of %s", index.ErrCorrupt, member, k.Index))
					return
				}
				if !yield(Entry{Suggestion: x.suggestion(t), Name: nameOf(t.key)}, nil) {
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
