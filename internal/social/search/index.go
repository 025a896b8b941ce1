package search

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
)

const (
	// PostsKey and PeopleKey are the keys of the indexes.
	PostsKey  = "{search}"
	PeopleKey = "{search:people}"
	// clusterPartitions is the number of slots over which the documents of a new index are sharded
	// on a Cluster. A database keeps the number it was created with.
	clusterPartitions = 16
)

// lazyIndex is an index that is opened on first use, because its declaration is in the database.
type lazyIndex struct {
	client rueidis.Client
	key    string
	texts  func(ctx context.Context, ids []int64) (map[int64]string, error)
	index  atomic.Pointer[text.Index]
}

// do calls f with the index, and once more if another process has redeclared the index meanwhile.
func (o *lazyIndex) do(ctx context.Context, f func(*text.Index) error) error {
	for retried := false; ; retried = true {
		x, err := o.open(ctx)
		if err == nil {
			err = f(x)
		}
		if !errors.Is(err, index.ErrDeclared) || retried {
			return err
		}
		o.index.CompareAndSwap(x, nil)
	}
}

// open returns the index, and creates it if it does not exist.
func (o *lazyIndex) open(ctx context.Context) (*text.Index, error) {
	if x := o.index.Load(); x != nil {
		return x, nil
	}
	opt := text.Options{Text: o.texts}
	stored, err := text.Open(ctx, o.client, o.key)
	switch {
	case err == nil:
		opt.Partitions = stored.Options().Partitions
	case !errors.Is(err, index.ErrNotFound):
		return nil, err
	case o.client.Mode() == rueidis.ClientModeCluster:
		opt.Partitions = clusterPartitions
	}
	x, err := text.New(o.client, o.key, opt)
	if err == nil {
		o.index.Store(x)
	}
	return x, err
}

// replace replaces a document. earlier are the documents that the index may have under the ID, most
// likely first; the index may also have none.
func replace(ctx context.Context, x *text.Index, id int64, document text.Document, earlier []text.Document) error {
	err := fmt.Errorf("social: no earlier text of %d: %w", id, text.ErrConflict)
	for _, before := range earlier {
		if err = x.Replace(ctx, id, before, document); !errors.Is(err, text.ErrConflict) || errors.Is(err, text.ErrRemoved) {
			return err
		}
	}
	if putErr := x.Put(ctx, id, document); !errors.Is(putErr, text.ErrConflict) || errors.Is(putErr, text.ErrRemoved) {
		return putErr
	}
	return err
}

// remove removes a document, which is one of documents or missing, and marks the ID as removed.
func remove(ctx context.Context, x *text.Index, id int64, documents []text.Document) (err error) {
	for _, before := range documents {
		if err = x.Remove(ctx, id, before); !errors.Is(err, text.ErrConflict) {
			return err
		}
	}
	return err
}
