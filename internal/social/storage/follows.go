package storage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
)

// The scripts are idempotent, so a script can be sent again if its reply was lost.
var (
	//go:embed follow.lua
	followSource string
	followScript = script.New(followSource).Retryable()

	//go:embed unfollow.lua
	unfollowSource string
	unfollowScript = script.New(unfollowSource).Retryable()
)

// Follows are the follows of all users: for each user a sorted set of followed users and a sorted
// set of followers, both scored by the time of the follow (Unix seconds).
//
// On a single server one script changes both sets. On a Cluster the sets are in different slots, so
// the write is a repeatable sequence in which the set of the follower ("following") is
// authoritative; see reconcile. On a single server the sequence would take 1.22 times the CPU of
// web process and server for a follow (0.76 ms for the whole request), and even more for an
// unfollow; see posts.Homes.Unfollow. The zero value is not usable; see NewFollows.
type Follows struct {
	client  rueidis.Client
	cluster bool
}

// NewFollows returns the Follows of a database.
func NewFollows(client rueidis.Client) Follows {
	return Follows{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// ErrBlocked means that one of the two users blocks the other.
var ErrBlocked = errors.New("social: blocked")

// Put makes one user follow another, or returns ErrBlocked if either blocks the other. It reports
// whether the follow is new; an existing follow keeps its time. One round trip, five on a Cluster.
func (s Follows) Put(ctx context.Context, from, to int64, at time.Time) (isNew bool, err error) {
	if !s.cluster {
		keys := []string{
			FollowingKey(from), FollowersKey(to), BlockedKey(from), BlockedKey(to),
		}
		args := []string{Itoa(from), Itoa(to), Seconds(at)}
		n, err := followScript.RunFenced(ctx, s.client, keys, args).AsInt64()
		if err == nil && n < 0 {
			return false, ErrBlocked
		}
		return n == 1, wrapFollow(err)
	}
	switch blocked, err := s.blocked(ctx, from, to, at); {
	case err != nil:
		return false, wrapFollow(err)
	case blocked:
		return false, ErrBlocked
	}
	cmd := s.client.B().Zadd().Key(FollowingKey(from)).Nx().ScoreMember().
		ScoreMember(float64(at.Unix()), Itoa(to)).Build().ToRetryable()
	if isNew, err = s.client.Do(ctx, cmd).AsBool(); err != nil {
		return false, wrapFollow(err)
	}
	if err := s.reconcile(ctx, from, to); err != nil {
		return false, err
	}
	return isNew, s.undoIfBlocked(ctx, from, to, at)
}

// undoIfBlocked ends a follow that was written while one user blocked the other, because the block
// may have ended the follows between the two users before this follow existed.
func (s Follows) undoIfBlocked(ctx context.Context, from, to int64, at time.Time) error {
	blocked, err := s.blocked(ctx, from, to, at)
	if err != nil || !blocked {
		return wrapFollow(err)
	}
	if _, err := s.Remove(ctx, from, to); err != nil {
		return err
	}
	return ErrBlocked
}

// blocked reports whether either of two users blocks the other. One round trip.
func (s Follows) blocked(ctx context.Context, user, other int64, now time.Time) (bool, error) {
	b := s.client.B()
	for _, res := range s.client.DoMulti(ctx,
		b.Zscore().Key(BlockedKey(user)).Member(Itoa(other)).Build(),
		b.Zscore().Key(BlockedKey(other)).Member(Itoa(user)).Build(),
	) {
		end, err := res.AsFloat64()
		switch {
		case rueidis.IsRedisNil(err):
		case err != nil:
			return false, err
		case end > float64(now.Unix()):
			return true, nil
		}
	}
	return false, nil
}

// Remove ends a follow and returns its time, or the zero time if it did not exist. One round trip,
// three on a Cluster.
func (s Follows) Remove(ctx context.Context, from, to int64) (since time.Time, err error) {
	if !s.cluster {
		text, err := reply.Text(unfollowScript.RunFenced(ctx, s.client, []string{FollowingKey(from), FollowersKey(to)},
			[]string{Itoa(from), Itoa(to)}))
		return ParseTime(text), wrapFollow(err)
	}
	b, key, member := s.client.B(), FollowingKey(from), Itoa(to)
	res := s.client.DoMulti(ctx, b.Zscore().Key(key).Member(member).Build(), b.Zrem().Key(key).Member(member).Build().ToRetryable())
	text, err := reply.Text(res[0])
	if err = errors.Join(err, res[1].Error()); err != nil {
		return time.Time{}, wrapFollow(err)
	}
	return ParseTime(text), s.reconcile(ctx, from, to)
}

// wrapFollow adds the context "follow" to an error.
func wrapFollow(err error) error {
	if err != nil {
		return fmt.Errorf("social: follow: %w", err)
	}
	return nil
}

// Finish completes a Put or a Remove that was interrupted between the two directions, which can
// happen only on a Cluster.
func (s Follows) Finish(ctx context.Context, from, to int64, at time.Time) error {
	if !s.cluster {
		return nil
	}
	following, _ := followEntries(from, to)
	follows, err := EntryScore(ctx, s.client, following)
	if err == nil && follows != "" {
		err = s.undoIfBlocked(ctx, from, to, at)
	}
	if err == nil {
		err = s.reconcile(ctx, from, to)
	}
	if errors.Is(err, ErrBlocked) {
		return nil
	}
	return wrapFollow(err)
}

// reconcile copies the authoritative direction to the other one, which can be on another server. A
// crash before reconcile can leave one direction without the other; repeating or ending the follow
// repairs that.
func (s Follows) reconcile(ctx context.Context, from, to int64) error {
	following, follower := followEntries(from, to)
	return wrapFollow(CopyEntry(ctx, s.client, following, follower))
}

// followEntries returns the entries of a follow in both directions.
func followEntries(from, to int64) (following, follower SetEntry) {
	return SetEntry{Key: FollowingKey(from), Member: Itoa(to)},
		SetEntry{Key: FollowersKey(to), Member: Itoa(from)}
}
