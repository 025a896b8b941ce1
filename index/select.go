package index

import (
	"context"
	"iter"

	"retwis/index/internal/members"
)

// Range is a range of members, its ends as ZRANGEBYLEX takes them: "[a" includes a,
// "(a" excludes it, "-" and "+" are the first and the last of all.
type Range struct{ Min, Max string }

// PrefixRange returns the range of the members that begin with a prefix.
func PrefixRange(prefix string) Range { return Range(members.WithPrefix(prefix)) }

// Select yields the entries of some ranges in order; without ranges, all. The ranges
// must be disjoint and in order. It reads in steps of a round trip: the first one
// reads 100 members, or Limit, of every range in every partition, the next ones 500 of
// a range. A step costs O(log n) for each range, and what it returns.
//
// An entry that is put or removed during the query is seen or not, and never half.
// One that is moved forward can be seen at both places.
func (x *Lexical) Select(ctx context.Context, page Page, ranges ...Range) iter.Seq2[Member, error] {
	return x.query(ctx, page, members.Query{Ranges: rangesOf(ranges)})
}

// All yields all entries in order.
func (x *Lexical) All(ctx context.Context, page Page) iter.Seq2[Member, error] {
	return x.Select(ctx, page)
}

// Count returns the number of entries in some ranges, which must be disjoint; without
// ranges, of all. One round trip, O(log n) for each range and partition.
func (x *Lexical) Count(ctx context.Context, ranges ...Range) (int64, error) {
	n, err := x.reader().Count(ctx, members.Query{Ranges: rangesOf(ranges)})
	return n, x.wrap(ctx, err)
}

func rangesOf(ranges []Range) []members.Range {
	all := make([]members.Range, len(ranges))
	for i, r := range ranges {
		all[i] = members.Range(r)
	}
	return all
}

// query yields a page of the entries that a query selects.
func (x *Lexical) query(ctx context.Context, page Page, q members.Query) iter.Seq2[Member, error] {
	q.Limit, q.Offset, q.Reverse, q.After = page.Limit, page.Offset, page.Reverse, page.After
	return func(yield func(Member, error) bool) {
		for m, err := range x.reader().Read(ctx, q) {
			if !yield(Member(m), x.wrap(ctx, err)) {
				return
			}
		}
	}
}

func (x *Lexical) reader() *members.Reader {
	return &members.Reader{Set: x.set, ID: x.id, Sift: x.sift}
}
