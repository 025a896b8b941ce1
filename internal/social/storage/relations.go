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
	"retwis/internal/social/layout"
)

// Each script may be sent again when its reply was lost: repeating it changes
// nothing.
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

// MaxRelations is how many users one can mute, and block.
const MaxRelations = 10_000

// ErrTooManyRelations: the user has muted, or blocked, Max others.
var ErrTooManyRelations = errors.New("social: too many")

// Relations are mutes and blocks: for each user a sorted set of the users they have muted
// (muted:<uid>) and of those they have blocked (blocked:<uid>), scored by the end in unix
// seconds, +inf for none. Entries whose end has passed count as missing; the next write
// removes them.
//
// blockers:<uid> has the users who have blocked a user: the other direction of blocked:<uid>,
// which is authoritative. On a single server one script changes both. On a Cluster they are in
// different slots, so the write is a sequence that can be repeated; see CopyEntry. Made by
// NewRelations.
type Relations struct {
	client  rueidis.Client
	cluster bool
}

// NewRelations returns the mutes and blocks of a database.
func NewRelations(client rueidis.Client) Relations {
	return Relations{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Mute makes one user mute another until a time, without end for the zero time. It returns
// ErrTooManyRelations where the user has muted MaxRelations others. One round trip.
func (s Relations) Mute(ctx context.Context, from, to int64, until, now time.Time) error {
	return s.put(ctx, []string{layout.MutedKey(from)}, from, to, until, now)
}

// Block makes one user block another; see Mute. One round trip, five on a Cluster.
func (s Relations) Block(ctx context.Context, from, to int64, until, now time.Time) error {
	if err := s.put(ctx, s.blockKeys(from, to), from, to, until, now); err != nil {
		return err
	}
	return s.blockers(ctx, from, to, now)
}

// Unmute ends a mute and reports whether there was one. One round trip.
func (s Relations) Unmute(ctx context.Context, from, to int64, now time.Time) (bool, error) {
	return s.remove(ctx, []string{layout.MutedKey(from)}, from, to, now)
}

// Unblock ends a block and reports whether there was one. One round trip, five on a
// Cluster.
func (s Relations) Unblock(ctx context.Context, from, to int64, now time.Time) (bool, error) {
	was, err := s.remove(ctx, s.blockKeys(from, to), from, to, now)
	if err != nil {
		return false, err
	}
	return was, s.blockers(ctx, from, to, now)
}

func (s Relations) blockKeys(from, to int64) []string {
	keys := []string{layout.BlockedKey(from), layout.BlockersKey(to)}
	if s.cluster {
		return keys[:1]
	}
	return keys
}

// blockers updates the other direction of a block on a Cluster.
func (s Relations) blockers(ctx context.Context, from, to int64, now time.Time) error {
	if !s.cluster {
		return nil
	}
	if err := s.Mirror(ctx, from, to); err != nil {
		return err
	}
	err := relationForgetScript.Run(ctx, s.client, []string{layout.BlockersKey(to)}, []string{layout.Seconds(now)}).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("social: block: %w", err)
	}
	return nil
}

// Mirror makes blockers:<to> agree with blocked:<from>. It can run while others block
// and unblock. Three round trips.
func (s Relations) Mirror(ctx context.Context, from, to int64) error {
	err := CopyEntry(ctx, s.client,
		SetEntry{Key: layout.BlockedKey(from), Member: layout.Itoa(to)},
		SetEntry{Key: layout.BlockersKey(to), Member: layout.Itoa(from)})
	if err != nil {
		return fmt.Errorf("social: block: %w", err)
	}
	return nil
}

func (s Relations) put(ctx context.Context, keys []string, from, to int64, until, now time.Time) error {
	end := "+inf"
	if !until.IsZero() && until.Unix() <= layout.MaxSeconds {
		end = layout.Seconds(until)
	}
	ok, err := relationPutScript.RunFenced(ctx, s.client, keys, []string{
		layout.Itoa(from), layout.Itoa(to), end, layout.Seconds(now), strconv.Itoa(MaxRelations),
	}).AsBool()
	if err != nil {
		return fmt.Errorf("social: mute or block: %w", err)
	}
	if !ok {
		return ErrTooManyRelations
	}
	return nil
}

func (s Relations) remove(ctx context.Context, keys []string, from, to int64, now time.Time) (bool, error) {
	was, err := relationRemoveScript.RunFenced(ctx, s.client, keys,
		[]string{layout.Itoa(from), layout.Itoa(to), layout.Seconds(now)}).AsBool()
	if err != nil {
		return false, fmt.Errorf("social: unmute or unblock: %w", err)
	}
	return was, nil
}
