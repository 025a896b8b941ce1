package blocklist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"
)

// List is the list of blocks. It is safe for concurrent use.
//
// The list is stored in one hash rather than as records of package model: each post is compared
// with the whole list, and a hash is read with one command, whose reply is cached until the hash
// changes.
type List struct {
	db    storage.Database
	users *storage.Users
	audit *audit.Log
	now   func() time.Time

	kept *storage.Kept[*matcher]
}

// New returns the list of a database.
func New(db storage.Database, people *storage.Users, log *audit.Log, now func() time.Time) *List {
	l := &List{db: db, users: people, audit: log, now: now}
	l.kept = storage.NewKept(db, storage.Blocklist, func(ctx context.Context) (*matcher, error) {
		blocks, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		return newMatcher(blocks), nil
	})
	return l
}

// CheckText returns *InvalidError if a text contains a blocked word or link. No round trip while
// the list is unchanged.
func (l *List) CheckText(ctx context.Context, field, typed string) error {
	m, err := l.kept.Get(ctx)
	if err != nil {
		return err
	}
	switch now := l.now(); {
	case m.word(typed, now):
		return social.Invalid(field, "This contains a word that isn't allowed here.")
	case m.link(typed, now):
		return social.Invalid(field, "This links to a site that is not allowed here.")
	}
	return nil
}

// Blocked returns a function that reports whether a text contains a blocked word or link. No round
// trip while the list is unchanged.
func (l *List) Blocked(ctx context.Context) (func(typed string) bool, error) {
	m, err := l.kept.Get(ctx)
	now := l.now()
	return func(typed string) bool { return m.word(typed, now) || m.link(typed, now) }, err
}

// CheckAddress returns ErrForbidden if the request of ctx comes from a blocked address. No round
// trip while the list is unchanged.
func (l *List) CheckAddress(ctx context.Context) error {
	from := social.AddressOf(ctx)
	if !from.IsValid() {
		return nil
	}
	m, err := l.kept.Get(ctx)
	if err == nil && m.address(from, l.now()) {
		err = social.Forbidden("Your network is blocked on this site: it can't sign up or post.")
	}
	return err
}

func (l *List) read(ctx context.Context) ([]Block, error) {
	stored, err := l.db.Read(ctx, l.db.Client.B().Hgetall().Key(storage.Blocklist).Cache()).AsStrMap()
	if err != nil {
		return nil, fmt.Errorf("social: read the blocklist: %w", err)
	}
	blocks := make([]Block, 0, len(stored))
	for field, text := range stored {
		if b, ok := Parse(field, text); ok {
			blocks = append(blocks, b)
		}
	}
	slices.SortFunc(blocks, func(a, b Block) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)), cmp.Compare(a.Value, b.Value))
	})
	return blocks, nil
}

// All returns the blocks that have not ended, by kind and value. It bypasses all caches. One round
// trip.
func (l *List) All(ctx context.Context) ([]Block, error) {
	blocks, err := l.read(social.WithFresh(ctx))
	now := l.now()
	return slices.DeleteFunc(blocks, func(b Block) bool { return b.Ended(now) }), err
}

// Add blocks a value for a duration, or without an end if the duration is 0; an existing block gets
// the new end. It returns ErrForbidden unless the actor is a moderator, and *InvalidError for an
// invalid value or duration. It removes blocks that have ended. Four round trips.
func (l *List) Add(ctx context.Context, actor social.Actor, b Block, duration time.Duration) (Block, error) {
	var err error
	if b.Value, err = Clean(b.Kind, b.Value); err != nil {
		return Block{}, err
	}
	if duration < 0 || duration > maxDuration || duration > 0 && duration < time.Minute {
		return Block{}, social.Invalid("for", "Use a duration from one minute to ten years, or none for no end.")
	}
	if err := l.users.Require(ctx, actor, social.Moderator); err != nil {
		return Block{}, err
	}
	all, err := l.read(social.WithFresh(ctx))
	if err != nil {
		return Block{}, err
	}
	now := l.now().UTC().Truncate(time.Second)
	var ended []string
	others := 0
	for _, other := range all {
		switch {
		case other.Ended(now):
			ended = append(ended, other.field())
		case other.Kind == b.Kind && other.Value != b.Value:
			others++
		}
	}
	if others >= MaxOfKind {
		return Block{}, social.Invalid("value", "There are {n} blocks of this kind already. Remove one first.", MaxOfKind)
	}
	b.Since, b.Until = now, time.Time{}
	note := ""
	if duration > 0 {
		b.Until = now.Add(duration)
		note = "until " + b.Until.Format(time.RFC3339)
	}
	if err := l.audit.Add(ctx, audit.Entry{Actor: actor, Action: "block-" + string(b.Kind), Target: b.Value, Note: note}); err != nil {
		return Block{}, err
	}
	return b, l.write(ctx, b, ended)
}

// Remove ends a block, or returns ErrNotFound; see Add.
func (l *List) Remove(ctx context.Context, actor social.Actor, kind Kind, typed string) error {
	value, err := Clean(kind, typed)
	if err != nil {
		return err
	}
	if err := l.users.Require(ctx, actor, social.Moderator); err != nil {
		return err
	}
	all, err := l.All(ctx)
	if err != nil {
		return err
	}
	b := Block{Kind: kind, Value: value}
	if !slices.ContainsFunc(all, func(other Block) bool { return other.field() == b.field() }) {
		return social.ErrNotFound
	}
	if err := l.audit.Add(ctx, audit.Entry{Actor: actor, Action: "unblock-" + string(kind), Target: value}); err != nil {
		return err
	}
	return l.write(ctx, Block{}, []string{b.field()})
}

// write adds block b, if it has a value, and removes the blocks of the given fields.
func (l *List) write(ctx context.Context, b Block, remove []string) error {
	cmd := l.db.Client.B()
	var cmds rueidis.Commands
	if b.Value != "" {
		cmds = append(cmds, cmd.Hset().Key(storage.Blocklist).FieldValue().FieldValue(b.field(), b.stored()).Build())
	}
	remove = slices.DeleteFunc(remove, func(field string) bool { return field == b.field() })
	if len(remove) > 0 {
		cmds = append(cmds, cmd.Hdel().Key(storage.Blocklist).Field(remove...).Build())
	}
	return l.kept.Write(ctx, cmds...)
}
