package index

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/internal/entries"
	"retwis/internal/redis/scan"
)

// Source is the data that an index is built from and compared with: objects with an id and a
// value for the index.
type Source[V any] struct {
	// All yields all objects, in any order. An object may occur twice.
	All func(ctx context.Context) iter.Seq2[Object[V], error]
	// Lookup returns the objects of ids, omitting missing objects. Repair needs Lookup to
	// compare an entry again before changing it, and Verify to find entries without an object.
	Lookup func(ctx context.Context, ids []string) ([]Object[V], error)
}

// Object is an object of a Source.
type Object[V any] struct {
	ID    string
	Value V
	// Err is set if the index cannot hold the value of the object. Verify and Repair report
	// Err and do not change the entry; Rebuild fails, since it would lose the entry.
	Err error
}

// Objects returns a source without Lookup, such as a file that can be read only once.
func Objects[V any](objects iter.Seq2[Object[V], error]) Source[V] {
	return Source[V]{All: func(context.Context) iter.Seq2[Object[V], error] { return objects }}
}

// Hashes returns a source of the Redis hashes whose keys match a pattern with one asterisk,
// such as room:*; the id is the part that the asterisk matches. value converts the fields to a
// value, or returns false if the object does not belong in the index. Every matching hash is
// read with all its fields, so choose an index key that does not match: otherwise the .content
// hash of the index, which may be large, is read, too.
//
// All scans every master, in pages of 200 hashes. Lookup takes one round trip per 1,000 ids.
func Hashes[V any](client rueidis.Client, pattern string, value func(id string, fields map[string]string) (V, bool, error)) (Source[V], error) {
	if client == nil || value == nil {
		return Source[V]{}, fmt.Errorf("index: the pattern %q: Hashes needs a client and a function that reads a value", pattern)
	}
	prefix, suffix, ok := strings.Cut(pattern, "*")
	if !ok || strings.ContainsAny(prefix+suffix, `*?[]\`) {
		return Source[V]{}, fmt.Errorf("index: the pattern %q: write one asterisk in place of the id, as in room:*", pattern)
	}
	h := hashes[V]{client: client, prefix: prefix, suffix: suffix, value: value}
	return Source[V]{All: h.all, Lookup: h.lookup}, nil
}

// pageSize is the number of hashes in a step of a scan.
const pageSize = 200

type hashes[V any] struct {
	client         rueidis.Client
	prefix, suffix string
	value          func(id string, fields map[string]string) (V, bool, error)
}

func (h hashes[V]) all(ctx context.Context) iter.Seq2[Object[V], error] {
	return func(yield func(Object[V], error) bool) {
		pattern := scan.Pattern{Match: h.prefix + "*" + h.suffix, Type: "hash", Count: pageSize}
		for page, err := range scan.Keys(ctx, h.client, pattern) {
			if err != nil {
				yield(Object[V]{}, fmt.Errorf("index: %w", err))
				return
			}
			objects, err := h.lookup(ctx, h.ids(page.Keys))
			if err != nil {
				yield(Object[V]{}, err)
				return
			}
			for _, o := range objects {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// ids returns the ids of keys.
func (h hashes[V]) ids(keys []string) []string {
	var ids []string
	for _, key := range keys {
		if id := strings.TrimSuffix(strings.TrimPrefix(key, h.prefix), h.suffix); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h hashes[V]) lookup(ctx context.Context, ids []string) ([]Object[V], error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = h.prefix + id + h.suffix
	}
	// Like All, skip keys of other types.
	found, err := entries.ReadHashes(ctx, h.client, keys, nil, true)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	var objects []Object[V]
	for i, fields := range found {
		if fields == nil {
			continue
		}
		v, ok, err := h.value(ids[i], fields)
		if err != nil {
			err = fmt.Errorf("%s: %w", keys[i], err)
		}
		if ok || err != nil {
			objects = append(objects, Object[V]{ID: ids[i], Value: v, Err: err})
		}
	}
	return objects, nil
}
