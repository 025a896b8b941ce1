package graph

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

// store reads the entries of a graph.
type store struct {
	set     *partition.Set
	compact bool
}

// check returns an error if the stored declaration differs.
func (st *store) check(ctx context.Context) error {
	return st.wrap(ctx, st.set.Check(ctx))
}

// wrap adds the package and the key to an error of the database.
func (st *store) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("graph: %q: %w", st.set.Key, st.set.Error(ctx, err))
}

// damaged returns the error of an entry that this package cannot have written.
func (st *store) damaged(entry string) error {
	return fmt.Errorf("graph: %q has an entry %.100q: %w; Repair removes it", st.set.Key, entry, index.ErrCorrupt)
}

// spanOf returns the range of a pattern without variables.
func (st *store) spanOf(p Pattern) (span, error) {
	fixed := 0
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == named {
			fixed++
		}
	}
	for _, order := range ordersOf(st.compact) {
		if (p.Order == "" || p.Order == order) && p.leads(order, fixed) {
			return p.in(order, fixed), nil
		}
	}
	return span{}, invalid("the graph has no order %q that begins with the names in %s; it has %v", p.Order, p, ordersOf(st.compact))
}

// keys returns the keys of the partitions that can have entries of a range.
func (st *store) keys(s span) []string {
	if s.subject != "" {
		return []string{st.set.Of(s.subject).Index}
	}
	keys := make([]string, len(st.set.Keys))
	for i := range keys {
		keys[i] = st.set.Keys[i].Index
	}
	return keys
}

// entries yields the entries of a range, merged from the partitions that can have some.
func (st *store) entries(ctx context.Context, s span, page index.Page, after string) iter.Seq2[string, error] {
	keys := st.keys(s)
	skip := 0
	r := reader{span: s, reverse: page.Reverse, after: after, want: page.Limit, skip: page.Offset}
	if len(keys) > 1 { // the offset counts merged entries
		skip, r.skip = page.Offset, 0
		if r.want > 0 {
			r.want += skip
		}
	}
	sequences := make([]iter.Seq2[string, error], len(keys))
	for i, key := range keys {
		sequences[i] = r.read(ctx, st, key)
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

// reader reads a range of one partition.
type reader struct {
	span
	reverse bool
	after   string // the entry after which to start; empty: at the beginning
	skip    int
	want    int // how many entries at most; 0: all
}

func (r reader) read(ctx context.Context, st *store, key string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := r // a sequence can be iterated twice
		for {
			count := readSize
			if r.want > 0 {
				count = min(count, r.want)
			}
			found, err := st.set.Client.Do(ctx, r.command(st, key, count)).AsStrSlice()
			if err != nil {
				yield("", st.wrap(ctx, err))
				return
			}
			for _, entry := range found {
				if !yield(entry, nil) {
					return
				}
			}
			if r.want > 0 {
				if r.want -= len(found); r.want == 0 {
					return
				}
			}
			if len(found) < count {
				return
			}
			r.after, r.skip = found[len(found)-1], 0
		}
	}
}

// command reads the next count entries of the range.
func (r *reader) command(st *store, key string, count int) rueidis.Completed {
	low, high := r.bounds()
	b := st.set.Client.B().Zrange().Key(key)
	if r.reverse {
		if r.after != "" {
			high = "(" + r.after
		}
		return b.Min(high).Max(low).Bylex().Rev().Limit(int64(r.skip), int64(count)).Build()
	}
	if r.after != "" {
		low = "(" + r.after
	}
	return b.Min(low).Max(high).Bylex().Limit(int64(r.skip), int64(count)).Build()
}

// counts returns the number of entries in each range: one round trip for 10,000 ranges.
func (st *store) counts(ctx context.Context, spans []span) ([]int64, error) {
	counts := make([]int64, len(spans))
	var commands rueidis.Commands
	var of []int
	send := func() error {
		for i, r := range st.set.Client.DoMulti(ctx, commands...) {
			n, err := r.AsInt64()
			if err != nil {
				return st.wrap(ctx, err)
			}
			counts[of[i]] += n
		}
		commands, of = commands[:0], of[:0]
		return nil
	}
	for i, s := range spans {
		low, high := s.bounds()
		for _, key := range st.keys(s) {
			commands, of = append(commands, st.set.Client.B().Zlexcount().Key(key).Min(low).Max(high).Build()), append(of, i)
			if len(commands) == roundEntries {
				if err := send(); err != nil {
					return nil, err
				}
			}
		}
	}
	return counts, send()
}

// present reports which triples the graph has: one round trip.
func (st *store) present(ctx context.Context, triples []Triple) ([]bool, error) {
	members := make([][]string, len(st.set.Keys))
	of := make([][]int, len(st.set.Keys))
	for i, t := range triples {
		k := st.set.Index(t.S)
		members[k], of[k] = append(members[k], t.id()), append(of[k], i)
	}
	var commands rueidis.Commands
	var partitions []int
	for k := range members {
		if len(members[k]) > 0 {
			commands = append(commands, st.set.Client.B().Zmscore().Key(st.set.Keys[k].Index).Member(members[k]...).Build())
			partitions = append(partitions, k)
		}
	}
	found := make([]bool, len(triples))
	for i, r := range st.set.Client.DoMulti(ctx, commands...) {
		scores, err := r.ToArray()
		if err != nil {
			return nil, st.wrap(ctx, err)
		}
		for j, score := range scores {
			found[of[partitions[i]][j]] = !score.IsNil()
		}
	}
	return found, nil
}
