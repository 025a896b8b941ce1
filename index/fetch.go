package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index/internal/entries"
	"retwis/maintain"
)

// FetchOptions are the options of Fetch.
type FetchOptions struct {
	// Key returns the key of the hash of an id. Default: the id.
	Key func(id string) string
	// Fields are the fields to get. A hash that has none of them is returned without
	// fields, which takes one more round trip. Default: all.
	Fields []string
	// Repair corrects the entries that disagree with their hashes: read repair. It is an
	// option of the Fetch of an index; the function Fetch, which knows no index, refuses
	// it.
	Repair bool
}

// Fetched is the hash of an id.
type Fetched struct {
	ID     string
	Fields map[string]string
	// Stale reports that the entry that was read has other values than the hash, so that
	// the hash may not match the conditions of the query. Only the Fetch of an index sets
	// it.
	Stale bool
}

// Fetch gets the hashes of ids, in their order, without those that do not exist: one
// round trip for a thousand. On a Cluster it asks the servers in parallel. The Fetch of an
// index also compares the hashes with its entries.
func Fetch(ctx context.Context, client rueidis.Client, ids []string, opt FetchOptions) ([]Fetched, error) {
	if opt.Repair {
		return nil, errors.New("index: FetchOptions.Repair is for the Fetch of an index, which knows its entries")
	}
	keys := ids
	if opt.Key != nil {
		keys = make([]string, len(ids))
		for i, id := range ids {
			keys[i] = opt.Key(id)
		}
	}
	hashes, err := entries.ReadHashes(ctx, client, keys, opt.Fields, false)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	var found []Fetched
	for i, fields := range hashes {
		if fields != nil {
			found = append(found, Fetched{ID: ids[i], Fields: fields})
		}
	}
	return found, nil
}

// Fetch gets the hashes of entries that were read, in their order and without those that do
// not exist, as the function Fetch does: one round trip for a thousand. It compares each
// hash with its entry, whose columns are the fields of their names, which costs nothing, and
// marks those that differ as Stale.
//
// Where the two differ it reads both again, since a program may have written the one and
// not yet the other, and reports what still differs: Stale if the hash has other values,
// Missing if it has no entry any more, Dangling if it does not exist or lacks a column,
// Invalid if it has values that the index cannot hold. Report.Checked counts the entries.
//
// With FetchOptions.Repair it then makes the entries of these ids agree with their hashes, as
// the method Repair does: no concurrent write is lost. Entries stay as they are while another
// process repairs or rebuilds the index, or for a minute after one was killed during it;
// Report.Repaired counts those that were changed.
func (c *Composite) Fetch(ctx context.Context, read []Entry, opt FetchOptions) ([]Fetched, maintain.Report, error) {
	all := make([]entries.Entry, len(read))
	for i, e := range read {
		all[i] = entries.Entry{ID: e.ID, Value: e.member}
		if e.member == "" { // it was not read from the index
			var err error
			if all[i].Value, err = c.member(e.ID, e.Values); err != nil {
				return nil, maintain.Report{}, c.entries.Wrap(ctx, err)
			}
		}
	}
	var names []string
	for _, column := range c.opt.Columns {
		names = append(names, column.Name)
	}
	return entries.Fetch[Fetched](ctx, c.entries, all, entries.Hashes{
		Key: opt.Key, Fields: opt.Fields, Repair: opt.Repair, Needs: names,
		Value: func(id string, fields map[string]string) (string, bool, error) {
			values, ok, err := c.parse(id, fields)
			if !ok || err != nil {
				return "", false, err
			}
			member, err := c.member(id, values)
			return member, true, err
		},
	})
}

// Fetch gets the hashes of entries that were read, in their order, and compares the two:
// see Composite.Fetch. The number is the field with the name of the column.
func (x *Numeric[N]) Fetch(ctx context.Context, read []NumericEntry[N], opt FetchOptions) ([]Fetched, maintain.Report, error) {
	all := make([]entries.Entry, len(read))
	for i, e := range read {
		all[i] = entries.Entry{ID: e.ID, Value: scoreText(e.Number)}
	}
	return entries.Fetch[Fetched](ctx, x.entries, all, entries.Hashes{
		Key: opt.Key, Fields: opt.Fields, Repair: opt.Repair, Needs: []string{x.column.Name},
		Value: func(id string, fields map[string]string) (string, bool, error) {
			n, ok, err := x.parse(id, fields)
			if !ok || err != nil {
				return "", false, err
			}
			return scoreText(n), true, checkNumber(n)
		},
	})
}
