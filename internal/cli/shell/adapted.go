package shell

import (
	"context"
	"errors"
	"iter"

	"retwis/index"
)

// Index is an index with entries of type E and values of type V.
type Index[E, V any] interface {
	Create(ctx context.Context) error
	PutMany(ctx context.Context, entries iter.Seq[E]) (int, error)
	Remove(ctx context.Context, ids ...string) (int, error)
	Get(ctx context.Context, id string) (E, error)
	Fetch(ctx context.Context, entries []E, opt index.FetchOptions) ([]index.Fetched, Report, error)

	Hashes(pattern string) (index.Source[V], error)
	Verify(ctx context.Context, src *index.Source[V], opt Options) (Report, error)
	Repair(ctx context.Context, src *index.Source[V], opt Options) (Report, error)
	Rebuild(ctx context.Context, src index.Source[V], opt Options) (Report, error)
	Adopt(ctx context.Context, opt Options) (Report, error)
}

// Adapted implements the methods of Entries that are the same for every index.
type Adapted[E, V any] struct {
	Index Index[E, V]
	// Reader reads records from files.
	Reader RecordReader
	// Entry converts an entry of the index to an Entry, Own converts an Entry back, and Value
	// returns the value of an Entry in the index.
	Entry func(e E) Entry
	Own   func(e Entry) E
	Value func(e Entry) V
	// NeedsSource is the error of Verify and Repair without a source, for an index that stores
	// nothing with which to compare its entries. For other indexes NeedsSource is nil.
	NeedsSource error
}

// Create implements Entries.
func (a Adapted[E, V]) Create(ctx context.Context) error { return a.Index.Create(ctx) }

// PutMany implements Entries.
func (a Adapted[E, V]) PutMany(ctx context.Context, entries iter.Seq[Entry]) (int, error) {
	return a.Index.PutMany(ctx, func(yield func(E) bool) {
		for e := range entries {
			if !yield(a.Own(e)) {
				return
			}
		}
	})
}

// Remove implements Entries.
func (a Adapted[E, V]) Remove(ctx context.Context, ids ...string) (int, error) {
	return a.Index.Remove(ctx, ids...)
}

// Get implements Entries.
func (a Adapted[E, V]) Get(ctx context.Context, id string) (Entry, error) {
	e, err := a.Index.Get(ctx, id)
	return a.Entry(e), err
}

// Entries converts the selected entries.
func (a Adapted[E, V]) Entries(found iter.Seq2[E, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range found {
			if !yield(a.Entry(e), err) {
				return
			}
		}
	}
}

// Fetch implements Entries.
func (a Adapted[E, V]) Fetch(ctx context.Context, entries []Entry, opt index.FetchOptions) ([]index.Fetched, Report, error) {
	all := make([]E, len(entries))
	for i, e := range entries {
		all[i] = a.Own(e)
	}
	return a.Index.Fetch(ctx, all, opt)
}

// Verify implements Entries.
func (a Adapted[E, V]) Verify(ctx context.Context, src Source, opt Options) (Report, error) {
	return a.compare(ctx, src, opt, a.Index.Verify)
}

// Repair implements Entries.
func (a Adapted[E, V]) Repair(ctx context.Context, src Source, opt Options) (Report, error) {
	return a.compare(ctx, src, opt, a.Index.Repair)
}

func (a Adapted[E, V]) compare(ctx context.Context, src Source, opt Options,
	run func(context.Context, *index.Source[V], Options) (Report, error),
) (Report, error) {
	if src.Pattern == "" && a.NeedsSource != nil {
		return Report{}, Usage(a.NeedsSource)
	}
	if src.Pattern == "" {
		return run(ctx, nil, opt)
	}
	objects, err := a.hashes(ctx, src)
	if err != nil {
		return Report{}, err
	}
	return run(ctx, &objects, opt)
}

// Rebuild implements Entries.
func (a Adapted[E, V]) Rebuild(ctx context.Context, src Source, opt Options) (Report, error) {
	if src.Inputs == nil {
		objects, err := a.hashes(ctx, src)
		if err != nil {
			return Report{}, err
		}
		return a.Index.Rebuild(ctx, objects, opt)
	}
	return a.Index.Rebuild(ctx, index.Objects(func(yield func(index.Object[V], error) bool) {
		for e, err := range NotEmpty(src, src.Inputs.Entries(a.Reader)) {
			o := index.Object[V]{ID: e.ID}
			if err == nil {
				o.Value = a.Value(e)
			}
			if !yield(o, err) {
				return
			}
		}
	}), opt)
}

// Adopt implements Entries.
func (a Adapted[E, V]) Adopt(ctx context.Context, opt Options) (Report, error) {
	return a.Index.Adopt(ctx, opt)
}

// hashes returns the hashes that match the pattern of --from.
func (a Adapted[E, V]) hashes(ctx context.Context, src Source) (index.Source[V], error) {
	objects, err := a.Index.Hashes(src.Pattern)
	if err != nil {
		return objects, Usage(errors.New(OneLine(err)))
	}
	return objects, CheckObjects(ctx, src, objects)
}

// Failing returns an iterator that yields only err.
func Failing(err error) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
}
