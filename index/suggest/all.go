package suggest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// step is the number of terms read in a step of a scan.
const step = 500

// Get returns a term, given in any spelling, or index.ErrNotFound: one round trip.
func (x *Index) Get(ctx context.Context, text string) (s Suggestion, err error) {
	defer x.wrap(&err)
	found, err := x.getMany(ctx, []string{text})
	switch {
	case err != nil:
		return Suggestion{}, err
	case len(found) == 0:
		return Suggestion{}, fmt.Errorf("%w: the term %q", index.ErrNotFound, text)
	}
	return found[0], nil
}

// GetMany returns terms in the given order, omitting missing terms: one round trip.
func (x *Index) GetMany(ctx context.Context, terms ...string) (all []Suggestion, err error) {
	defer x.wrap(&err)
	return x.getMany(ctx, terms)
}

func (x *Index) getMany(ctx context.Context, terms []string) ([]Suggestion, error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	calls := make([]script.Call, len(terms))
	for i, text := range terms {
		name, err := x.opt.Punctuation.name(text)
		if err != nil {
			return nil, err
		}
		calls[i] = x.listing(x.set.Index(name), bounds{low: "[" + name + "\t", high: "[" + name + "\t\xff", count: 1})
	}
	all := make([]Suggestion, 0, len(terms))
	for _, r := range x.scripts.list.RunMany(ctx, x.set.Client, calls) {
		l, err := parseList(topList{}, r)
		if err != nil {
			return nil, err
		}
		for _, t := range l.terms {
			all = append(all, x.suggestion(t, l.now))
		}
	}
	return all, nil
}

// bounds are the bounds of a range of entries.
type bounds struct {
	low, high string
	count     int
	reverse   bool
}

// listing returns the call of list.lua that reads entries of a partition.
func (x *Index) listing(part int, e bounds) script.Call {
	args := []string{"ZRANGEBYLEX", e.low, e.high, strconv.Itoa(e.count), x.opt.halfLife()}
	if e.reverse {
		args[0], args[1], args[2] = "ZREVRANGEBYLEX", e.high, e.low
	}
	return script.Call{Keys: x.keys[part].reading(), Args: args}
}

// list reads entries of a partition.
func (x *Index) list(ctx context.Context, part int, e bounds) (topList, error) {
	c := x.listing(part, e)
	return parseList(topList{}, x.scripts.list.Run(ctx, x.set.Client, c.Keys, c.Args))
}

// All yields the terms with a prefix, normalized as for Complete, in the byte order of their
// normalized forms: "a", "a b", "a1", "ab". The order does not depend on counts, so pages are
// stable under concurrent writes, without duplicates or gaps. It reads 500 terms per round
// trip, or page.Limit if it is less.
func (x *Index) All(ctx context.Context, prefix string, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		sequences, err := x.sequences(ctx, prefix, page)
		if err != nil {
			x.wrap(&err)
			yield(Entry{}, err)
			return
		}
		order := func(a, b Entry) int {
			if page.Reverse {
				a, b = b, a
			}
			return strings.Compare(a.Name, b.Name)
		}
		n := 0
		for e, err := range scan.Merge(order, sequences...) {
			if n++; err == nil && n <= page.Offset {
				continue
			}
			x.wrap(&err)
			if !yield(e, err) || err != nil || n == page.Offset+page.Limit {
				return
			}
		}
	}
}

// sequences returns the terms of each partition in order.
func (x *Index) sequences(ctx context.Context, prefix string, page index.Page) ([]iter.Seq2[Entry, error], error) {
	name, err := x.opt.Punctuation.prefix(prefix)
	if err != nil {
		return nil, err
	}
	after, err := scan.DecodeCursor(page.After)
	if err == nil && (!utf8.ValidString(after) || strings.ContainsFunc(after, unicode.IsControl)) {
		err = errors.New("the cursor was not returned by All")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", index.ErrValue, err)
	case page.Limit < 0 || page.Offset < 0:
		return nil, fmt.Errorf("%w: limit %d and offset %d must not be negative", index.ErrValue, page.Limit, page.Offset)
	}
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	e := bounds{low: "[" + name, high: "[" + name + "\xff", count: step, reverse: page.Reverse}
	if page.Limit > 0 && page.Offset < step {
		e.count = min(page.Limit+page.Offset, step)
	}
	if word, ended := strings.CutSuffix(name, " "); ended {
		// The term that ends at the blank sorts first, with no other term in between.
		e.low = "[" + word + "\t"
	}
	if after != "" {
		e = e.from(after)
	}
	var sequences []iter.Seq2[Entry, error]
	for part := range x.keys {
		sequences = append(sequences, x.scan(ctx, part, e))
	}
	return sequences, nil
}

// from returns the bounds of the entries after a name, whatever the current count of the name:
// the tab that ends a name sorts before every continuation of a longer name.
func (e bounds) from(name string) bounds {
	if after := "[" + name + "\n"; !e.reverse && after[1:] > e.low[1:] {
		e.low = after
	}
	if before := "(" + name + "\t"; e.reverse && before[1:] < e.high[1:] {
		e.high = before
	}
	return e
}

// scan yields the terms of a partition.
func (x *Index) scan(ctx context.Context, part int, e bounds) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			l, err := x.list(ctx, part, e)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if len(l.terms) < l.read {
				yield(Entry{}, fmt.Errorf("%w: %s has members that are not entries: Repair removes them", index.ErrCorrupt, x.keys[part].Index))
				return
			}
			for _, t := range l.terms {
				if !yield(Entry{Suggestion: x.suggestion(t, l.now), Name: t.name}, nil) {
					return
				}
			}
			if l.read < e.count {
				return
			}
			e = e.from(l.terms[len(l.terms)-1].name)
		}
	}
}

// now returns the time of the server in half-lives, or 0 without a half-life.
func (x *Index) now(ctx context.Context) (float64, error) {
	if x.opt.HalfLife == 0 {
		return 0, nil
	}
	l, err := x.list(ctx, 0, bounds{low: "-", high: "-"})
	return l.now, err
}

// parseList parses the reply of complete.lua and list.lua.
func parseList(l topList, r rueidis.RedisResult) (topList, error) {
	reply, err := r.ToArray()
	if err != nil {
		return l, err
	}
	list, err := reply[0].ToString()
	if err != nil {
		return l, err
	}
	if l.now, err = reply[3].AsFloat64(); err != nil {
		return l, err
	}
	if list != "" {
		return l.cached(list, reply[1])
	}
	members, err := reply[1].AsStrSlice()
	if err != nil {
		return l, err
	}
	values, err := reply[2].ToArray()
	if err != nil {
		return l, err
	}
	l.read, l.terms = len(members), make([]term, 0, len(members))
	for i, member := range members {
		t, ok := parseEntry(member)
		if !ok {
			continue
		}
		if len(values) > 0 {
			value, _ := values[i].ToString() // "" without a value
			_, rest, _ := strings.Cut(value, "\n")
			t.payload, _, _ = strings.Cut(rest, "\n")
		}
		l.terms = append(l.terms, t)
	}
	return l, nil
}
