package suggest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/script"
)

// kind is the word for this type of index in its declaration.
const kind = "suggest"

const (
	batchTerms = 50      // terms that one script takes
	batchBytes = 4 << 10 // of their names, which bounds how many heads it looks at
	pipeline   = 32      // scripts in one pipeline
)

// Options say how an index goes about its terms. The zero value is a good
// default. All but Cleanup and CleanupRare are remembered by the index.
type Options struct {
	// Partitions is over how many hash slots the terms are spread, so that the
	// servers of a Cluster share the work. Default 1, at most 1024.
	Partitions int
	// Punctuation says what becomes of it in what is searched. Default: a blank.
	Punctuation Punctuation
	// HalfLife lets searches weigh half as much after so long, a quarter after
	// twice that, and so on: what is searched now overtakes what was long ago.
	// It goes by the clocks of the programs that add. At least a second; 0:
	// searches count for ever.
	HalfLife time.Duration
	// Cleanup is the share of completions, up to 1, which take one search from
	// one of the terms that they return, chosen at random; a term without any
	// goes. So what was searched once and never again makes room, without a
	// sweep. Such a completion costs one more round trip. Default 0: none.
	Cleanup float64
	// CleanupRare lets the rarer of the returned terms be chosen more likely.
	CleanupRare bool
}

// Index is a set of terms, each with a count of searches. It may be used by many
// goroutines at once.
type Index struct {
	set     *partition.Set
	keys    []keys
	opt     Options
	scripts scripts
	now     func() time.Time // nil: time.Now

	keep, light int // KEEP and LIGHT of heads.lua
}

// New returns the index at a key, which need not exist. It asks no server. On a
// Cluster an index in one partition needs a key with a hash tag.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	switch {
	case opt.Punctuation != PunctuationSpace && opt.Punctuation != PunctuationDrop && opt.Punctuation != PunctuationKeep:
		return nil, fmt.Errorf("suggest: Options.Punctuation is %q: use %q, %q or nothing", opt.Punctuation, PunctuationDrop, PunctuationKeep)
	case opt.HalfLife != 0 && opt.HalfLife < time.Second:
		return nil, fmt.Errorf("suggest: Options.HalfLife is %v: it must be a second or more, or 0", opt.HalfLife)
	case !(opt.Cleanup >= 0 && opt.Cleanup <= 1): // also NaN
		return nil, fmt.Errorf("suggest: Options.Cleanup is %v: it must be from 0 to 1", opt.Cleanup)
	case opt.Cleanup > 0 && opt.HalfLife > 0:
		return nil, errors.New("suggest: Options.Cleanup and HalfLife are two ways to forget: use one")
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: kind, Text: opt.declaration(), Partitions: opt.Partitions})
	if err != nil {
		return nil, fmt.Errorf("suggest: %w", err)
	}
	opt.Partitions = len(set.Keys)
	set.Explain = func(d partition.Declaration) error { return outdated(key, d) }
	x := &Index{set: set, opt: opt, scripts: newScripts(headsLua), keep: 32, light: 1000}
	for i := range set.Keys {
		x.keys = append(x.keys, keysOf(&set.Keys[i]))
	}
	return x, nil
}

// Open returns the index at a key with what it remembers of its options, or
// index.ErrNotFound, or index.ErrDeclared where the key has an index of another
// type: one round trip.
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

// format stands first in what an index remembers whose terms are known by form and
// spelling. Older ones knew them by their form alone.
const format = "spelled"

// declaration is what the index remembers: "spelled, punctuation drop, half-life
// 24h0m0s".
func (o Options) declaration() string {
	words := []string{format}
	if o.Punctuation != PunctuationSpace {
		words = append(words, "punctuation "+string(o.Punctuation))
	}
	if o.HalfLife > 0 {
		words = append(words, "half-life "+o.HalfLife.String())
	}
	return strings.Join(words, ", ")
}

func parseDeclaration(text string) (opt Options, err error) {
	if text == "" {
		return opt, nil
	}
	for _, part := range strings.Split(text, ", ") {
		switch word, value, _ := strings.Cut(part, " "); word {
		case "punctuation":
			opt.Punctuation = Punctuation(value)
		case "half-life":
			if opt.HalfLife, err = time.ParseDuration(value); err != nil {
				return opt, err
			}
		default:
			return opt, fmt.Errorf("the declaration %q is not known", text)
		}
	}
	return opt, nil
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.set.Key }

// Options returns the options of the index.
func (x *Index) Options() Options { return x.opt }

// Add counts n searches for a term, which is new or has been added before in this
// spelling, and returns its count then: one round trip. A term whose normalised
// form is blocked is not counted: Add returns 0.
//
// n is from 1 to 2^53-1, at which a count stays.
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
	at  []int // where it was in what was given
}

// add counts terms in the index, or in the one that a rebuild makes.
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

// spread sorts terms by partition, those of one key taken together. All of one name
// are in one partition.
func (x *Index) spread(terms []Suggestion) ([][]counted, error) {
	parts := make([][]counted, len(x.keys))
	places := make(map[string]int, len(terms))
	for i, t := range terms {
		key, err := x.key(t.Term)
		if err != nil {
			return nil, err
		}
		if t.Count < 1 || t.Count > maxCount {
			return nil, fmt.Errorf("%w: %q is to be counted %d times: it must be from 1 to 2^53-1", index.ErrValue, t.Term, t.Count)
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

// Get returns a term in this spelling, or index.ErrNotFound: one round trip.
func (x *Index) Get(ctx context.Context, word string) (s Suggestion, err error) {
	defer x.wrap(&err)
	key, err := x.key(word)
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
		return Suggestion{}, fmt.Errorf("%w: the term %q", index.ErrNotFound, word)
	case err != nil:
		return Suggestion{}, err
	case !ok:
		return Suggestion{}, fmt.Errorf("%w: %s says %q of %q", index.ErrCorrupt, k.Content, value, key)
	default:
		return x.shown(t), nil
	}
}

// Len is how many terms there are: one round trip.
func (x *Index) Len(ctx context.Context) (n int64, err error) {
	defer x.wrap(&err)
	return x.len(ctx)
}

func (x *Index) len(ctx context.Context) (int64, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, err
	}
	commands := make(rueidis.Commands, len(x.keys))
	for i, k := range x.keys {
		commands[i] = x.set.Client.B().Zcard().Key(k.Index).Build()
	}
	var all int64
	for _, r := range x.set.Client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

// wrap words the error of a method for its caller.
func (x *Index) wrap(err *error) {
	if *err != nil {
		*err = fmt.Errorf("suggest: %q: %w", x.set.Key, *err)
	}
}
