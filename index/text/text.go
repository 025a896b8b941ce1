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

// Options configure an index. Partitions and Language are stored in its declaration and
// cannot change.
type Options struct {
	// Partitions is the number of hash slots over which the documents are sharded, by
	// their ids, so that the servers of a Cluster share the work. Default 1, at most 1024.
	Partitions int
	// Language indexes the stems of words besides the words, so that "runs" finds "running",
	// too: one of Languages. It suits texts of one language, and takes about a third more
	// memory. Default: words only.
	Language string
	// Text returns the texts of documents, as they were put, without those that do not
	// exist. Phrases need it: the index does not know which word follows which. It is
	// called with at most 100 ids.
	Text func(ctx context.Context, ids []int64) (map[int64]string, error)
}

// Languages returns the languages for Options.Language, sorted.
func Languages() []string { return words.Languages() }

// kind is the kind of index in the declaration.
const kind = "text"

// Index finds documents by their words. It is safe for concurrent use.
type Index struct{ store *store }

// store is where an index is, and how it is stored.
type store struct {
	set      *partition.Set
	keys     []keys
	state    []atomic.Pointer[generations] // of each partition, as last seen
	opt      Options
	splitter *words.Splitter
	scripts  scripts
	sender   *script.Sender
	sizes    sizes
}

// generations are the present one of a partition, and the one that a rebuild makes or "".
type generations struct {
	now, next string
	declared  bool // as readState has read it
}

// sizes are variables so that tests can make them small.
type sizes struct {
	rare    int // ids of a rare term
	tail    int // ids of a tail that are too many
	newest  int // of them, those that stay in the tail
	segment int // bytes
	listed  int // words that a partition completes although they are rare
	window  int // ids that a search evaluates at a time
	page    int // documents that a phrase reads at a time
	work    int // of a search: round trips, after which it returns what it has
}

func defaultSizes() sizes {
	// The allocator has a class of 8 KB, which a segment must not exceed with its header.
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
		x.state[i].Store(&generations{now: "0"})
	}
	return &Index{x}, nil
}

// Open returns the index at a key as it was declared, index.ErrNotFound if the key has
// no index, or index.ErrDeclared if it has an index of another type. One round trip. It
// has no Options.Text: for phrases, add it to Options and call New.
func Open(ctx context.Context, client rueidis.Client, key string) (*Index, error) {
	d, err := partition.Read(ctx, client, key)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	if d.Kind != kind {
		return nil, fmt.Errorf("text: %w: %q is %s", index.ErrDeclared, key, d)
	}
	return New(client, key, Options{Partitions: d.Partitions, Language: d.Text})
}

// Key returns the key of the index.
func (x *Index) Key() string { return x.store.set.Key }

// Options returns the options of the index.
func (x *Index) Options() Options { return x.store.opt }

// fail is the error of a method: with the key, and with what to do.
func (x *store) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = x.set.Error(ctx, err)
	var e *rueidis.RedisError
	if errors.As(err, &e) && rediserr.OfReply(e.Error()) == rediserr.Other && damaged(e.Error()) {
		err = fmt.Errorf("%w: Rebuild makes it anew: %w", index.ErrCorrupt, err)
	}
	return fmt.Errorf("text: %q: %w", x.set.Key, err)
}

// damaged reports whether a script failed because of what a key holds.
func damaged(reply string) bool {
	return strings.HasPrefix(reply, "WRONGTYPE") || strings.Contains(reply, "user_script") || strings.Contains(reply, "data string too short")
}
