// Package follow stores follows: for each user a sorted set of the
// users that they follow and one of their followers, both scored by the time of
// the follow (unix seconds).
//
// On a single server one script changes both directions. On a Cluster they are
// in different slots, so the write is a sequence that can be repeated; the set
// of the follower ("following") is authoritative: see reconcile.
package follow

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/script"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// Each script may be sent again when its reply was lost: repeating it changes
// nothing.
var (
	//go:embed follow.lua
	followSource string

	//go:embed unfollow.lua
	unfollowSource string

	//go:embed mirror.lua
	mirrorSource string
	mirrorScript = script.New(mirrorSource).Retryable()
)

// Store reads and writes follows. Its zero value is not usable; see New.
type Store struct {
	client  rueidis.Client
	cluster bool
}

// New returns the follows of a database.
func New(client rueidis.Client) Store {
	return Store{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Put makes one user follow another. A follow that exists keeps its time. One
// round trip, three on a Cluster.
func (s Store) Put(ctx context.Context, from, to int64, at time.Time) error {
	if !s.cluster {
		return wrap(s.bothWays(ctx, followSource, from, to, layout.Seconds(at)))
	}
	cmd := s.client.B().Zadd().Key(layout.FollowingKey(from)).Nx().ScoreMember().
		ScoreMember(float64(at.Unix()), layout.Itoa(to)).Build().ToRetryable()
	if err := s.client.Do(ctx, cmd).Error(); err != nil {
		return wrap(err)
	}
	return s.reconcile(ctx, from, to)
}

// Remove ends a follow. One round trip, three on a Cluster.
func (s Store) Remove(ctx context.Context, from, to int64) error {
	if !s.cluster {
		return wrap(s.bothWays(ctx, unfollowSource, from, to))
	}
	cmd := s.client.B().Zrem().Key(layout.FollowingKey(from)).Member(layout.Itoa(to)).Build().ToRetryable()
	if err := s.client.Do(ctx, cmd).Error(); err != nil {
		return wrap(err)
	}
	return s.reconcile(ctx, from, to)
}

// bothWays runs a script on both directions. The reply to the PING after it
// arrives after the server's invalidation messages (see the comment of package
// social), so that a later read sees the follow.
func (s Store) bothWays(ctx context.Context, script string, from, to int64, more ...string) error {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		b.Eval().Script(script).Numkeys(2).Key(layout.FollowingKey(from), layout.FollowersKey(to)).
			Arg(append([]string{layout.Itoa(from), layout.Itoa(to)}, more...)...).Build().ToRetryable(),
		b.Ping().Build().ToRetryable(),
	)
	return reply.FirstError(res)
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("social: follow: %w", err)
	}
	return nil
}

// Mirror makes the followers of a user agree with the authoritative direction
// and reports whether they did not.
func (s Store) Mirror(ctx context.Context, from, to int64) (bool, error) {
	if !s.cluster {
		return mirrorScript.Run(ctx, s.client, []string{layout.FollowingKey(from), layout.FollowersKey(to)},
			[]string{layout.Itoa(from), layout.Itoa(to)}).AsBool()
	}
	since, err := s.since(ctx, from, to)
	if err != nil {
		return false, err
	}
	back, err := reply.Text(s.client.Do(ctx, s.client.B().Zscore().Key(layout.FollowersKey(to)).Member(layout.Itoa(from)).Build()))
	if err != nil || since == back {
		return false, err
	}
	return true, s.reconcile(ctx, from, to)
}

// reconcile copies the authoritative direction to the other one, on servers
// that no script can span. It reads again after it has written: the last writer
// has seen the latest state, so however many processes follow and unfollow at
// once, both directions agree when all have returned. A crash in between can
// leave the first direction without the second; repeating the follow, or ending
// it, repairs that.
func (s Store) reconcile(ctx context.Context, from, to int64) error {
	since, err := s.since(ctx, from, to)
	if err != nil {
		return wrap(err)
	}
	for {
		b := s.client.B()
		var write rueidis.Completed
		if since == "" {
			write = b.Zrem().Key(layout.FollowersKey(to)).Member(layout.Itoa(from)).Build()
		} else {
			write = b.Arbitrary("ZADD").Keys(layout.FollowersKey(to)).Args(since, layout.Itoa(from)).Build()
		}
		if err := s.client.Do(ctx, write.ToRetryable()).Error(); err != nil {
			return wrap(err)
		}
		again, err := s.since(ctx, from, to)
		if err != nil {
			return wrap(err)
		}
		if again == since {
			return nil
		}
		since = again
	}
}

// since is the time of a follow as the server writes it, empty where there is
// none.
func (s Store) since(ctx context.Context, from, to int64) (string, error) {
	return reply.Text(s.client.Do(ctx, s.client.B().Zscore().Key(layout.FollowingKey(from)).Member(layout.Itoa(to)).Build()))
}
