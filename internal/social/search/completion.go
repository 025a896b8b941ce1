package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"
	"golang.org/x/text/unicode/norm"

	"retwis/index"
	"retwis/index/suggest"
	"retwis/internal/redis/rediserr"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
)

// Keys of the indexes. Their hash tags put each index in one slot of a Cluster.
const (
	NamesKey = "{names}"
	TagsKey  = "{tags}"
)

const (
	// maxTails limits the terms of a display name, so that long names cannot flood the index.
	maxTails = 4
	// maxDirty limits the number of terms waiting for their rank.
	maxDirty = 10_000
	// rankEvery is the interval at which changed ranks are written. The interval doubles after each
	// error, up to rankRetry.
	rankEvery = time.Second
	rankRetry = time.Minute
	// knownTags is the maximum number of tags in CompletionIndex.known.
	knownTags = 50_000
)

// CompletionIndex completes names and tags. It is safe for concurrent use.
type CompletionIndex struct {
	client rueidis.Client
	log    *slog.Logger
	names  *suggest.Index
	tags   *suggest.Index
	known  *otter.Cache[string, struct{}] // tags that have a term

	mu        sync.Mutex
	dirtyTags map[string]struct{}
	dirty     map[int64]struct{} // user IDs
	wake      chan struct{}

	ctx    context.Context // stops the worker; never used for a caller
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// NewCompletionIndex returns the index of the database of client, which the caller must close.
// Close stops the worker of the index.
func NewCompletionIndex(client rueidis.Client, log *slog.Logger) (*CompletionIndex, error) {
	// An underscore is part of a name, not a blank.
	opt := suggest.Options{Punctuation: suggest.PunctuationKeep}
	names, err := suggest.New(client, NamesKey, opt)
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	tags, err := suggest.New(client, TagsKey, opt)
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	known, err := otter.New(&otter.Options[string, struct{}]{MaximumSize: knownTags})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	x := &CompletionIndex{
		client: client, log: log, names: names, tags: tags, known: known,
		dirty: map[int64]struct{}{}, dirtyTags: map[string]struct{}{}, wake: make(chan struct{}, 1),
	}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.worker.Go(x.work)
	return x, nil
}

// Close stops the worker. Pending ranks are not written.
func (x *CompletionIndex) Close() {
	x.stop()
	x.worker.Wait()
}

// Name is a completion of a name. Display is the matching tail of the display name (see tails), and
// empty if the username matched.
type Name struct{ Username, Display string }

// String returns the username, or "display @username".
func (n Name) String() string {
	if n.Display == "" {
		return n.Username
	}
	return n.Display + " @" + n.Username
}

// splitName parses the result of Name.String.
func splitName(text string) Name {
	if i := strings.LastIndex(text, " @"); i >= 0 {
		return Name{Username: text[i+2:], Display: text[:i]}
	}
	return Name{Username: text}
}

// tails returns the texts by which a display name is completed: the name, and what follows its
// first, second and third word. For "Flora Maria Wong", these are "Flora Maria Wong", "Maria Wong"
// and "Wong". Blanks separate words. Tails are spelled as an index spells them: composed (NFC),
// with blanks collapsed.
func tails(display string) []string {
	words := strings.Fields(norm.NFC.String(display))
	all := make([]string, min(len(words), maxTails))
	for i := range all {
		all[i] = strings.Join(words[i:], " ")
	}
	return all
}

// nameTerms returns the index terms of a name: the term of the username or, if the name has a
// display name, a term for each of its tails. It omits terms that cannot be indexed, because the
// original program allowed longer names. It also omits a tail that has the normalized form of a
// longer one: normalization removes words of invisible characters.
func (x *CompletionIndex) nameTerms(n Name) []string {
	displays := []string{""}
	if n.Display != "" {
		displays = tails(n.Display)
	}
	var terms []string
	seen := make(map[string]bool, len(displays))
	for _, display := range displays {
		term := x.nameTerm(Name{Username: n.Username, Display: display})
		normalized, err := x.names.Normalize(term)
		if err != nil || seen[normalized] || x.names.Check(suggest.Suggestion{Term: term, Count: 1}) != nil {
			continue
		}
		seen[normalized] = true
		terms = append(terms, term)
	}
	return terms
}

// hasTerm reports whether a term, in any spelling, is one of the terms of a name.
func (x *CompletionIndex) hasTerm(n Name, term string) bool {
	normalized, err := x.names.Normalize(term)
	return err == nil && slices.ContainsFunc(x.nameTerms(n), func(other string) bool {
		name, err := x.names.Normalize(other)
		return err == nil && name == normalized
	})
}

// nameTerm returns the index term of a username, or of a tail of a display name. The term is
// distinct for each username.
func (x *CompletionIndex) nameTerm(n Name) string {
	n.Username = distinct(x.names, n.Username)
	return n.String()
}

// parseName parses the result of nameTerm.
func (x *CompletionIndex) parseName(term string) Name {
	n := splitName(term)
	n.Username = original(x.names, n.Username)
	return n
}

// distinct returns the term of a text, which no other text has. An index has one term for all
// spellings of a text, but names and tags that differ in case or accents are different. So the term
// of a text that differs from its normalized form has a blank and the text's bytes in hexadecimal
// appended.
func distinct(idx *suggest.Index, text string) string {
	if name, err := idx.Normalize(text); err != nil || name == text {
		return text
	}
	return text + " " + hex.EncodeToString([]byte(text))
}

// original returns the text of a term made by distinct.
func original(idx *suggest.Index, term string) string {
	if i := strings.LastIndexByte(term, ' '); i >= 0 && distinct(idx, term[:i]) == term {
		return term[:i]
	}
	return term
}

// Names returns the k names with a prefix whose users have the most followers. A user occurs once
// for each matching term: at most namesPerUser times. Some of the users may no longer exist or have
// another name. One round trip, more if k is above 32.
func (x *CompletionIndex) Names(ctx context.Context, prefix string, k int) ([]Name, error) {
	terms, err := complete(ctx, x.names, prefix, k)
	names := make([]Name, len(terms))
	for i, term := range terms {
		names[i] = x.parseName(term)
	}
	return names, err
}

// Tags returns the k tags with a prefix that have the most posts. One round trip.
func (x *CompletionIndex) Tags(ctx context.Context, prefix string, k int) ([]string, error) {
	tags, err := complete(ctx, x.tags, prefix, k)
	for i, term := range tags {
		tags[i] = original(x.tags, term)
	}
	return tags, err
}

// complete returns the k highest-ranked terms with a prefix.
func complete(ctx context.Context, idx *suggest.Index, prefix string, k int) ([]string, error) {
	found, err := idx.Complete(ctx, prefix, k)
	if errors.Is(err, index.ErrValue) { // empty or too long
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("social: complete: %w", err)
	}
	terms := make([]string, len(found))
	for i, s := range found {
		terms[i] = s.Term
	}
	return terms, nil
}

// PutName adds the terms of a username before its user exists, or of a display name before its user
// has it. One round trip.
func (x *CompletionIndex) PutName(ctx context.Context, n Name, followers int64) error {
	terms := suggestions(x.nameTerms(n), followers+1)
	if _, err := x.names.PutMany(ctx, slices.Values(terms)); err != nil {
		return fmt.Errorf("social: add a completion: %w", err)
	}
	return nil
}

// RemoveName removes the terms of a name. One round trip.
func (x *CompletionIndex) RemoveName(ctx context.Context, n Name) error {
	return x.removeTerms(ctx, x.nameTerms(n))
}

// removeTerms removes terms of names. One round trip.
func (x *CompletionIndex) removeTerms(ctx context.Context, terms []string) error {
	if _, err := x.names.Remove(ctx, terms...); err != nil {
		return fmt.Errorf("social: remove a completion: %w", err)
	}
	return nil
}

// suggestions returns terms with a count.
func suggestions(terms []string, count int64) []suggest.Suggestion {
	all := make([]suggest.Suggestion, len(terms))
	for i, term := range terms {
		all[i] = suggest.Suggestion{Term: term, Count: count}
	}
	return all
}

// put adds a term or changes its rank. It skips a term that cannot be indexed.
func put(ctx context.Context, idx *suggest.Index, term string, count int64) error {
	_, err := idx.Put(ctx, suggest.Suggestion{Term: term, Count: count})
	if err != nil && !errors.Is(err, index.ErrValue) {
		return fmt.Errorf("social: add a completion: %w", err)
	}
	return nil
}

// Tagged updates the index after posts with the given tags have changed. A tag in known is ranked
// in the background; each other tag takes two round trips.
func (x *CompletionIndex) Tagged(ctx context.Context, tags []string) error {
	for _, tag := range tags {
		if _, ok := x.known.GetIfPresent(tag); ok {
			x.rankTag(tag)
		} else if err := x.putTag(ctx, tag); err != nil {
			return err
		}
	}
	return nil
}

// putTag writes the rank of a tag, or removes the tag if no post has it. After a removal it checks
// again, because the removal can undo a concurrent write of another process.
func (x *CompletionIndex) putTag(ctx context.Context, tag string) error {
	for {
		n, err := x.client.Do(ctx, x.client.B().Zcard().Key(storage.TagKey(tag)).Build()).AsInt64()
		if rediserr.IsWrongType(err) {
			return nil // a check reports the key
		}
		if err != nil {
			return fmt.Errorf("social: rank a tag: %w", err)
		}
		if n > 0 {
			if err := put(ctx, x.tags, distinct(x.tags, tag), n); err != nil {
				return err
			}
			x.known.Set(tag, struct{}{})
			return nil
		}
		x.known.Invalidate(tag)
		removed, err := x.tags.Remove(ctx, distinct(x.tags, tag))
		if err != nil && !errors.Is(err, index.ErrValue) {
			return fmt.Errorf("social: rank a tag: %w", err)
		}
		if removed == 0 {
			return nil
		}
	}
}

// Rank updates the rank of a user to the number of followers, in the background.
func (x *CompletionIndex) Rank(uid int64) {
	x.mu.Lock()
	if len(x.dirty) < maxDirty {
		x.dirty[uid] = struct{}{}
	}
	x.mu.Unlock()
	x.signal()
}

// rankTag updates the rank of a tag to the number of its posts, in the background.
func (x *CompletionIndex) rankTag(tag string) {
	x.mu.Lock()
	if len(x.dirtyTags) < maxDirty {
		x.dirtyTags[tag] = struct{}{}
	}
	x.mu.Unlock()
	x.signal()
}

// signal wakes the worker.
func (x *CompletionIndex) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// work writes ranks, batching all changes within a second.
func (x *CompletionIndex) work() {
	for pause := rankEvery; ; {
		select {
		case <-x.ctx.Done():
			return
		case <-x.wake:
		}
		if !sleep.For(x.ctx, pause) {
			return
		}
		x.mu.Lock()
		users, tags := x.dirty, x.dirtyTags
		x.dirty, x.dirtyTags = map[int64]struct{}{}, map[string]struct{}{}
		x.mu.Unlock()
		err := x.rank(x.ctx, users, tags)
		if err == nil {
			pause = rankEvery
		} else if x.ctx.Err() == nil {
			x.log.WarnContext(x.ctx, "cannot rank completions", "error", err)
			pause = min(2*pause, rankRetry)
		}
	}
}

// rank writes the ranks of users and tags. It queues failed ranks again and returns the first
// error.
func (x *CompletionIndex) rank(ctx context.Context, users map[int64]struct{}, tags map[string]struct{}) error {
	var ids []int64
	for id := range users {
		ids = append(ids, id)
	}
	var firstErr error
	for chunk := range slices.Chunk(ids, completionStep) {
		terms, err := x.termsOf(ctx, chunk)
		if err == nil {
			_, err = x.names.PutMany(ctx, slices.Values(terms))
		}
		if err == nil {
			continue
		}
		firstErr = cmp.Or(firstErr, err)
		for _, id := range chunk {
			x.Rank(id)
		}
	}
	for tag := range tags {
		if err := x.putTag(ctx, tag); err != nil {
			firstErr = cmp.Or(firstErr, err)
			x.rankTag(tag)
		}
	}
	return firstErr
}
