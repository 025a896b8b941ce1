package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/scan"
	"retwis/maintain"
)

// Composite is an index over the values of several columns, in the order of the
// first, then the second, and so on, then the id. It answers: which ids have
// these values in the first columns, and a value between these in the next?
//
//	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{
//		{Name: "room", Type: index.Int},
//		{Name: "price", Type: index.Decimal, Scale: 2},
//	}})
//	err = rooms.Put(ctx, "90", 56, "28.44")
//	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.Equal("room", 56), index.Between("price", "10", "30")) {
//
// It is a sorted set whose scores are 0. A member is the values of the columns,
// encoded so that the order of bytes is that of the values, and the id: integers
// with the greatest byte first and the sign turned, floats by their bits, strings
// with a terminator and zero bytes escaped. All bytes of a descending column are
// turned. The encoding of strings is that of FoundationDB's tuples.
type Composite struct {
	lex    *Lexical
	opt    Options
	codecs ordered.Encoding
}

// Options are the options of NewComposite.
type Options struct {
	// Columns are what the index is over: at least one.
	Columns []Column
	// Readable writes members as text, as in 0056:0028.44:90, for people who
	// look with redis-cli. It takes more room, and no floats, big integers or
	// descending columns.
	Readable bool
	// Partitions is over how many hash slots the index is spread, by id: on a
	// Cluster over as many servers. A query asks all of them. Default: 1.
	Partitions int
}

// Entry is an entry of a Composite.
type Entry struct {
	ID     string
	Values []any // one for each column, of the type that Type says
	member string
}

// Cursor is the place of an entry that was read, for Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.member) }

// kindComposite is what a Composite remembers as its kind.
const kindComposite = "composite"

// readableWord stands behind the columns in the declaration of a readable index.
const readableWord = "readable"

// NewComposite returns the index at a key. It asks no server; the index comes
// into being when something is put.
func NewComposite(client rueidis.Client, key string, opt Options) (*Composite, error) {
	if len(opt.Columns) < 1 || len(opt.Columns) > maxColumns {
		return nil, fmt.Errorf("index: %s: Options.Columns has %d columns: it must have from 1 to %d", key, len(opt.Columns), maxColumns)
	}
	c := &Composite{opt: opt}
	c.opt.Columns = slices.Clone(opt.Columns)
	var words []string
	var columns []ordered.Column
	for i, column := range opt.Columns {
		column, err := column.normalize()
		if err == nil && slices.ContainsFunc(c.opt.Columns[:i], func(o Column) bool { return o.Name == column.Name }) {
			err = errors.New("the name is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("index: %s: Options.Columns[%d]: %w", key, i, err)
		}
		c.opt.Columns[i] = column
		columns = append(columns, ordered.Column(column))
		words = append(words, column.String())
	}
	encoding := ordered.NewEncoding
	if opt.Readable {
		encoding = ordered.NewReadable
	}
	var err error
	if c.codecs, err = encoding(columns...); err != nil {
		return nil, fmt.Errorf("index: %s: Options.Columns: %w", key, err)
	}
	declaration := strings.Join(words, ",")
	if opt.Readable {
		declaration += " " + readableWord
	}
	c.lex, err = NewLexical(client, key, LexicalOptions{
		Kind: kindComposite, Declaration: declaration, Partitions: opt.Partitions,
		ID: c.id, Describe: c.describe,
	})
	return c, err
}

// OpenComposite returns the index at a key as it was declared when it came into
// being: one round trip. It returns ErrNotFound where there is none.
func OpenComposite(ctx context.Context, client rueidis.Client, key string) (*Composite, error) {
	d, err := Declared(ctx, client, key)
	if err != nil {
		return nil, err
	}
	if d.Kind != kindComposite {
		return nil, fmt.Errorf("index: %w: %q is %s, not %s", ErrDeclared, key, d, kindComposite)
	}
	text, readable := strings.CutSuffix(d.Text, " "+readableWord)
	columns, err := ParseColumns(text)
	if err != nil {
		return nil, fmt.Errorf("index: %s.meta: %w", key, err)
	}
	return NewComposite(client, key, Options{Columns: columns, Readable: readable, Partitions: d.Partitions})
}

// Key is the key of the index.
func (c *Composite) Key() string { return c.lex.Key() }

// Columns are the columns of the index, in order.
func (c *Composite) Columns() []Column { return slices.Clone(c.opt.Columns) }

// Put adds an entry with a value for each column, or moves it: one script. A
// value that a column cannot hold, or could not order exactly, is refused with
// ErrValue.
func (c *Composite) Put(ctx context.Context, id string, values ...any) error {
	m, err := c.member(id, values)
	if err != nil {
		return c.lex.wrap(ctx, err)
	}
	return c.lex.Put(ctx, m)
}

// PutMany puts entries in pipelined scripts of a hundred, and returns how many
// are in. Each is put as a whole or not at all; after an error those before it
// are in, and it can be repeated without harm. Of an id that comes twice the
// later entry stays.
func (c *Composite) PutMany(ctx context.Context, entries iter.Seq[Entry]) (int, error) {
	var wrong error
	n, err := c.lex.PutMany(ctx, func(yield func(Member) bool) {
		for e := range entries {
			var m Member
			if m, wrong = c.member(e.ID, e.Values); wrong != nil || !yield(m) {
				return
			}
		}
	})
	return n, cmp.Or(err, c.lex.wrap(ctx, wrong))
}

// member encodes an entry.
func (c *Composite) member(id string, values []any) (Member, error) {
	if err := checkID(id); err != nil {
		return Member{}, err
	}
	if len(values) != len(c.codecs) {
		return Member{}, fmt.Errorf("%w: id %s: there are %d values for %d columns", ErrValue, shown(id), len(values), len(c.codecs))
	}
	b, err := c.codecs.AppendAll(make([]byte, 0, 64), values)
	if err != nil {
		return Member{}, fmt.Errorf("id %s: %w", shown(id), err)
	}
	return Member{id, string(append(b, id...))}, nil
}

// Check tells whether Put would take an entry; it asks no server.
func (c *Composite) Check(id string, values ...any) error {
	m, err := c.member(id, values)
	if err == nil {
		err = c.lex.check(m)
	}
	if err != nil {
		return fmt.Errorf("index: %s: %w", c.Key(), err)
	}
	return nil
}

// id returns the id of a member.
func (c *Composite) id(member string) (string, error) {
	id, err := c.codecs.After(member)
	if err == nil && id == "" {
		err = errors.New("it has no id")
	}
	return id, err
}

// entry decodes a member.
func (c *Composite) entry(m Member) (Entry, error) {
	values, _, err := c.codecs.Values(m.Member)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: id %s: %w: see Verify", ErrCorrupt, shown(m.ID), err)
	}
	return Entry{ID: m.ID, Values: values, member: m.Member}, nil
}

// describe words a member for a report.
func (c *Composite) describe(member string) string {
	id, err := c.id(member)
	if err == nil {
		var e Entry
		if e, err = c.entry(Member{id, member}); err == nil {
			words := make([]string, len(e.Values))
			for i, v := range e.Values {
				words[i] = c.codecs[i].Name + "=" + c.codecs[i].Describe(v)
			}
			return strings.Join(words, " ")
		}
	}
	return fmt.Sprintf("%q", member)
}

// Remove takes ids out of the index and returns how many were in: one round
// trip for thousands.
func (c *Composite) Remove(ctx context.Context, ids ...string) (int, error) {
	return c.lex.Remove(ctx, ids...)
}

// RemoveExactly takes entries that were read out of the index where they are
// still the same, and returns how many were: for a reader that found the object
// of an entry gone, while others may put it again.
func (c *Composite) RemoveExactly(ctx context.Context, entries ...Entry) (int, error) {
	members := make([]Member, len(entries))
	for i, e := range entries {
		members[i] = Member{e.ID, e.member}
	}
	return c.lex.RemoveExactly(ctx, members...)
}

// Get returns the entry of an id, or ErrNotFound: one round trip.
func (c *Composite) Get(ctx context.Context, id string) (Entry, error) {
	all, err := c.GetMany(ctx, id)
	if err == nil && len(all) == 0 {
		err = c.lex.wrap(ctx, fmt.Errorf("%w: id %s", ErrNotFound, shown(id)))
	}
	if err != nil {
		return Entry{}, err
	}
	return all[0], nil
}

// GetMany returns the entries of ids, in their order, without those that are not
// in the index: one round trip.
func (c *Composite) GetMany(ctx context.Context, ids ...string) ([]Entry, error) {
	members, err := c.lex.Get(ctx, ids...)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(members))
	for i, m := range members {
		if id, err := c.id(m.Member); err != nil || id != m.ID {
			return nil, c.lex.wrap(ctx, fmt.Errorf("%w: id %s has no entry of this index beside it: see Verify", ErrCorrupt, shown(m.ID)))
		}
		if entries[i], err = c.entry(m); err != nil {
			return nil, c.lex.wrap(ctx, err)
		}
	}
	return entries, nil
}

// Len is how many entries there are: one round trip.
func (c *Composite) Len(ctx context.Context) (int64, error) { return c.lex.Len(ctx) }

// Select yields the entries for which all conditions hold, in the order of the
// index. Conditions with one value on the first columns, and one more on the
// next, are a range of the sorted set: O(log n) and what is returned. Conditions
// on later columns are looked at in a script, a thousand entries of the range at
// a time: these cost what they pass over. Reads go in steps of a round trip each,
// 100 entries or Limit, then 500.
func (c *Composite) Select(ctx context.Context, page Page, conditions ...Where) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q, none, err := c.plan(conditions)
		if err != nil {
			yield(Entry{}, c.lex.wrap(ctx, err))
			return
		}
		if none {
			return
		}
		q.Page = page
		for m, err := range c.lex.Select(ctx, q) {
			var e Entry
			if err == nil {
				if e, err = c.entry(m); err != nil {
					err = c.lex.wrap(ctx, err)
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Count is for how many entries all conditions hold: one round trip where they
// are a range, as Select says; else one for a thousand entries of it.
func (c *Composite) Count(ctx context.Context, conditions ...Where) (int64, error) {
	q, none, err := c.plan(conditions)
	if err != nil {
		return 0, c.lex.wrap(ctx, err)
	}
	if none {
		return 0, nil
	}
	return c.lex.Count(ctx, q)
}

// plan makes conditions into a range, and bounds of the columns behind it.
func (c *Composite) plan(conditions []Where) (q LexQuery, none bool, err error) {
	all := make([]bounds, len(c.codecs))
	for _, w := range conditions {
		i := slices.IndexFunc(c.codecs, func(k ordered.Codec) bool { return k.Name == w.column })
		if i < 0 {
			return q, false, fmt.Errorf("%w: there is no column %s in %s", ErrValue, shown(w.column), c.lex.set.Declaration().Text)
		}
		if err := all[i].narrow(&c.codecs[i], w); err != nil {
			return q, false, err
		}
	}
	if slices.ContainsFunc(all, func(b bounds) bool { return b.none }) {
		return q, true, nil
	}
	prefix, next := "", 0
	for next < len(all) && all[next].exact != "" {
		prefix += all[next].exact
		next++
	}
	r := Prefix(prefix)
	if next < len(all) && all[next].holds() {
		if all[next].low != "" {
			r.Min = "[" + prefix + all[next].low
		}
		if all[next].high != "" {
			r.Max = "(" + prefix + all[next].high
		}
		next++
	}
	q.Ranges = []LexRange{r}
	last := -1
	for i := next; i < len(all); i++ {
		if all[i].holds() {
			last = i
		}
	}
	for i := 0; i <= last; i++ {
		b := bounds{}
		if i >= next {
			b = all[i]
		}
		width, terminator := c.codecs[i].Ending()
		q.sift = append(q.sift, strconv.Itoa(width), terminator, b.low, b.high)
	}
	return q, false, nil
}

// Verify looks, in steps of 200, for entries that do not agree with what is
// beside them, and with the objects of a source if one is given, while others
// read and write.
func (c *Composite) Verify(ctx context.Context, src *Source[[]any], up maintain.Options) (maintain.Report, error) {
	return c.lex.Verify(ctx, c.source(src), up)
}

// Repair finds what Verify finds and mends it: what the object says is right,
// then what stands in key.content, the reverse index; where that is lost, it is
// made of the entries. Each entry is looked at again in the step that changes it,
// so that what others write meanwhile stays. A source needs its Lookup.
func (c *Composite) Repair(ctx context.Context, src *Source[[]any], up maintain.Options) (maintain.Report, error) {
	return c.lex.Repair(ctx, c.source(src), up)
}

// Rebuild makes the index anew from a source, beside the old one, which serves
// until the new one takes its place: in one step that has caught up with all that
// others wrote meanwhile.
func (c *Composite) Rebuild(ctx context.Context, src Source[[]any], up maintain.Options) (maintain.Report, error) {
	return c.lex.Rebuild(ctx, *c.source(&src), up)
}

func (c *Composite) source(src *Source[[]any]) *Source[string] {
	if src == nil {
		return nil
	}
	m := Convert(*src, func(id string, values []any) (string, error) {
		m, err := c.member(id, values)
		return m.Member, err
	})
	return &m
}

// Values reads the values of the columns from the fields of a hash, for Hashes.
// An object without one of them is not to be in the index.
func (c *Composite) Values(_ string, fields map[string]string) (values []any, ok bool, err error) {
	for i := range c.opt.Columns {
		text, ok := fields[c.opt.Columns[i].Name]
		if !ok {
			return nil, false, nil
		}
		v, err := c.opt.Columns[i].Parse(text)
		if err != nil {
			return nil, false, err
		}
		values = append(values, v)
	}
	return values, true, nil
}
