package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"retwis/index"
	"retwis/internal/redis/scan"
)

// step is the number of terms that a scan reads at a time.
const step = 500

// All yields the terms with a prefix, normalized as for Complete, in the byte order of
// their normalized forms: "a", "a b", "a1", "ab". Counts do not change the order: pages
// are stable under concurrent writes, without duplicates or gaps. It reads 500 terms a
// round trip, or page.Limit if that is less. After these it may need another round trip
// for shorter forms, such as "a" before "a1", and one for payloads if there are any.
func (x *Index) All(ctx context.Context, prefix string, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		yield = x.wrapping(yield)
		name, err := x.normalizer.normal(prefix)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		after, err := scan.DecodeCursor(page.After)
		if err == nil && after != "" && !isKey(after) {
			err = errors.New("the cursor is not one of All")
		}
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
		count := step
		if page.Limit > 0 && page.Offset < step {
			count = min(page.Limit+page.Offset, step)
		}
		var sequences []iter.Seq2[Entry, error]
		for _, k := range x.completer.keys {
			s := scanner{x: x, keys: k, count: int64(count), reverse: page.Reverse}
			sequences = append(sequences, s.scan(ctx, name, after))
			if whole, ended := strings.CutSuffix(name, " "); ended {
				sequences = append(sequences, s.only(ctx, whole, after))
			}
		}
		n := 0
		order := func(a, b Entry) int {
			if page.Reverse {
				a, b = b, a
			}
			return compareKeys(a.key(), b.key())
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

// compareKeys orders keys by name, those of one name as the index does.
func compareKeys(a, b string) int {
	return cmp.Or(strings.Compare(nameOf(a), nameOf(b)), strings.Compare(a+":", b+":"))
}

// wrapping adds the package and the key to the error of an iteration.
func (x *Index) wrapping(yield func(Entry, error) bool) func(Entry, error) bool {
	return func(e Entry, err error) bool {
		x.wrap(&err)
		return yield(e, err)
	}
}
