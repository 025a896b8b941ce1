package text

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text/internal/words"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
)

// Options configures an index. Partitions and Language are stored in its declaration and cannot
// change.
type Options struct {
	// Partitions is the number of hash slots over which the documents are sharded by id, so
	// that the servers of a Cluster share the work. Default 1, at most 1024.
	Partitions int
	// Language, one of Languages, indexes the stems of words in addition to the words, so that
	// "runs" also finds "running". It suits texts in a single language, and takes about a third
	// more memory. Default: words only.
	Language string
	// Text returns the texts of documents, as they were put, omitting missing documents.
	// Phrases need Text, since the index does not store the order of words. Text is called with
	// at most 100 ids.
	Text func(ctx context.Context, ids []int64) (map[int64]string, error)
}

// Languages returns the languages for Options.Language, sorted.
func Languages() []string { return words.Languages() }

// kind is the kind of index in the declaration.
const kind = "text"

// Index finds documents by their words. It is safe for concurrent use.
type Index struct{ store *store }

// store holds the keys, scripts and settings of an index.
type store struct {
	set      *partition.Set
	keys     []keys
	state    []atomic.Pointer[generations] // per partition, as last seen
	opt      Options
	splitter *words.Splitter
	scripts  scripts
	sender   *script.Sender
	sizes    sizes
}

// generations are the current generation of a partition, and the generation that a rebuild is
// building, or "".
type generations struct {
	current, next string
	declared      bool // set by readState
}

// sizes are the limits of an index, which tests reduce.
type sizes struct {
	rare    int // maximum ids of a rare term
	tail    int // number of ids at which a tail is sealed
	newest  int // number of ids that stay in the tail
	segment int // bytes
	listed  int // size of the list of words up to which rare words are listed, too
	window  int // ids evaluated by a search at a time
	page    int // documents read for a phrase at a time
	work    int // round trips after which a search returns its results so far
}

func defaultSizes() sizes {
	// A segment with its header must not exceed the allocator's size class of 8 KB.
	return sizes{rare: 8, tail: 2048, newest: 256, segment: 8176, listed: 20_000, window: 1 << 16, page: 100, work: 200}
}

// New returns the index at a key, which need not exist yet. It sends no command. On a
// Cluster an index of one partition needs a key with a hash tag.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	splitter, err := words.New(opt.Language)
	if err != nil {
		return nil, fmt.Errorf("text: Options.Language: %w", err)
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: kind, Text: opt.Language, Partitions: opt.Partitions})
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	opt.Partitions = len(set.Keys)
	x := &store{
		set: set, opt: opt, splitter: splitter,
		state: make([]atomic.Pointer[generations], len(set.Keys)), scripts: allScripts(), sender: script.NewSender(client), sizes: defaultSizes(),
	}
	for i := range set.Keys {
		x.keys = append(x.keys, keys{Keys: &set.Keys[i], partitions: len(set.Keys), rares: allRares / len(set.Keys)})
		x.state[i].Store(&generations{current: "0"})
	}
	return &Index{x}, nil
}

// Open returns the existing index at a key with its declared options. It returns
// index.ErrNotFound if the key has no index, and index.ErrDeclared if it has another type of
// index. One round trip. Options.Text is not set: for phrases, add it to Options and call New.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.ReadKind(ctx, client, key, kind)
	if err == nil {
		if _, e := words.New(d.Text); e != nil {
			err = partition.Corrupt(key, e)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	return New(client, key, Options{Partitions: d.Partitions, Language: d.Text})
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.store.set.Key }

// Options returns the options of the index.
func (x *Index) Options() Options { return x.store.opt }

// fail wraps the error of a method with the key and a hint.
func (x *store) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = x.set.Error(ctx, err)
	var e *rueidis.RedisError
	if errors.As(err, &e) && rediserr.OfReply(e.Error()) == rediserr.Other && damaged(e.Error()) {
		err = fmt.Errorf("%w: use Rebuild: %w", index.ErrCorrupt, err)
	}
	return fmt.Errorf("text: %q: %w", x.set.Key, err)
}

// damaged reports whether a script failed because of the content of a key.
func damaged(reply string) bool {
	return strings.HasPrefix(reply, "WRONGTYPE") || strings.Contains(reply, "user_script") || strings.Contains(reply, "data string too short")
}
