package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index/internal/entries"
	"retwis/maintain"
)

// FetchOptions configures Fetch.
type FetchOptions struct {
	// Key returns the key of the hash of an id. Default: the id itself.
	Key func(id string) string
	// Fields are the fields to get. A hash that has none of them is returned without fields, at
	// the cost of one more round trip. Default: all.
	Fields []string
	// Repair corrects entries that disagree with their hashes (read repair). Only the Fetch
	// method of an index supports Repair, not the function Fetch.
	Repair bool
}

// Fetched is the hash of an id.
type Fetched struct {
	ID     string
	Fields map[string]string
	// Stale reports that the entry and the hash have different values, so the hash may not
	// match the conditions of the query. Only the Fetch method of an index sets it.
	Stale bool
}

// Fetch gets the hashes of ids, in the given order, omitting those that do not exist: one round
// trip per thousand ids. On a Cluster it asks the servers in parallel. The Fetch method of an
// index also compares the hashes with its entries.
func Fetch(ctx context.Context, client rueidis.Client, ids []string, opt FetchOptions) ([]Fetched, error) {
	if opt.Repair {
		return nil, errors.New("index: FetchOptions.Repair requires the Fetch method of an index")
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

// Fetch gets the hashes of entries returned by a query, in their order, omitting those that do
// not exist, like the function Fetch: one round trip per thousand entries. It compares each
// hash with its entry at no extra cost, reading each column from the field of the same name,
// and marks hashes that differ as Stale.
//
// If an entry and its hash differ, Fetch reads both again, since a program may have written only
// one of the two so far, and reports the remaining differences: Stale if the hash has other
// values, Missing if its entry is gone, Dangling if the hash does not exist or lacks a column,
// Invalid if the hash has values that the index cannot hold. Report.Checked counts the entries.
//
// With FetchOptions.Repair, Fetch then corrects these entries from their hashes, as the method
// Repair does: no concurrent write is lost. Fetch changes nothing while another process repairs
// or rebuilds the index, or for a minute after such a process was killed. Report.Repaired counts
// the changed entries.
func (c *Composite) Fetch(ctx context.Context, read []Entry, opt FetchOptions) ([]Fetched, maintain.Report, error) {
	all := make([]entries.Entry, len(read))
	for i, e := range read {
		all[i] = entries.Entry{ID: e.ID, Value: e.member}
		if e.member == "" { // not returned by a query
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

// Fetch gets the hashes of entries returned by a query, in their order, and compares entries
// with hashes: see Composite.Fetch. The number is read from the field with the column's name.
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
