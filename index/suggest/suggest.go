package suggest

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/script"
)

// Index is a set of terms, each with a count of searches. It is safe for concurrent use.
type Index struct {
	set *partition.Set
	opt Options
	normalizer
	decay
	completer
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
		completer: completer{client: client, scripts: newScripts(topkLua), topK: 32, scanLimit: 1000},
	}
	for i := range set.Keys {
		x.keys = append(x.keys, keysOf(&set.Keys[i]))
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
	key, err := x.key(term)
	if err != nil {
		return "", fmt.Errorf("suggest: %w", err)
	}
	return nameOf(key), nil
}

// Add adds n searches to the count of a term in this spelling, which is created if
// needed, and returns the new count. One round trip. A term whose normalized form is
// blocked is not counted: Add returns 0.
//
// n is from 1 to 2^53-1, which is also the maximum of a count.
func (x *Index) Add(ctx context.Context, term string, n int64) (count int64, err error) {
	defer x.wrap(&err)
	counts, err := x.add(ctx, []Suggestion{{term, n}}, "")
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// AddMany is Add for many terms, 1,600 a round trip: 50 a script and 32 scripts a
// pipeline. It returns how many terms it has processed. On an error these are the first n
// of the sequence, which must not be added again. An invalid term fails its batch of
// 1,600 before any of it is counted; if the database fails, some of the batch may have
// been counted.
func (x *Index) AddMany(ctx context.Context, terms iter.Seq[Suggestion]) (n int, err error) {
	defer x.wrap(&err)
	batch := make([]Suggestion, 0, batchTerms*pipeline)
	for t := range terms {
		if batch = append(batch, t); len(batch) < cap(batch) {
			continue
		}
		if _, err := x.add(ctx, batch, ""); err != nil {
			return n, err
		}
		n += len(batch)
		batch = batch[:0]
	}
	if _, err := x.add(ctx, batch, ""); err != nil {
		return n, err
	}
	return n + len(batch), nil
}

// counted is a term of a batch.
type counted struct {
	key string
	n   int64
	at  []int // positions in the argument
}

// add counts terms in the index, or in the new index of a rebuild.
func (x *Index) add(ctx context.Context, terms []Suggestion, rebuild string) ([]int64, error) {
	if len(x.keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	parts, err := x.spread(terms)
	if err != nil {
		return nil, err
	}
	now := ""
	if x.opt.HalfLife > 0 {
		now = strconv.FormatFloat(x.time(), 'f', -1, 64)
	}
	var calls []script.Call
	var batches [][]counted
	for p, part := range parts {
		for batch := range chunks(part, func(c counted) int { return len(c.key) }) {
			args := append(x.set.Args(), rebuild, now)
			for _, c := range batch {
				args = append(args, c.key, strconv.FormatInt(c.n, 10))
			}
			calls = append(calls, script.Call{Keys: x.keys[p].all(), Args: args})
			batches = append(batches, batch)
		}
	}
	counts := make([]int64, len(terms))
	for i := 0; i < len(calls); i += pipeline {
		for j, r := range x.scripts.add.RunMany(ctx, x.set.Client, calls[i:min(i+pipeline, len(calls))]) {
			reply, err := r.AsStrSlice()
			if err := x.set.Error(ctx, err); err != nil {
				return nil, err
			}
			for k, c := range batches[i+j] {
				count, err := strconv.ParseFloat(reply[k], 64)
				if err != nil {
					return nil, err
				}
				for _, at := range c.at {
					if count > 0 {
						counts[at] = x.countOf(count)
					}
				}
			}
		}
	}
	return counts, nil
}

// spread groups terms by partition and adds up those with the same key. All spellings of
// a name are in one partition.
func (x *Index) spread(terms []Suggestion) ([][]counted, error) {
	parts := make([][]counted, len(x.keys))
	places := make(map[string]int, len(terms))
	for i, t := range terms {
		key, err := x.key(t.Term)
		if err != nil {
			return nil, err
		}
		if t.Count < 1 || t.Count > maxCount {
			return nil, fmt.Errorf("%w: count %d of %q: it must be from 1 to 2^53-1", index.ErrValue, t.Count, t.Term)
		}
		p := x.set.Index(nameOf(key))
		at, seen := places[key]
		if !seen {
			at = len(parts[p])
			places[key] = at
			parts[p] = append(parts[p], counted{key: key})
		}
		c := &parts[p][at]
		c.n = min(c.n+t.Count, maxCount)
		c.at = append(c.at, i)
	}
	return parts, nil
}

// Get returns a term in this spelling, or index.ErrNotFound. One round trip.
func (x *Index) Get(ctx context.Context, text string) (s Suggestion, err error) {
	defer x.wrap(&err)
	key, err := x.key(text)
	if err != nil {
		return Suggestion{}, err
	}
	if err := x.set.Check(ctx); err != nil {
		return Suggestion{}, err
	}
	k := x.keys[x.set.Index(nameOf(key))]
	value, err := x.set.Client.Do(ctx, x.set.Client.B().Hget().Key(k.Content).Field(key).Build()).ToString()
	switch t, ok := parseCount(key, value); {
	case rueidis.IsRedisNil(err):
		return Suggestion{}, fmt.Errorf("%w: the term %q", index.ErrNotFound, text)
	case err != nil:
		return Suggestion{}, err
	case !ok:
		return Suggestion{}, fmt.Errorf("%w: %s has the count %q for %q", index.ErrCorrupt, k.Content, value, key)
	default:
		return x.suggestion(t), nil
	}
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
