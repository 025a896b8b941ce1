package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/ordered"
	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/internal/script"
)

var (
	//go:embed put.lua
	putLua string
	//go:embed remove.lua
	removeLua string
)

// Bounds of what an index takes, in bytes.
const (
	MaxID     = 4 << 10
	MaxMember = 64 << 10
)

// Lexical is an index in the order of bytes: a sorted set whose scores are all
// 0, in which each id has one member. It is the ground that Composite and
// space.Index stand on, for those who have an encoding of their own: the member
// says where an id stands, and holds the id.
//
// Beside the sorted set at key there is the hash key.content, from id to member,
// so that putting an id again moves it and removing it takes the id alone. Each
// is one script.
type Lexical struct {
	set      *partition.Set
	id       func(member string) (string, error)
	describe func(member string) string

	put, remove, sift script.Script
	repair, adopt     script.Script
	target            *target // of maintenance
}

// LexicalOptions are the options of NewLexical.
type LexicalOptions struct {
	// Kind and Declaration are what the index remembers of itself in key.meta;
	// one that remembers something else is refused. Default: lexical, nothing.
	Kind, Declaration string
	// Partitions is over how many hash slots the index is spread, by id.
	// Default: 1.
	Partitions int
	// ID finds the id in a member, or says why there can be none. Default: a
	// member is its own id.
	ID func(member string) (string, error)
	// Describe words a member for a person, in reports. Default: quoted.
	Describe func(member string) string
}

// Member is an entry of a lexicographic index.
type Member struct{ ID, Member string }

// Cursor is the place of the entry, for Page.After.
func (m Member) Cursor() string { return scan.EncodeCursor(m.Member) }

// NewLexical returns the index at a key. It asks no server.
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
	x.target = x.newTarget()
	return x, nil
}

// Key is the key of the index.
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

// PutMany puts entries in pipelined scripts of a hundred, and returns how many
// are in. Each is put as a whole or not at all; after an error those before it
// are in, and it can be repeated without harm. Of an id that comes twice the
// later entry stays.
func (x *Lexical) PutMany(ctx context.Context, entries iter.Seq[Member]) (int, error) {
	w, err := newWriter(ctx, x.set, x.put, x.set.Args())
	if err != nil {
		return 0, x.wrap(ctx, err)
	}
	var wrong error
	for m := range entries {
		if wrong = x.check(m); wrong != nil {
			break
		}
		if wrong = w.add(m.ID, m.Member); wrong != nil {
			break
		}
	}
	return w.closed(x.wrap, wrong)
}

// check refuses entries that could not be found again.
func (x *Lexical) check(m Member) error {
	if err := checkID(m.ID); err != nil {
		return err
	}
	if len(m.Member) > MaxMember {
		return fmt.Errorf("%w: the entry of id %s has %d bytes: at most %d are allowed", ErrValue, shown(m.ID), len(m.Member), MaxMember)
	}
	id, err := x.id(m.Member)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the member of id %s: %w", ErrValue, shown(m.ID), err)
	case id != m.ID:
		return fmt.Errorf("%w: the member of id %s is one of id %s", ErrValue, shown(m.ID), shown(id))
	}
	return nil
}

func checkID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("%w: an id has %d bytes: it must have from 1 to %d", ErrValue, len(id), MaxID)
	}
	return nil
}

// shown is an id as an error shows it.
func shown(id string) string {
	if len(id) > 60 {
		return fmt.Sprintf("%q…", id[:60])
	}
	return fmt.Sprintf("%q", id)
}

// removeBatch is how many ids one script removes.
const removeBatch = 200

// Remove takes ids out of the index and returns how many were in: one round
// trip for a thousand.
func (x *Lexical) Remove(ctx context.Context, ids ...string) (int, error) {
	all := make([]Member, len(ids))
	for i, id := range ids {
		all[i].ID = id
	}
	return x.removeAll(ctx, all, false)
}

// RemoveExactly takes entries out of the index where they are still as they are
// given, and returns how many were.
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
	for some := range slices.Chunk(calls, 20) {
		for _, r := range x.remove.RunMany(ctx, x.set.Client, some) {
			n, err := r.AsInt64()
			if err != nil {
				return removed, x.wrap(ctx, err)
			}
			removed += int(n)
		}
	}
	return removed, nil
}

// Get returns the entries of ids, in their order, without those that are not in
// the index: one round trip.
func (x *Lexical) Get(ctx context.Context, ids ...string) ([]Member, error) {
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

// members returns the member of each id, empty for those that are not there.
func (x *Lexical) members(ctx context.Context, ids []string) ([]string, error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	where := make([][]int, len(x.set.Keys))
	for i, id := range ids {
		p := x.set.Index(id)
		where[p] = append(where[p], i)
	}
	var commands rueidis.Commands
	var asked [][]int
	for p, all := range where {
		for some := range slices.Chunk(all, 1000) {
			fields := make([]string, len(some))
			for j, i := range some {
				fields[j] = ids[i]
			}
			commands = append(commands, x.set.Client.B().Hmget().Key(x.set.Keys[p].Content).Field(fields...).Build())
			asked = append(asked, some)
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
				if members[asked[c][j]], err = v.ToString(); err != nil {
					return nil, err
				}
			}
		}
	}
	return members, nil
}

// Len is how many entries there are: one round trip.
func (x *Lexical) Len(ctx context.Context) (int64, error) {
	n, err := x.sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Zcard().Key(k.Index).Build()
	})
	return n, x.wrap(ctx, err)
}

// sum adds up what a command replies in every partition.
func (x *Lexical) sum(ctx context.Context, command func(*partition.Keys) rueidis.Completed) (int64, error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, err
	}
	return sum(ctx, x.set, command)
}

func sum(ctx context.Context, set *partition.Set, command func(*partition.Keys) rueidis.Completed) (int64, error) {
	commands := make(rueidis.Commands, len(set.Keys))
	for i := range set.Keys {
		commands[i] = command(&set.Keys[i])
	}
	var total int64
	for _, r := range set.Client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// wrap words an error with the key of the index.
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
