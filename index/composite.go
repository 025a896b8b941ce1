package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/index/internal/conditions"
	"retwis/index/internal/entries"
	"retwis/index/internal/ranged"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// Composite is an index over the values of several columns: sorted by the first,
// then the second, and so on, then the id. It answers: which ids have these values in
// the first columns, and a value between these in the next?
//
//	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{
//		{Name: "room", Type: index.Int},
//		{Name: "price", Type: index.Decimal, Scale: 2},
//	}})
//	err = rooms.Put(ctx, "90", 56, "28.44")
//	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.Eq("room", 56), index.Between("price", 10, 30)) {
//
// It is the tutorial's composite index: a sorted set whose scores are 0. A member is
// the values of the columns, encoded so that bytes sort as the values do, and the id:
// integers big endian with the sign bit inverted, floats as their IEEE 754 bits,
// strings with a terminator and escaped zero bytes, as in FoundationDB's tuples. All
// bytes of a descending column are inverted.
type Composite struct {
	entries  *entries.Index
	opt      Options
	encoding ordered.Encoding
}

// Options are the options of NewComposite.
type Options struct {
	// Columns are the columns of the index, in order: from 1 to 32.
	Columns []Column
	// Partitions is the number of hash slots over which the index is spread by id: on
	// a Cluster, over as many servers. A query reads all of them. Default: 1.
	Partitions int
}

// Entry is an entry of a Composite.
type Entry struct {
	ID     string
	Values []any // one for each column, of the Go type of its Type
	member string
}

// Cursor returns the position of an entry that was read, for Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.member) }

const (
	// kindComposite is the kind in the declaration of a Composite.
	kindComposite = "composite"
	// readableSuffix follows the columns in the declaration of an index in the
	// tutorial's text encoding, which Adopt takes over.
	readableSuffix = " readable"
)

// NewComposite returns the index at a key. It sends nothing to the server; the first
// Put creates the index.
func NewComposite(client rueidis.Client, key string, opt Options) (*Composite, error) {
	return newComposite(client, key, opt, false)
}

func newComposite(client rueidis.Client, key string, opt Options, readable bool) (*Composite, error) {
	if len(opt.Columns) < 1 || len(opt.Columns) > maxColumns {
		return nil, fmt.Errorf("index: %s: Options.Columns has %d columns: it must have from 1 to %d", key, len(opt.Columns), maxColumns)
	}
	c := &Composite{opt: opt}
	c.opt.Columns = slices.Clone(opt.Columns)
	var declarations []string
	var columns []ordered.Column
	for i, column := range opt.Columns {
		column, err := column.normalize()
		if err == nil && slices.ContainsFunc(c.opt.Columns[:i], func(o Column) bool { return o.Name == column.Name }) {
			err = errors.New("another column has the same name")
		}
		if err != nil {
			return nil, fmt.Errorf("index: %s: Options.Columns[%d]: %w", key, i, err)
		}
		c.opt.Columns[i] = column
		columns = append(columns, column.ordered())
		declarations = append(declarations, column.String())
	}
	declaration, encoding := strings.Join(declarations, ","), ordered.NewEncoding
	if readable {
		declaration, encoding = declaration+readableSuffix, ordered.NewReadable
	}
	var err error
	if c.encoding, err = encoding(columns...); err != nil {
		return nil, fmt.Errorf("index: %s: Options.Columns: %w", key, err)
	}
	c.entries, err = entries.New(client, key, entries.Options{
		Package: "index", Declaration: partition.Declaration{Kind: kindComposite, Text: declaration, Partitions: opt.Partitions},
		ID: c.id, Describe: c.describe,
	})
	return c, err
}

// OpenComposite returns the index at a key with the columns that it was created with:
// one round trip. It returns ErrNotFound if there is no index.
func OpenComposite(ctx context.Context, client rueidis.Client, key string) (*Composite, error) {
	d, err := Declared(ctx, client, key)
	if err != nil {
		return nil, err
	}
	if d.Kind != kindComposite {
		return nil, fmt.Errorf("index: %w: %q is %s, not %s", ErrDeclared, key, d, kindComposite)
	}
	text, readable := strings.CutSuffix(d.Text, readableSuffix)
	columns, err := ParseColumns(text)
	if err != nil {
		return nil, fmt.Errorf("index: %s.meta: %w", key, err)
	}
	return newComposite(client, key, Options{Columns: columns, Partitions: d.Partitions}, readable)
}

// Key returns the key of the index.
func (c *Composite) Key() string { return c.entries.Set.Key }

// Columns returns the columns of the index, in order.
func (c *Composite) Columns() []Column { return slices.Clone(c.opt.Columns) }

// Create makes the index without entries, if there is none yet: as Put and Rebuild do, but for
// an index of objects that come later.
func (c *Composite) Create(ctx context.Context) error { return c.entries.Create(ctx) }

// Put adds an entry with a value for each column, or moves it: one script. A value
// that a column cannot hold exactly is refused with ErrValue.
func (c *Composite) Put(ctx context.Context, id string, values ...any) error {
	m, err := c.member(id, values)
	if err != nil {
		return c.entries.Wrap(ctx, err)
	}
	return c.entries.Put(ctx, entries.Entry{ID: id, Value: m})
}

// PutMany puts entries in pipelined scripts of a hundred, and returns how many are in.
// Each is put as a whole or not at all. After an error those before it are in; it does
// no harm to repeat it. If an id comes twice, the last entry wins.
func (c *Composite) PutMany(ctx context.Context, all iter.Seq[Entry]) (int, error) {
	return c.entries.PutMany(ctx, func(yield func(entries.Entry, error) bool) {
		for e := range all {
			if m, err := c.member(e.ID, e.Values); !yield(entries.Entry{ID: e.ID, Value: m}, err) || err != nil {
				return
			}
		}
	})
}

// member encodes an entry.
func (c *Composite) member(id string, values []any) (string, error) {
	if err := entries.CheckID(id); err != nil {
		return "", err
	}
	if len(values) != len(c.encoding) {
		return "", fmt.Errorf("%w: id %s: there are %d values for %d columns", ErrValue, ranged.Shorten(id), len(values), len(c.encoding))
	}
	b, err := c.encoding.AppendAll(make([]byte, 0, 64), values)
	if err != nil {
		return "", fmt.Errorf("id %s: %w", ranged.Shorten(id), err)
	}
	return string(append(b, id...)), nil
}

// Check reports, without a server, why Put would refuse an entry.
func (c *Composite) Check(id string, values ...any) error {
	m, err := c.member(id, values)
	if err == nil {
		err = c.entries.Check(id, m)
	}
	if err != nil {
		return fmt.Errorf("index: %s: %w", c.Key(), err)
	}
	return nil
}

// id returns the id of a member.
func (c *Composite) id(member string) (string, error) {
	id, err := c.encoding.After(member)
	if err == nil && id == "" {
		err = errors.New("it has no id")
	}
	return id, err
}

// entry decodes a member.
func (c *Composite) entry(id, member string) (Entry, error) {
	values, _, err := c.encoding.Values(member)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: id %s: %w: see Verify", ErrCorrupt, ranged.Shorten(id), err)
	}
	return Entry{ID: id, Values: values, member: member}, nil
}

// describe formats a member for a report.
func (c *Composite) describe(member string) string {
	values, _, err := c.encoding.Values(member)
	if err != nil {
		return fmt.Sprintf("%q", member)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = c.encoding[i].Name + "=" + c.encoding[i].Describe(v)
	}
	return strings.Join(texts, " ")
}

// Remove removes ids from the index and returns how many were in it: one round trip
// for thousands.
func (c *Composite) Remove(ctx context.Context, ids ...string) (int, error) {
	return c.entries.Remove(ctx, ids...)
}

// Get returns the entry of an id, or ErrNotFound: one round trip.
func (c *Composite) Get(ctx context.Context, id string) (Entry, error) {
	e, err := c.entries.Get(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	return c.stored(ctx, e)
}

// GetMany returns the entries of ids, in their order, without those that are not in
// the index: one round trip.
func (c *Composite) GetMany(ctx context.Context, ids ...string) ([]Entry, error) {
	found, err := c.entries.GetMany(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]Entry, len(found))
	for i, e := range found {
		if all[i], err = c.stored(ctx, e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// stored decodes what key.content has for an id.
func (c *Composite) stored(ctx context.Context, e entries.Entry) (Entry, error) {
	if id, err := c.id(e.Value); err != nil || id != e.ID {
		return Entry{}, c.entries.Wrap(ctx, fmt.Errorf("%w: key.content has no entry of this index for id %s: see Verify", ErrCorrupt, ranged.Shorten(e.ID)))
	}
	entry, err := c.entry(e.ID, e.Value)
	return entry, c.entries.Wrap(ctx, err)
}

// Len returns the number of entries: one round trip.
func (c *Composite) Len(ctx context.Context) (int64, error) { return c.entries.Len(ctx) }

// Select yields the entries that match all conditions, in the order of the index.
//
// Conditions of one value, or an In, on the first columns, and one more on the next
// column are ranges of the sorted set: O(log n) each, and what is returned. Conditions
// on later columns are a filter, which a script applies to a thousand entries of the
// range at a time: they cost what they skip. An In on such a column is applied here.
// Reads go in steps of a round trip each: 100 entries or Limit, then 500.
func (c *Composite) Select(ctx context.Context, page Page, conditions ...Condition) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q, none, err := c.plan(conditions)
		if err != nil {
			yield(Entry{}, c.entries.Wrap(ctx, err))
			return
		}
		if none {
			return
		}
		q.Limit, q.Offset, q.Reverse, q.After = page.Limit, page.Offset, page.Reverse, page.After
		for item, err := range c.entries.Select(ctx, q) {
			var e Entry
			if err == nil {
				if e, err = c.entry(item.ID, item.Member); err != nil {
					err = c.entries.Wrap(ctx, err)
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// plan returns the query of some conditions. none is true if nothing can match.
func (c *Composite) plan(where []Condition) (q ranged.Query, none bool, err error) {
	return conditions.Plan(c.encoding, c.entries.Set.Declaration().Text, conditionsOf(where))
}

// All yields all entries in the order of the index.
func (c *Composite) All(ctx context.Context, page Page) iter.Seq2[Entry, error] {
	return c.Select(ctx, page)
}

// Count returns how many entries match all conditions. If the conditions are ranges,
// as Select explains, it is one round trip; else one for each thousand entries of them.
func (c *Composite) Count(ctx context.Context, conditions ...Condition) (int64, error) {
	q, none, err := c.plan(conditions)
	if none || err != nil {
		return 0, c.entries.Wrap(ctx, err)
	}
	return c.entries.Count(ctx, q)
}

// Hashes returns the Redis hashes whose keys match a pattern such as room:* as a
// source of the index: a column is the field of its name. An object without one of the
// fields is not in the index. See the function Hashes.
func (c *Composite) Hashes(pattern string) (Source[[]any], error) {
	return Hashes(c.entries.Set.Client, pattern, c.parse)
}

// parse reads the values of the columns from the fields of a hash.
func (c *Composite) parse(_ string, fields map[string]string) (values []any, ok bool, err error) {
	for _, column := range c.opt.Columns {
		text, ok := fields[column.Name]
		if !ok {
			return nil, false, nil
		}
		v, err := column.Parse(text)
		if err != nil {
			return nil, false, err
		}
		values = append(values, v)
	}
	return values, true, nil
}

// Verify reports entries that disagree with the reverse index, or with the objects of a
// source unless it is nil, in steps of 200 while the index is in use.
func (c *Composite) Verify(ctx context.Context, src *Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Verify(ctx, c.source(src), opt)
}

// Repair corrects what Verify reports. The objects win, then the reverse index
// key.content; if that is lost, it is made from the entries. Each entry is compared
// again in the step that changes it, so that concurrent writes are not overwritten. A
// source needs its Lookup. See Lexical.Repair.
func (c *Composite) Repair(ctx context.Context, src *Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Repair(ctx, c.source(src), opt)
}

// Rebuild makes the index anew from a source, next to the old one, which serves until
// the new one replaces it, in one step that has caught up with all concurrent writes, which
// win over the source. An id that neither has is gone. A run that fails or whose context ends
// changes nothing, except for partitions that it has replaced already. What a killed one left
// next to the index goes with the first write a minute later, or with Repair.
func (c *Composite) Rebuild(ctx context.Context, src Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Rebuild(ctx, c.source(&src), opt)
}

// Adopt turns a sorted set that was made by hand into this index: it makes the declaration
// and the reverse index, in steps of 200. It takes over entries in the encoding of this package
// and, as they are, those of the tutorial's text such as 0056:0028.44:90: integers and decimals
// padded with zeros to their Digits, and a colon after each column. Such an index works like any
// other; later, open it with OpenComposite.
//
// Report.Checked is the number of entries in the index now. The report has the entries that
// stay as they are: those that cannot be read (Dangling), and those whose id has several or
// whose score is not 0 (Stale). Put the ids of those again, or Repair with a source. If no entry
// can be read, the sorted set is something else, and Adopt fails. Adopt can be repeated; it must
// not run at the same time as other methods.
func (c *Composite) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	readable, err := c.adoptsReadable(ctx)
	if err != nil {
		return maintain.Report{}, c.entries.Wrap(ctx, err)
	}
	if readable != nil {
		*c = *readable
	}
	return c.entries.Adopt(ctx, opt)
}

// adoptSample is the number of entries that are examined for their encoding.
const adoptSample = 100

// adoptsReadable returns this index in the text encoding, if that is how the key is
// declared or, without a declaration, if most of its first entries are text.
func (c *Composite) adoptsReadable(ctx context.Context) (*Composite, error) {
	client, key := c.entries.Set.Client, c.entries.Set.Keys[0].Index
	readable, unsuited := newComposite(client, c.Key(), c.opt, true)
	d, err := Declared(ctx, client, c.Key())
	switch {
	case err == nil && unsuited == nil && d == Declaration(readable.entries.Set.Declaration()):
		return readable, nil
	case err == nil:
		return nil, nil
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	sample, err := client.Do(ctx, client.B().Zrange().Key(key).Min("0").Max(strconv.Itoa(adoptSample-1)).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	text := 0
	for _, member := range sample {
		if isPrintable(member) {
			text++
		}
	}
	switch {
	case 2*text <= len(sample):
		return nil, nil
	case unsuited != nil:
		return nil, fmt.Errorf("%w: the entries of %q are text, which has no floats, big integers or descending columns", ErrValue, c.Key())
	}
	return readable, nil
}

// isPrintable reports whether a member is text. Binary numbers that are not huge, and
// the ends of binary strings, have bytes that are not.
func isPrintable(member string) bool {
	return utf8.ValidString(member) && !strings.ContainsFunc(member, unicode.IsControl)
}

func (c *Composite) source(src *Source[[]any]) *entries.Source {
	if src == nil {
		return nil
	}
	return entries.From(src.All, src.Lookup, c.member)
}
