// Package entries keeps ids sorted by one value per id, for packages index and index/space. In a
// lexicographic index the value is a member, which contains the id, of a sorted set whose scores
// are all 0; a hash, the reverse index, maps ids to members. In a scored index the value is the
// score of the id.
package entries

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/internal/batch"
	"retwis/index/internal/ranged"
	engine "retwis/internal/maintain"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

var (
	//go:embed lexical.lua
	lexicalLua string
	//go:embed scored.lua
	scoredLua string
	//go:embed put.lua
	putLua string
	//go:embed remove.lua
	removeLua string
	//go:embed watch.lua
	watchLua string
	//go:embed replace.lua
	replaceLua string
	//go:embed fill.lua
	fillLua string
	//go:embed finish.lua
	finishLua string
	//go:embed repair.lua
	repairLua string
	//go:embed adopt.lua
	adoptLua string
)

// Limits of an index, in bytes.
const (
	MaxID     = 4 << 10
	maxMember = 64 << 10
)

// removeBatch is the number of ids removed by one script.
const removeBatch = 200

// errSource is returned by a Rebuild whose source has no All.
var errSource = errors.New("the source has no All")

// Entry is an id with its value in the index: a member, or a score as text.
type Entry struct{ ID, Value string }

// Options are the options of New.
type Options struct {
	// Package is the prefix of errors.
	Package string
	// Declaration is stored in key.meta. An index created with another declaration is refused.
	Declaration partition.Declaration
	// Scored indicates that values are scores.
	Scored bool
	// ID returns the id in a member, or an error if the member has none. Unused if Scored is
	// set.
	ID func(member string) (string, error)
	// CheckScore returns an error for a score that the index could not have written.
	CheckScore func(score string) error
	// Describe formats a value for reports.
	Describe func(value string) string
}

// Index is an index at a key.
type Index struct {
	Set     *partition.Set
	Tracker *engine.Tracker
	Scripts Scripts
	opt     Options
}

// Scripts holds the scripts of an index.
type Scripts struct{ Put, Remove, Watch, Replace, Fill, Finish, Repair, Adopt script.Script }

// New returns the index at a key. It sends no command.
func New(client rueidis.Client, key string, opt Options) (*Index, error) {
	set, err := partition.New(client, key, opt.Declaration)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.Package, err)
	}
	values := lexicalLua
	if opt.Scored {
		values = scoredLua
	}
	build := func(source string) script.Script { return partition.NewScript(values, source) }
	return &Index{Set: set, opt: opt, Tracker: engine.NewTracker(set, nil), Scripts: Scripts{
		Put: build(putLua), Remove: build(removeLua), Watch: build(watchLua), Replace: build(replaceLua),
		Fill: build(fillLua), Finish: engine.NewFinish(values, finishLua),
		Repair: partition.NewScript(repairLua), Adopt: partition.NewScript(adoptLua),
	}}, nil
}

// Reader returns a reader of the index.
func (x *Index) Reader() *ranged.Reader {
	return &ranged.Reader{Set: x.Set, ID: x.opt.ID, Scored: x.opt.Scored}
}

// Select yields the entries of a query in order, skipping members without an id.
func (x *Index) Select(ctx context.Context, q ranged.Query) iter.Seq2[ranged.Item, error] {
	return func(yield func(ranged.Item, error) bool) {
		for item, err := range x.Reader().Read(ctx, q) {
			if !yield(item, x.Wrap(ctx, err)) {
				return
			}
		}
	}
}

// Count returns the number of entries of a query.
func (x *Index) Count(ctx context.Context, q ranged.Query) (int64, error) {
	n, err := x.Reader().Count(ctx, q)
	return n, x.Wrap(ctx, err)
}

// Create stores the declaration unless the index exists.
func (x *Index) Create(ctx context.Context) error { return x.Wrap(ctx, x.Set.Declare(ctx)) }

// Put adds or moves an entry: one script.
func (x *Index) Put(ctx context.Context, e Entry) error {
	err := x.Check(e.ID, e.Value)
	if err == nil && len(x.Set.Keys) > 1 {
		err = x.Set.Declare(ctx)
	}
	if err == nil {
		err = x.Scripts.Put.Run(ctx, x.Set.Client, x.Set.Of(e.ID).All(), append(x.Set.Args(), e.ID, e.Value)).Error()
	}
	return x.Wrap(ctx, err)
}

// PutMany puts entries in pipelined scripts of a hundred up to the first error, and returns the
// number written. If an id occurs twice, the last entry wins.
func (x *Index) PutMany(ctx context.Context, entries iter.Seq2[Entry, error]) (int, error) {
	w, err := x.newWriter(ctx, x.Scripts.Put)
	if err != nil {
		return 0, x.Wrap(ctx, err)
	}
	for e, entryErr := range entries {
		if err = entryErr; err == nil {
			err = x.Check(e.ID, e.Value)
		}
		if err == nil {
			err = w.Add(e)
		}
		if err != nil {
			break
		}
	}
	if closeErr := w.Close(); closeErr != nil {
		err = closeErr
	}
	return w.Done, x.Wrap(ctx, err)
}

// newWriter returns a writer for a script with the arguments declaration, words and
// entries.
func (x *Index) newWriter(ctx context.Context, s script.Script, words ...string) (*batch.Writer[Entry], error) {
	return batch.New(ctx, x.Set, batch.Spec[Entry]{
		Script: s, Head: append(x.Set.Args(), words...), Words: 2,
		Append:  func(args []string, e Entry) []string { return append(args, e.ID, e.Value) },
		Part:    func(e Entry) int { return x.Set.Index(e.ID) },
		Compare: func(a, b Entry) int { return strings.Compare(a.Value, b.Value) },
		Key:     func(e Entry) string { return e.ID },
	})
}

// Check returns an error for an entry that the index cannot hold.
func (x *Index) Check(id, value string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if x.opt.Scored {
		return nil
	}
	if len(value) > maxMember {
		return fmt.Errorf("%w: the entry of id %s has %d bytes: at most %d are allowed", ordered.ErrValue, ranged.Shorten(id), len(value), maxMember)
	}
	owner, err := x.opt.ID(value)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the member of id %s: %w", ordered.ErrValue, ranged.Shorten(id), err)
	case owner != id:
		return fmt.Errorf("%w: the member of id %s contains the id %s", ordered.ErrValue, ranged.Shorten(id), ranged.Shorten(owner))
	}
	return nil
}

// CheckID returns an error for an id that no index accepts.
func CheckID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("%w: an id has %d bytes: it must have from 1 to %d", ordered.ErrValue, len(id), MaxID)
	}
	return nil
}

// Remove removes ids from the index and returns the number removed: one round trip for
// thousands of ids.
func (x *Index) Remove(ctx context.Context, ids ...string) (int, error) {
	if err := x.Set.Check(ctx); err != nil {
		return 0, x.Wrap(ctx, err)
	}
	byPart := make([][]string, len(x.Set.Keys))
	for _, id := range ids {
		p := x.Set.Index(id)
		byPart[p] = append(byPart[p], id)
	}
	var calls []script.Call
	for p, all := range byPart {
		for chunk := range slices.Chunk(all, removeBatch) {
			calls = append(calls, script.Call{Keys: x.Set.Keys[p].All(), Args: append(x.Set.Args(), chunk...)})
		}
	}
	removed := 0
	for chunk := range slices.Chunk(calls, 20) {
		for _, r := range x.Scripts.Remove.RunMany(ctx, x.Set.Client, chunk) {
			n, err := r.AsInt64()
			if err != nil {
				return removed, x.Wrap(ctx, err)
			}
			removed += int(n)
		}
	}
	return removed, nil
}

// Get returns the entry of an id, or ErrNotFound: one round trip.
func (x *Index) Get(ctx context.Context, id string) (Entry, error) {
	all, err := x.GetMany(ctx, id)
	if err == nil && len(all) == 0 {
		err = x.Wrap(ctx, fmt.Errorf("%w: id %s", partition.ErrNotFound, ranged.Shorten(id)))
	}
	if err != nil {
		return Entry{}, err
	}
	return all[0], nil
}

// GetMany returns the entries of ids, in the given order, omitting ids that are not in the
// index: one round trip.
func (x *Index) GetMany(ctx context.Context, ids ...string) ([]Entry, error) {
	values, err := x.values(ctx, ids)
	if err != nil {
		return nil, x.Wrap(ctx, err)
	}
	var found []Entry
	for i, v := range values {
		if v != "" {
			found = append(found, Entry{ids[i], v})
		}
	}
	return found, nil
}

// values returns the value of each id, or "" if the id is not in the index.
func (x *Index) values(ctx context.Context, ids []string) ([]string, error) {
	if err := x.Set.Check(ctx); err != nil {
		return nil, err
	}
	positions := make([][]int, len(x.Set.Keys))
	for i, id := range ids {
		p := x.Set.Index(id)
		positions[p] = append(positions[p], i)
	}
	var commands rueidis.Commands
	var positionsOf [][]int // positions of the ids of each command
	for p, all := range positions {
		for chunk := range slices.Chunk(all, 1000) {
			names := make([]string, len(chunk))
			for j, i := range chunk {
				names[j] = ids[i]
			}
			if keys := &x.Set.Keys[p]; x.opt.Scored {
				commands = append(commands, x.Set.Client.B().Zmscore().Key(keys.Index).Member(names...).Build())
			} else {
				commands = append(commands, x.Set.Client.B().Hmget().Key(keys.Content).Field(names...).Build())
			}
			positionsOf = append(positionsOf, chunk)
		}
	}
	values := make([]string, len(ids))
	for c, r := range x.Set.Client.DoMulti(ctx, commands...) {
		replies, err := r.ToArray()
		if err != nil {
			return nil, err
		}
		for j, v := range replies {
			if values[positionsOf[c][j]], err = x.valueOf(v); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// valueOf returns the value in a reply, or "" for nil.
func (x *Index) valueOf(v rueidis.RedisMessage) (string, error) {
	switch {
	case v.IsNil():
		return "", nil
	case x.opt.Scored:
		f, err := v.AsFloat64()
		return ranged.Text(f), err
	}
	return v.ToString()
}

// Len returns the number of entries: one round trip.
func (x *Index) Len(ctx context.Context) (int64, error) {
	n, err := x.Set.Len(ctx)
	return n, x.Wrap(ctx, err)
}

// Wrap adds the package and the key of the index to an error.
func (x *Index) Wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = x.Set.Error(ctx, err)
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(ctx.Err(), err)
	}
	return fmt.Errorf("%s: %s: %w", x.opt.Package, x.Set.Key, err)
}
