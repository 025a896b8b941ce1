package search

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// Report is the result of Verify, Repair or Rebuild.
type Report struct {
	Posts  maintain.Report `json:"posts"`
	People maintain.Report `json:"people"`
}

// Indexes are the indexes of posts and people.
type Indexes struct {
	client rueidis.Client
	Posts  *Posts
	People *People
}

// NewIndexes returns the indexes of posts and people.
func NewIndexes(posts *Posts, people *People) Indexes { return Indexes{posts.client, posts, people} }

const (
	// indexesBuilt is the value of `search_index` when the indexes are complete.
	indexesBuilt = "1"
	// buildRate is the number of posts per second that a process indexes in the background.
	buildRate = 3000
)

// IsBuilt reports whether the indexes are complete. In a database that predates the indexes, they
// are incomplete until Build has finished. One round trip.
func (x Indexes) IsBuilt(ctx context.Context) (bool, error) {
	state, err := reply.Text(x.client.Do(ctx, x.client.B().Get().Key(storage.SearchIndex).Build()))
	if err != nil {
		return false, fmt.Errorf("social: key %s: %w", storage.SearchIndex, err)
	}
	return state == indexesBuilt, nil
}

// Build fills the indexes of a database that predates them, while they are in use. It does nothing
// if the indexes are complete; after a crash, a later call starts again.
func (x Indexes) Build(ctx context.Context) error {
	if isBuilt, err := x.IsBuilt(ctx); isBuilt || err != nil {
		return err
	}
	_, err := x.Rebuild(ctx, maintain.Options{Rate: buildRate})
	return err
}

// Rebuild rebuilds both indexes from all posts and users, while the indexes are in use. It can be
// killed and repeated. A million posts take a few minutes.
func (x Indexes) Rebuild(ctx context.Context, opt maintain.Options) (r Report, err error) {
	err = x.Posts.do(ctx, func(idx *text.Index) error {
		r.Posts, err = idx.Rebuild(ctx, x.Posts.source(), opt)
		return err
	})
	if err != nil {
		return r, err
	}
	err = x.People.do(ctx, func(idx *text.Index) error {
		r.People, err = idx.Rebuild(ctx, x.People.source(true), opt)
		return err
	})
	if err == nil {
		err = x.client.Do(ctx, x.client.B().Set().Key(storage.SearchIndex).Value(indexesBuilt).Build()).Error()
	}
	return r, err
}

// Verify compares both indexes with all posts and users, and corrects them if repair is set.
// Verify may report concurrent changes as problems.
func (x Indexes) Verify(ctx context.Context, opt maintain.Options, repair bool) (r Report, err error) {
	if r.Posts, err = x.Posts.Verify(ctx, opt, repair); err == nil {
		r.People, err = x.People.Verify(ctx, opt, repair)
	}
	return r, err
}

// Verify compares the index with all posts.
func (x *Posts) Verify(ctx context.Context, opt maintain.Options, repair bool) (maintain.Report, error) {
	return x.verify(ctx, x.source(), opt, repair)
}

// Verify compares the index with all people.
func (x *People) Verify(ctx context.Context, opt maintain.Options, repair bool) (maintain.Report, error) {
	return x.verify(ctx, x.source(repair), opt, repair)
}

// verify implements Verify for one index. A repair rebuilds a damaged index.
func (o *lazyIndex) verify(ctx context.Context, src index.Source[text.Document], opt maintain.Options, repair bool) (r maintain.Report, err error) {
	err = o.do(ctx, func(x *text.Index) error {
		if !repair {
			r, err = x.Verify(ctx, &src, opt)
			return err
		}
		if r, err = x.Repair(ctx, &src, opt); errors.Is(err, index.ErrCorrupt) || errors.Is(err, index.ErrNotFound) {
			_, err = x.Rebuild(ctx, src, opt)
			r.Repaired = max(1, r.Problems())
		}
		return err
	})
	return r, err
}

// indexStep is the number of posts or people that are read at a time.
const indexStep = 500

// lookup returns the objects with the given IDs, like index.Source.Lookup.
type lookup func(ctx context.Context, ids []string) ([]index.Object[text.Document], error)

// sourceOf returns the source of the objects in hashes with a prefix, whose IDs come from a
// counter.
func sourceOf(client rueidis.Client, counter, prefix string, read func(ctx context.Context, ids []int64) ([]index.Object[text.Document], error)) index.Source[text.Document] {
	var find lookup = func(ctx context.Context, ids []string) ([]index.Object[text.Document], error) {
		numbers := make([]int64, 0, len(ids))
		for _, id := range ids {
			if n, ok := storage.ParseID(id); ok {
				numbers = append(numbers, n)
			}
		}
		return read(ctx, numbers)
	}
	return index.Source[text.Document]{
		Lookup: find,
		All: func(ctx context.Context) iter.Seq2[index.Object[text.Document], error] {
			return func(yield func(index.Object[text.Document], error) bool) {
				last, keys, err := extent(ctx, client, counter)
				if err != nil {
					yield(index.Object[text.Document]{}, fmt.Errorf("social: key %s: %w", counter, err))
					return
				}
				pages := upTo(1, last) // ascending IDs are far faster to index
				if last > maxIDsPerKey*keys+indexStep {
					pages = scanned(ctx, client, prefix)
				}
				objects(ctx, pages, find)(yield)
			}
		},
	}
}

// maxIDsPerKey is the maximum ratio of IDs to keys for reading a database ID by ID. The counter of
// another program can start anywhere.
const maxIDsPerKey = 10

// extent returns the last ID from a counter, and the number of keys.
func extent(ctx context.Context, client rueidis.Client, counter string) (last, keys int64, err error) {
	value, err := reply.Text(client.Do(ctx, client.B().Get().Key(counter).Build()))
	if err != nil {
		return 0, 0, err
	}
	last, _ = storage.ParseID(value)
	masters, err := nodes.Masters(ctx, client)
	for _, m := range masters {
		n, err := m.Client.Do(ctx, m.Client.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return 0, 0, err
		}
		keys += n
	}
	return last, keys, err
}

// upTo yields the IDs from first to last in pages.
func upTo(first, last int64) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for ; first <= last; first += indexStep {
			ids := make([]string, 0, indexStep)
			for id := first; id <= min(last, first+indexStep-1); id++ {
				ids = append(ids, storage.Itoa(id))
			}
			if !yield(ids, nil) {
				return
			}
		}
	}
}

// pages yields the IDs in pages.
func pages(ids []int64) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for chunk := range slices.Chunk(ids, indexStep) {
			page := make([]string, len(chunk))
			for i, id := range chunk {
				page[i] = storage.Itoa(id)
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// scanned yields the IDs in the names of keys with a prefix, in pages and in scan order.
func scanned(ctx context.Context, client rueidis.Client, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for page, err := range scan.Keys(ctx, client, scan.Pattern{Match: prefix + "*", Count: indexStep}) {
			ids := make([]string, len(page.Keys))
			for i, key := range page.Keys {
				ids[i] = strings.TrimPrefix(key, prefix)
			}
			if !yield(ids, err) {
				return
			}
		}
	}
}

// objects yields the objects with the IDs in pages.
func objects(ctx context.Context, pages iter.Seq2[[]string, error], find lookup) iter.Seq2[index.Object[text.Document], error] {
	return func(yield func(index.Object[text.Document], error) bool) {
		for ids, err := range pages {
			var found []index.Object[text.Document]
			if err == nil {
				found, err = find(ctx, ids)
			}
			if err != nil {
				yield(index.Object[text.Document]{}, err)
				return
			}
			for _, o := range found {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// Lacking returns the given posts that the index lacks or has in a different form. One round trip,
// and one for each post.
func (x *Posts) Lacking(ctx context.Context, ids []int64) (lacking []int64, err error) {
	posts, err := x.read(ctx, ids)
	for _, p := range posts {
		has, err := x.Has(ctx, p)
		if err != nil {
			return nil, err
		}
		if !has {
			lacking = append(lacking, p.ID)
		}
	}
	return lacking, err
}
