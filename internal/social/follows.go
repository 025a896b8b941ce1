package social

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// Follow makes one user follow another; the posts that the other writes from
// now on come to the follower's home timeline. Repeating it changes nothing,
// the time of the follow included. It returns ErrSelfFollow for oneself and
// ErrNotFound where there is no such user.
//
// Both directions change in one script on a single server. On a Cluster they
// live on different servers: see settle. One or two round trips.
func (s *Service) Follow(ctx context.Context, from, to User) error {
	if from.ID == to.ID {
		return ErrSelfFollow
	}
	if _, err := s.record(ctx, to.ID); err != nil {
		return err
	}
	now := s.now()
	if !s.cluster {
		return followed(s.bothWays(ctx, followSource, from.ID, to.ID, seconds(now)))
	}
	cmd := s.client.B().Zadd().Key(followingKey(from.ID)).Nx().ScoreMember().
		ScoreMember(float64(now.Unix()), itoa(to.ID)).Build().ToRetryable()
	if err := s.client.Do(ctx, cmd).Error(); err != nil {
		return followed(err)
	}
	return s.settle(ctx, from.ID, to.ID)
}

// Unfollow ends a follow. Repeating it changes nothing. What the other wrote
// meanwhile stays where it is. One or two round trips.
func (s *Service) Unfollow(ctx context.Context, from, to User) error {
	if !s.cluster {
		return followed(s.bothWays(ctx, unfollowSource, from.ID, to.ID))
	}
	cmd := s.client.B().Zrem().Key(followingKey(from.ID)).Member(itoa(to.ID)).Build().ToRetryable()
	if err := s.client.Do(ctx, cmd).Error(); err != nil {
		return followed(err)
	}
	return s.settle(ctx, from.ID, to.ID)
}

// bothWays runs a script over both directions. The PING behind it comes back
// after the server's word on which keys have changed (see the package comment),
// so that whoever reads next sees the follow.
func (s *Service) bothWays(ctx context.Context, script string, from, to int64, more ...string) error {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		b.Eval().Script(script).Numkeys(2).Key(followingKey(from), followersKey(to)).
			Arg(append([]string{itoa(from), itoa(to)}, more...)...).Build().ToRetryable(),
		b.Ping().Build().ToRetryable(),
	)
	return firstError(res)
}

func followed(err error) error {
	if err != nil {
		return fmt.Errorf("social: follow: %w", err)
	}
	return nil
}

// settle makes the list of followers agree with the list of followed, which is
// the truth, on servers that no script can span. It looks again after it has
// written: whoever writes last has seen the truth, so however many follow and
// unfollow at once, the two agree when all have returned. A crash in between
// can leave the first direction without the second; repeating the follow, or
// ending it, puts that right.
func (s *Service) settle(ctx context.Context, from, to int64) error {
	since, err := s.followedSince(ctx, from, to)
	if err != nil {
		return followed(err)
	}
	for {
		b := s.client.B()
		var write rueidis.Completed
		if since == "" {
			write = b.Zrem().Key(followersKey(to)).Member(itoa(from)).Build()
		} else {
			write = b.Arbitrary("ZADD").Keys(followersKey(to)).Args(since, itoa(from)).Build()
		}
		if err := s.client.Do(ctx, write.ToRetryable()).Error(); err != nil {
			return followed(err)
		}
		again, err := s.followedSince(ctx, from, to)
		if err != nil {
			return followed(err)
		}
		if again == since {
			return nil
		}
		since = again
	}
}

// followedSince is the time of a follow as the database writes it, empty where
// there is none.
func (s *Service) followedSince(ctx context.Context, from, to int64) (string, error) {
	return text(s.client.Do(ctx, s.client.B().Zscore().Key(followingKey(from)).Member(itoa(to)).Build()))
}

// IsFollowing tells whether one user follows another. One round trip at most.
func (s *Service) IsFollowing(ctx context.Context, from, to int64) (bool, error) {
	err := s.read(ctx, s.client.B().Zscore().Key(followingKey(from)).Member(itoa(to)).Cache()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("social: is following: %w", err)
	}
	return true, nil
}

// Counts are the numbers on a profile.
type Counts struct{ Followers, Following, Posts int64 }

// Counts returns the numbers of a user. One round trip at most.
func (s *Service) Counts(ctx context.Context, uid int64) (Counts, error) {
	b := s.client.B()
	res := s.readMany(ctx,
		b.Zcard().Key(followersKey(uid)).Cache(),
		b.Zcard().Key(followingKey(uid)).Cache(),
		b.Zcard().Key(profileKey(uid)).Cache(),
	)
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = res[i].AsInt64(); err != nil {
			return Counts{}, fmt.Errorf("social: counts: %w", err)
		}
	}
	return Counts{Followers: n[0], Following: n[1], Posts: n[2]}, nil
}

// Common is how many followers two users have in common. Counting stops at a
// bound, for two users whom millions follow: then there are N or more.
type Common struct {
	N       int64
	AtLeast bool
}

const (
	// intersectAtOnce is the size of the smaller set up to which the server
	// intersects by itself, well under a millisecond.
	intersectAtOnce = 1000
	// examine is how many followers of the one are looked up among those of
	// the other at the most.
	examine = 10_000
)

// CommonFollowers counts those who follow both a and b, up to a bound. Two
// round trips where one of the two has up to a thousand followers (ZINTER);
// else, and on a Cluster, where no command spans the two, the followers of the
// one are looked up among those of the other, 1,000 a round trip.
func (s *Service) CommonFollowers(ctx context.Context, a, b int64) (Common, error) {
	small, large := followersKey(a), followersKey(b)
	sizes := s.readMany(ctx, s.client.B().Zcard().Key(small).Cache(), s.client.B().Zcard().Key(large).Cache())
	var n [2]int64
	for i := range n {
		var err error
		if n[i], err = sizes[i].AsInt64(); err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
	}
	if n[0] > n[1] {
		n[0], small, large = n[1], large, small
	}
	if n[0] == 0 {
		return Common{}, nil
	}
	if !s.cluster && n[0] <= intersectAtOnce {
		both, err := s.client.Do(ctx, s.client.B().Zinter().Numkeys(2).Key(small, large).Build()).AsStrSlice()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		return Common{N: int64(len(both))}, nil
	}
	return s.countCommon(ctx, small, large)
}

func (s *Service) countCommon(ctx context.Context, small, large string) (Common, error) {
	var common Common
	for from := int64(0); ; from += intersectAtOnce {
		ids, err := s.client.Do(ctx, s.client.B().Zrevrange().Key(small).
			Start(from).Stop(from+intersectAtOnce-1).Build()).AsStrSlice()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		if len(ids) == 0 {
			return common, nil
		}
		if from >= examine {
			common.AtLeast = true
			return common, nil
		}
		scores, err := s.client.Do(ctx, s.client.B().Zmscore().Key(large).Member(ids...).Build()).ToArray()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		for _, score := range scores {
			if !score.IsNil() {
				common.N++
			}
		}
	}
}
