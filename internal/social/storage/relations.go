package storage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

// The scripts are idempotent, so a script can be sent again if its reply was lost.
var (
	//go:embed relation_ended.lua
	relationEndedSource string

	//go:embed relation_put.lua
	relationPutSource string
	relationPutScript = script.New(relationEndedSource, relationPutSource).Retryable()

	//go:embed relation_remove.lua
	relationRemoveSource string
	relationRemoveScript = script.New(relationEndedSource, relationRemoveSource).Retryable()

	//go:embed relation_forget.lua
	relationForgetSource string
	relationForgetScript = script.New(relationEndedSource, relationForgetSource).Retryable()
)

// MaxRelations is the maximum number of users that a user can mute, and that a user can block.
const MaxRelations = 10_000

// ErrTooManyRelations means that the user has already muted, or blocked, MaxRelations users.
var ErrTooManyRelations = errors.New("social: too many")

// Relations are mutes and blocks: for each user a sorted set of muted users (muted:<uid>) and a
// sorted set of blocked users (blocked:<uid>), scored by the end in Unix seconds, or +inf for no
// end. Entries whose end has passed count as missing; the next write removes them.
//
// blockers:<uid> holds the users who have blocked a user: the reverse of blocked:<uid>, which is
// authoritative and can be in another slot. The write is a repeatable sequence: Block or Unblock,
// then MirrorBlock. posts.Homes first records a task for the sequence. The zero value is not
// usable; see NewRelations.
type Relations struct {
	client rueidis.Client
}

// NewRelations returns the Relations of a database.
func NewRelations(client rueidis.Client) Relations {
	return Relations{client: client}
}

// Mute makes one user mute another until a time, or indefinitely if the time is zero. It returns
// ErrTooManyRelations if the user has already muted MaxRelations others. One round trip.
func (s Relations) Mute(ctx context.Context, from, to int64, until, now time.Time) error {
	return s.put(ctx, MutedKey(from), to, until, now)
}

// Block makes one user block another; see Mute.
func (s Relations) Block(ctx context.Context, from, to int64, until, now time.Time) error {
	return s.put(ctx, BlockedKey(from), to, until, now)
}

// Unmute ends a mute and reports whether there was one. One round trip.
func (s Relations) Unmute(ctx context.Context, from, to int64, now time.Time) (bool, error) {
	return s.remove(ctx, MutedKey(from), to, now)
}

// Unblock ends a block and reports whether there was one. One round trip.
func (s Relations) Unblock(ctx context.Context, from, to int64, now time.Time) (bool, error) {
	return s.remove(ctx, BlockedKey(from), to, now)
}

// MirrorBlock makes blockers:<to> agree with blocked:<from>, and removes expired blocks from
// blockers:<to>. It can run concurrently with other changes. Three round trips.
func (s Relations) MirrorBlock(ctx context.Context, from, to int64, now time.Time) error {
	blocked := SetEntry{Key: BlockedKey(from), Member: Itoa(to)}
	blocker := SetEntry{Key: BlockersKey(to), Member: Itoa(from)}
	forget := relationForgetScript.Command(s.client, []string{blocker.Key}, []string{Seconds(now)})
	if err := copyEntry(ctx, s.client, blocked, blocker, rueidis.Commands{forget}); err != nil {
		return fmt.Errorf("social: block: %w", err)
	}
	return nil
}

func (s Relations) put(ctx context.Context, key string, to int64, until, now time.Time) error {
	end := "+inf"
	if !until.IsZero() && until.Unix() <= MaxSeconds {
		end = Seconds(until)
	}
	ok, err := relationPutScript.RunFenced(ctx, s.client, []string{key}, []string{
		Itoa(to), end, Seconds(now), strconv.Itoa(MaxRelations),
	}).AsBool()
	if err != nil {
		return fmt.Errorf("social: mute or block: %w", err)
	}
	if !ok {
		return ErrTooManyRelations
	}
	return nil
}

func (s Relations) remove(ctx context.Context, key string, to int64, now time.Time) (bool, error) {
	existed, err := relationRemoveScript.RunFenced(ctx, s.client, []string{key}, []string{Itoa(to), Seconds(now)}).AsBool()
	if err != nil {
		return false, fmt.Errorf("social: unmute or unblock: %w", err)
	}
	return existed, nil
}
