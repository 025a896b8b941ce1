package suggest

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
)

// Index is a set of terms, each with a count of searches. It is safe for concurrent use.
type Index struct {
	set     *partition.Set
	keys    []keys // per partition
	opt     Options
	scripts scripts

	many            int // terms written per batch by AddMany and PutMany
	topK, scanLimit int // TOP_K and SCAN_LIMIT of topk.lua
}

// New returns the index at a key, which need not exist yet. It sends no command. On a
// Cluster an index of one partition needs a key with a hash tag.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	x, err := newIndex(client, key, opt, opt.declaration())
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	return x, nil
}

// newIndex returns the index at a key with a declaration.
func newIndex(client rueidis.Client, key string, opt Options, declaration string) (*Index, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: kind, Text: declaration, Partitions: opt.Partitions})
	if err != nil {
		return nil, err
	}
	opt.Partitions = len(set.Keys)
	set.Explain = func(d partition.Declaration) error { return unadopted(key, d) }
	x := &Index{set: set, opt: opt, scripts: standardScripts(), many: manyTerms, topK: 32, scanLimit: 1000}
	for i := range set.Keys {
		x.keys = append(x.keys, keysOf(&set.Keys[i]))
	}
	return x, nil
}

// Open returns the existing index at a key with its declared options. It returns
// index.ErrNotFound if the key has no index, and index.ErrDeclared if it has another type of
// index. One round trip.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.ReadKind(ctx, client, key, kind)
	if err == nil {
		err = unadopted(key, d)
	}
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	opt, err := parseDeclaration(d.Text)
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", partition.Corrupt(key, err))
	}
	opt.Partitions = d.Partitions
	return New(client, key, opt)
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.set.Key }

// Options returns the options of the index.
func (x *Index) Options() Options { return x.opt }

// Normalize returns the form under which a term is indexed. Terms with the same form are the
// same term. It folds case, collapses blanks, and treats punctuation according to
// Options.Punctuation. It removes diacritics of Latin, Greek and Cyrillic letters, and Hebrew
// and Arabic points. Marks of other scripts stay, since they are vowels or distinguish letters.
// Compatibility forms become plain letters (NFKD), ø becomes o, ł becomes l, æ becomes ae.
//
// It returns index.ErrValue for a term that is not UTF-8, has more than 512 bytes, or has
// only blanks and punctuation.
func (x *Index) Normalize(term string) (string, error) {
	name, err := x.opt.Punctuation.name(term)
	if err != nil {
		return "", fmt.Errorf("suggest: %w", err)
	}
	return name, nil
}

// Len returns the number of terms: one round trip.
func (x *Index) Len(ctx context.Context) (n int64, err error) {
	defer x.wrap(&err)
	return x.set.Len(ctx)
}

// wrap adds the package and the key to the error of a method.
func (x *Index) wrap(err *error) {
	if *err != nil {
		*err = fmt.Errorf("suggest: %q: %w", x.set.Key, *err)
	}
}
