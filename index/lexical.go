package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/batch"
	"retwis/index/internal/members"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

var (
	//go:embed put.lua
	putLua string
	//go:embed remove.lua
	removeLua string
	//go:embed sift.lua
	siftLua string
	//go:embed repair.lua
	repairLua string
	//go:embed adopt.lua
	adoptLua string
)

// Limits of an index, in bytes.
const (
	MaxID     = 4 << 10
	MaxMember = 64 << 10
)

// removeBatch is the number of ids that one script removes.
const removeBatch = 200

// Lexical is a lexicographic index: a sorted set whose scores are all 0, so that its
// members are in the order of their bytes, in which each id has one member. Composite
// and space.Index are built on it. Use it with your own encoding: the member decides
// the position of an id, and contains the id.
//
// The hash key.content maps ids to members, so that putting an id again moves it and
// removing it needs only the id. Each is one script.
type Lexical struct {
	set      *partition.Set
	id       func(member string) (string, error)
	describe func(member string) string

	put, remove, sift script.Script
	repair, adopt     script.Script
}

// LexicalOptions are the options of NewLexical.
type LexicalOptions struct {
	// Kind and Declaration are stored in key.meta. An index that was created with
	// others is refused. Default: lexical, nothing.
	Kind, Declaration string
	// Partitions is the number of hash slots over which the index is spread by id.
	// Default: 1.
	Partitions int
	// ID returns the id in a member, or an error if it has none. Default: a member
	// is its own id.
	ID func(member string) (string, error)
	// Describe formats a member for reports. Default: quoted.
	Describe func(member string) string
}

// Member is an entry of a lexicographic index.
type Member struct{ ID, Member string }

// Cursor returns the position of the entry, for Page.After.
func (m Member) Cursor() string { return scan.EncodeCursor(m.Member) }

// NewLexical returns the index at a key. It sends nothing to the server.
func NewLexical(client rueidis.Client, key string, opt LexicalOptions) (*Lexical, error) {
	if opt.Kind == "" {
		opt.Kind = "lexical"
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: opt.Kind, Text: opt.Declaration, Partitions: opt.Partitions})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	x := &Lexical{
		set: set, id: opt.ID, describe: opt.Describe,
		put: partition.NewScript(putLua), remove: partition.NewScript(removeLua), sift: partition.NewScript(ordered.LuaLess + siftLua),
		repair: partition.NewScript(repairLua), adopt: partition.NewScript(adoptLua),
	}
	if x.id == nil {
		x.id = func(member string) (string, error) { return member, nil }
	}
	if x.describe == nil {
		x.describe = func(member string) string { return fmt.Sprintf("%q", member) }
	}
	return x, nil
}

// Key returns the key of the index.
func (x *Lexical) Key() string { return x.set.Key }

// Put adds an entry, or moves it: one script.
func (x *Lexical) Put(ctx context.Context, m Member) error {
	err := x.check(m)
	if err == nil && len(x.set.Keys) > 1 {
		err = x.set.Declare(ctx)
	}
	if err == nil {
		err = x.put.Run(ctx, x.set.Client, x.set.Of(m.ID).All(), append(x.set.Args(), m.ID, m.Member)).Error()
	}
	return x.wrap(ctx, err)
}

// PutMany puts entries in pipelined scripts of a hundred, and returns how many are in.
// Each is put as a whole or not at all. After an error those before it are in; it does
// no harm to repeat it. If an id comes twice, the last entry wins.
func (x *Lexical) PutMany(ctx context.Context, entries iter.Seq[Member]) (int, error) {
	w, err := batch.New(ctx, x.set, x.put, x.set.Args())
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	for m := range entries {
		if err = x.check(m); err == nil {
			err = w.Add(m.ID, m.Member)
		}
		if err != nil {
			break
		}
	}
	return w.Finish(x.wrap, err)
}

// check refuses an entry whose id could not be read back.
func (x *Lexical) check(m Member) error {
	if err := checkID(m.ID); err != nil {
		return err
	}
	if len(m.Member) > MaxMember {
		return fmt.Errorf("%w: the entry of id %s has %d bytes: at most %d are allowed", ErrValue, members.Shorten(m.ID), len(m.Member), MaxMember)
	}
	id, err := x.id(m.Member)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the member of id %s: %w", ErrValue, members.Shorten(m.ID), err)
	case id != m.ID:
		return fmt.Errorf("%w: the member of id %s contains the id %s", ErrValue, members.Shorten(m.ID), members.Shorten(id))
	}
	return nil
}

func checkID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("%w: an id has %d bytes: it must have from 1 to %d", ErrValue, len(id), MaxID)
	}
	return nil
}

// errNoEntry is the error of an id that is not in the index.
func errNoEntry(id string) error { return fmt.Errorf("%w: id %s", ErrNotFound, members.Shorten(id)) }

// Remove removes ids from the index and returns how many were in it: one round trip
// for thousands.
func (x *Lexical) Remove(ctx context.Context, ids ...string) (int, error) {
	all := make([]Member, len(ids))
	for i, id := range ids {
		all[i].ID = id
	}
	return x.removeAll(ctx, all, false)
}

// RemoveExactly removes entries that have not changed, and returns how many it
// removed.
func (x *Lexical) RemoveExactly(ctx context.Context, entries ...Member) (int, error) {
	return x.removeAll(ctx, entries, true)
}

func (x *Lexical) removeAll(ctx context.Context, entries []Member, exactly bool) (int, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, x.wrap(ctx, err)
	}
	byPart := make([][]Member, len(x.set.Keys))
	for _, m := range entries {
		if err := checkID(m.ID); err != nil {
			return 0, x.wrap(ctx, err)
		}
		p := x.set.Index(m.ID)
		byPart[p] = append(byPart[p], m)
	}
	var calls []script.Call
	for p, batch := range byPart {
		for chunk := range slices.Chunk(batch, removeBatch) {
			args := append(x.set.Args(), "")
			for _, m := range chunk {
				args = append(args, m.ID)
				if exactly {
					args = append(args, m.Member)
				}
			}
			if exactly {
				args[3] = "exactly"
			}
			calls = append(calls, script.Call{Keys: x.set.Keys[p].All(), Args: args})
		}
	}
	removed := 0
	for batch := range slices.Chunk(calls, 20) {
		for _, r := range x.remove.RunMany(ctx, x.set.Client, batch) {
			n, err := r.AsInt64()
			if err != nil {
				return removed, x.wrap(ctx, err)
			}
			removed += int(n)
		}
	}
	return removed, nil
}

// Get returns the entry of an id, or ErrNotFound: one round trip.
func (x *Lexical) Get(ctx context.Context, id string) (Member, error) {
	all, err := x.GetMany(ctx, id)
	if err == nil && len(all) == 0 {
		err = x.wrap(ctx, errNoEntry(id))
	}
	if err != nil {
		return Member{}, err
	}
	return all[0], nil
}

// GetMany returns the entries of ids, in their order, without those that are not in
// the index: one round trip.
func (x *Lexical) GetMany(ctx context.Context, ids ...string) ([]Member, error) {
	members, err := x.members(ctx, ids)
	if err != nil {
		return nil, x.wrap(ctx, err)
	}
	var found []Member
	for i, m := range members {
		if m != "" {
			found = append(found, Member{ids[i], m})
		}
	}
	return found, nil
}

// members returns the member of each id; empty: the id is not in the index.
func (x *Lexical) members(ctx context.Context, ids []string) ([]string, error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	positions := make([][]int, len(x.set.Keys))
	for i, id := range ids {
		p := x.set.Index(id)
		positions[p] = append(positions[p], i)
	}
	var commands rueidis.Commands
	var sent [][]int
	for p, all := range positions {
		for batch := range slices.Chunk(all, 1000) {
			fields := make([]string, len(batch))
			for j, i := range batch {
				fields[j] = ids[i]
			}
			commands = append(commands, x.set.Client.B().Hmget().Key(x.set.Keys[p].Content).Field(fields...).Build())
			sent = append(sent, batch)
		}
	}
	members := make([]string, len(ids))
	for c, r := range x.set.Client.DoMulti(ctx, commands...) {
		values, err := r.ToArray()
		if err != nil {
			return nil, err
		}
		for j, v := range values {
			if !v.IsNil() {
				if members[sent[c][j]], err = v.ToString(); err != nil {
					return nil, err
				}
			}
		}
	}
	return members, nil
}

// Len returns the number of entries: one round trip.
func (x *Lexical) Len(ctx context.Context) (int64, error) {
	n, err := x.set.Len(ctx)
	return n, x.wrap(ctx, err)
}

// wrap adds the key of the index to an error.
func (x *Lexical) wrap(ctx context.Context, err error) error { return wrap(ctx, x.set, err) }

func wrap(ctx context.Context, set *partition.Set, err error) error {
	if err == nil {
		return nil
	}
	err = set.Error(ctx, err)
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(ctx.Err(), err)
	}
	return fmt.Errorf("index: %s: %w", set.Key, err)
}
