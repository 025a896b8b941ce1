package suggest

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/partition"
)

// Index is a set of terms, each with a count of searches. It is safe for concurrent use.
// Share one: Add and Put of concurrent callers then share round trips.
type Index struct {
	set        *partition.Set
	opt        Options
	normalizer normalizer
	decay      decay
	completer  completer
	writers    []writer // of each partition
	many       int      // terms that AddMany and PutMany write at a time
}

// New returns the index at a key, which need not exist yet. It sends no command. On a
// Cluster an index of one partition needs a key with a hash tag.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	if err := opt.validate(); err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: kind, Text: opt.declaration(), Partitions: opt.Partitions})
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	opt.Partitions = len(set.Keys)
	set.Explain = func(d partition.Declaration) error { return outdated(key, d) }
	x := &Index{
		set: set, opt: opt, normalizer: normalizer{opt.Punctuation}, decay: decay{halfLife: opt.HalfLife},
		completer: completer{client: client, scripts: standardScripts(), topK: 32, scanLimit: 1000},
		writers:   make([]writer, len(set.Keys)),
		many:      manyTerms,
	}
	for i := range set.Keys {
		x.completer.keys = append(x.completer.keys, keysOf(&set.Keys[i]))
	}
	return x, nil
}

// Open returns the index at a key as it was declared, index.ErrNotFound if the key has
// no index, or index.ErrDeclared if it has an index of another type. One round trip.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.Read(ctx, client, key)
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	if d.Kind != kind {
		return nil, fmt.Errorf("suggest: %w: %q is %s", index.ErrDeclared, key, d)
	}
	if err := outdated(key, d); err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	opt, err := parseDeclaration(strings.TrimPrefix(strings.TrimPrefix(d.Text, format), ", "))
	if err != nil {
		return nil, fmt.Errorf("suggest: %w: %s.meta: %w", index.ErrCorrupt, key, err)
	}
	opt.Partitions = d.Partitions
	return New(client, key, opt)
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.set.Key }

// Options returns the options of the index.
func (x *Index) Options() Options { return x.opt }

// Normalize returns the form of a term under which it is indexed; several terms may share
// it. Case is folded, blanks are collapsed, punctuation is treated as
// Options.Punctuation says. Diacritics of Latin, Greek and Cyrillic letters are removed,
// and so are Hebrew and Arabic points; marks of other scripts, which make another letter
// or are vowels, stay. Compatibility forms become their letters (NFKD), ø becomes o, ł
// becomes l, æ becomes ae. A colon that stays becomes U+001F.
//
// It returns index.ErrValue for a term that is not UTF-8, has more than 512 bytes, or has
// only blanks and punctuation.
func (x *Index) Normalize(term string) (string, error) {
	key, err := x.normalizer.key(term)
	if err != nil {
		return "", fmt.Errorf("suggest: %w", err)
	}
	return nameOf(key), nil
}

// Len returns the number of terms. One round trip.
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
