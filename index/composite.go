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

// Composite is an index on several columns, sorted by the first column, then by the second,
// and so on, and finally by id. It finds the ids with given values in the leading columns and a
// range of values in the next column.
//
//	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{
//		{Name: "room", Type: index.Int},
//		{Name: "price", Type: index.Decimal, Scale: 2},
//	}})
//	err = rooms.Put(ctx, "90", 56, "28.44")
//	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.Eq("room", 56), index.Between("price", 10, 30)) {
//
// It is the composite index of Redis' tutorial on indexing: a sorted set whose scores are 0. A
// member consists of the values of the columns and the id. Values are encoded as bytes in sort
// order: integers are big endian with the sign bit inverted, floats are their IEEE 754 bits, and
// strings have a terminator and escaped zero bytes, as in FoundationDB's tuples. All bytes of a
// descending column are inverted.
type Composite struct {
	entries  *entries.Index
	opt      Options
	encoding ordered.Encoding
}

// Options are the options of NewComposite.
type Options struct {
	// Columns are the columns of the index, in order: from 1 to 32.
	Columns []Column
	// Partitions is the number of hash slots over which the index is sharded by id, so that a
	// Cluster can spread the index over several servers. A query reads all of them. Default: 1.
	Partitions int
}

// Entry is an entry of a Composite.
type Entry struct {
	ID     string
	Values []any // one per column, of the Go type of the column
	member string
}

// Cursor returns the position of an entry returned by a query, for Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.member) }

const (
	// kindComposite is the kind in the declaration of a Composite.
	kindComposite = "composite"
	// readableSuffix follows the columns in the declaration of an adopted index in the
	// tutorial's text encoding.
	readableSuffix = " readable"
)

// NewComposite returns the index at a key. It sends no command; the first Put creates the
// index.
func NewComposite(client rueidis.Client, key string, opt Options) (*Composite, error) {
	return newComposite(client, key, opt, false)
}

// newComposite implements NewComposite. readable selects the tutorial's text encoding.
func newComposite(client rueidis.Client, key string, opt Options, readable bool) (*Composite, error) {
	if len(opt.Columns) < 1 || len(opt.Columns) > maxColumns {
		return nil, fmt.Errorf("index: %s: Options.Columns has %d columns: it must have 1 to %d", key, len(opt.Columns), maxColumns)
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

// OpenComposite returns the index at a key with its declared columns, or ErrNotFound if there is
// no index: one round trip.
func OpenComposite(ctx context.Context, client rueidis.Client, key string) (*Composite, error) {
	d, err := partition.ReadKind(ctx, client, key, kindComposite)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	text, readable := strings.CutSuffix(d.Text, readableSuffix)
	columns, err := ParseColumns(text)
	if err != nil {
		return nil, fmt.Errorf("index: %w", partition.Corrupt(key, err))
	}
	return newComposite(client, key, Options{Columns: columns, Partitions: d.Partitions}, readable)
}

// Key returns the key of the index.
func (c *Composite) Key() string { return c.entries.Set.Key }

// Columns returns the columns of the index, in order.
func (c *Composite) Columns() []Column { return slices.Clone(c.opt.Columns) }

// Create creates an empty index unless it exists. Put and Rebuild also create a missing
// index; use Create if there are no objects yet.
func (c *Composite) Create(ctx context.Context) error { return c.entries.Create(ctx) }

// Put adds or moves the entry of an id, with one value per column: one script. It returns
// ErrValue if a column cannot hold a value exactly.
func (c *Composite) Put(ctx context.Context, id string, values ...any) error {
	m, err := c.member(id, values)
	if err != nil {
		return c.entries.Wrap(ctx, err)
	}
	return c.entries.Put(ctx, entries.Entry{ID: id, Value: m})
}

// PutMany puts entries in pipelined scripts of a hundred, and returns the number written. Each
// entry is written completely or not at all. The entries before an invalid entry are written;
// repeating the call is safe. If an id occurs twice, the last entry wins.
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
		return "", fmt.Errorf("%w: id %s: got %d values for %d columns", ErrValue, ranged.Shorten(id), len(values), len(c.encoding))
	}
	b, err := c.encoding.AppendAll(make([]byte, 0, 64), values)
	if err != nil {
		return "", fmt.Errorf("id %s: %w", ranged.Shorten(id), err)
	}
	return string(append(b, id...)), nil
}

// Check returns the error that Put would return for an invalid entry. It sends no command.
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

// Remove removes ids from the index and returns the number removed: one round trip for
// thousands of ids.
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

// GetMany returns the entries of ids, in the given order, omitting ids that are not in the
// index: one round trip.
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

// stored decodes the entry of an id in key.content.
func (c *Composite) stored(ctx context.Context, e entries.Entry) (Entry, error) {
	if id, err := c.id(e.Value); err != nil || id != e.ID {
		return Entry{}, c.entries.Wrap(ctx, fmt.Errorf("%w: key.content has no valid entry for id %s: see Verify", ErrCorrupt, ranged.Shorten(e.ID)))
	}
	entry, err := c.entry(e.ID, e.Value)
	return entry, c.entries.Wrap(ctx, err)
}

// Len returns the number of entries: one round trip.
func (c *Composite) Len(ctx context.Context) (int64, error) { return c.entries.Len(ctx) }

// Select yields the entries that match all conditions, in the order of the index.
//
// Eq and In conditions on the leading columns, and one range condition on the next column, are
// ranges of the sorted set: each range costs O(log n) plus the entries returned. Conditions on
// later columns are filters, which a script applies to a thousand entries of a range at a time,
// so filters also cost the entries skipped. The client applies In conditions on these columns.
// Select reads 100 entries, or Limit, in the first round trip and 500 in each later one.
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

// plan translates conditions into a query. none is true if no entry can match.
func (c *Composite) plan(where []Condition) (q ranged.Query, none bool, err error) {
	return conditions.Plan(c.encoding, c.entries.Set.Declaration().Text, conditionsOf(where))
}

// All yields all entries in the order of the index.
func (c *Composite) All(ctx context.Context, page Page) iter.Seq2[Entry, error] {
	return c.Select(ctx, page)
}

// Count returns the number of entries that match all conditions. It takes one round trip if the
// conditions are ranges, as described at Select; otherwise one per thousand entries in the
// ranges.
func (c *Composite) Count(ctx context.Context, conditions ...Condition) (int64, error) {
	q, none, err := c.plan(conditions)
	if none || err != nil {
		return 0, c.entries.Wrap(ctx, err)
	}
	return c.entries.Count(ctx, q)
}

// Hashes returns a source of the Redis hashes whose keys match a pattern such as room:*. Each
// column is read from the field of the same name. A hash that lacks one of the fields is not in
// the index. See the function Hashes.
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

// Verify reports entries that disagree with the reverse index or, unless src is nil, with the
// objects of src. It works in steps of 200 entries while the index is in use.
func (c *Composite) Verify(ctx context.Context, src *Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Verify(ctx, c.source(src), opt)
}

// Repair corrects what Verify reports. Objects win over the reverse index key.content, which wins
// over the entries. A lost reverse index is restored from the entries. If an id then has several
// entries, its object selects one; without the object, its entries are reported and kept. Each
// entry is compared again in the step that changes it, so that concurrent writes are not
// overwritten. src needs a Lookup.
func (c *Composite) Repair(ctx context.Context, src *Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Repair(ctx, c.source(src), opt)
}

// Rebuild builds a new index from a source while the old index serves queries. Once the new index
// has caught up with all concurrent writes, it replaces the old index, in one atomic step per
// partition. Concurrent writes win over the source. Ids that are in neither are removed. A run that
// fails or whose context ends changes nothing, except for partitions already replaced. Leftovers of
// a killed run are removed by Repair, or by the first write a minute later.
func (c *Composite) Rebuild(ctx context.Context, src Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return c.entries.Rebuild(ctx, c.source(&src), opt)
}

// Adopt turns a sorted set created by hand into this index: it adds the declaration and the
// reverse index, in steps of 200. It accepts entries in the encoding of this package, and
// entries in the tutorial's text encoding such as 0056:0028.44:90, which are kept:
// integers and decimals padded with zeros to their Digits, and a colon after each column. Such
// an index works like any other; open it with OpenComposite from then on.
//
// Report.Checked is the number of entries that are now in the index. The report lists the
// entries that were not adopted: unreadable ones (Dangling), and those whose id has several
// entries or whose score is not 0 (Stale). Put these ids again, or call Repair with a source.
// If no entry is readable, Adopt fails. It can be repeated, but must not run concurrently with
// other methods.
func (c *Composite) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	readable, err := c.readableIndex(ctx)
	if err != nil {
		return maintain.Report{}, c.entries.Wrap(ctx, err)
	}
	if readable != nil {
		*c = *readable
	}
	return c.entries.Adopt(ctx, opt)
}

// adoptSample is the number of entries examined to detect their encoding.
const adoptSample = 100

// readableIndex returns the index with the text encoding if the key is declared with it or,
// without a declaration, if most of the first entries are text. Otherwise it returns nil.
func (c *Composite) readableIndex(ctx context.Context) (*Composite, error) {
	client, key := c.entries.Set.Client, c.entries.Set.Keys[0].Index
	readable, readableErr := newComposite(client, c.Key(), c.opt, true)
	d, err := Declared(ctx, client, c.Key())
	switch {
	case err == nil && readableErr == nil && d == Declaration(readable.entries.Set.Declaration()):
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
	case readableErr != nil:
		return nil, fmt.Errorf("%w: the entries of %q are text, which does not support floats, big integers or descending columns", ErrValue, c.Key())
	}
	return readable, nil
}

// isPrintable reports whether a member looks like text. Binary numbers, unless huge, and
// terminators of binary strings contain control characters or invalid UTF-8.
func isPrintable(member string) bool {
	return utf8.ValidString(member) && !strings.ContainsFunc(member, unicode.IsControl)
}

// source converts src for package entries.
func (c *Composite) source(src *Source[[]any]) *entries.Source {
	if src == nil {
		return nil
	}
	return entries.From(src.All, src.Lookup, c.member)
}
