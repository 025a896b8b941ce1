package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// FetchOptions are the options of Fetch.
type FetchOptions struct {
	// Key returns the key of the hash of an id. Default: the id.
	Key func(id string) string
	// Fields are the fields to get. A hash that has none of them is returned without
	// fields, which takes one more round trip. Default: all.
	Fields []string
	// Missing is called with the ids whose hashes do not exist. Default: they are
	// skipped.
	Missing func(ctx context.Context, ids []string) error
	// Repair corrects the entries that disagree with their hashes: read repair. It is an
	// option of the Fetch of an index; the function Fetch, which knows no index, refuses
	// it.
	Repair bool

	hashesOnly bool // skip keys of other types as if they did not exist
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

// fetchPipeline is the number of hashes in a pipeline.
const fetchPipeline = 1000

// Fetch gets the hashes of ids, in their order, without those that do not exist: one
// round trip for a thousand. On a Cluster it asks the servers in parallel. The Fetch of an
// index also compares the hashes with its entries.
func Fetch(ctx context.Context, client rueidis.Client, ids []string, opt FetchOptions) ([]Fetched, error) {
	if opt.Repair {
		return nil, errors.New("index: FetchOptions.Repair is for the Fetch of an index, which knows its entries")
	}
	if opt.Key == nil {
		opt.Key = func(id string) string { return id }
	}
	found := make([]Fetched, 0, len(ids))
	var missing []string
	for batch := range slices.Chunk(ids, fetchPipeline) {
		commands := make(rueidis.Commands, len(batch))
		for i, id := range batch {
			if len(opt.Fields) > 0 {
				commands[i] = client.B().Hmget().Key(opt.Key(id)).Field(opt.Fields...).Build()
			} else {
				commands[i] = client.B().Hgetall().Key(opt.Key(id)).Build()
			}
		}
		all := make([]map[string]string, len(batch))
		var empty []int
		for i, reply := range client.DoMulti(ctx, commands...) {
			var err error
			if all[i], err = fieldsOf(reply, opt.Fields); err != nil && (!opt.hashesOnly || !rediserr.IsWrongType(err)) {
				return nil, fmt.Errorf("index: %s: %w", opt.Key(batch[i]), err)
			}
			if len(all[i]) == 0 {
				empty = append(empty, i)
			}
		}
		gone, err := goneOf(ctx, client, batch, empty, opt)
		if err != nil {
			return nil, err
		}
		for i, id := range batch {
			if gone[i] {
				missing = append(missing, id)
			} else {
				found = append(found, Fetched{ID: id, Fields: all[i]})
			}
		}
	}
	if len(missing) > 0 && opt.Missing != nil {
		if err := opt.Missing(ctx, missing); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// goneOf returns which of the ids whose fields came back empty have no hash. A hash
// without fields does not exist; but HMGET replies the same for a hash that has only
// other fields.
func goneOf(ctx context.Context, client rueidis.Client, ids []string, empty []int, opt FetchOptions) (map[int]bool, error) {
	gone := make(map[int]bool, len(empty))
	if len(opt.Fields) == 0 || len(empty) == 0 {
		for _, i := range empty {
			gone[i] = true
		}
		return gone, nil
	}
	commands := make(rueidis.Commands, len(empty))
	for c, i := range empty {
		commands[c] = client.B().Exists().Key(opt.Key(ids[i])).Build()
	}
	for c, reply := range client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, fmt.Errorf("index: %s: %w", opt.Key(ids[empty[c]]), err)
		}
		gone[empty[c]] = n == 0
	}
	return gone, nil
}

// fieldsOf reads the reply of HGETALL, or of HMGET if names are given.
func fieldsOf(reply rueidis.RedisResult, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return reply.AsStrMap()
	}
	values, err := reply.ToArray()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(names))
	for i, v := range values {
		if v.IsNil() {
			continue
		}
		if fields[names[i]], err = v.ToString(); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
