package storage

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
)

// KnownCelebrities are the authors whose posts are merged, each with the id of the first post that
// is. It never changes: after a change there is another one.
type KnownCelebrities struct{ First map[int64]int64 }

// Celebrities are the authors whose posts are not put on the home timelines of their
// followers, because there are very many of them. Their posts are merged into a home
// timeline when it is read: see package home.
//
// The sorted set `celebrities` has each such author with the id of the first post that is
// merged (Twitter and Bluesky do the same for their largest accounts). An author is added
// with the first post or repost after they have gained more followers than a limit, and stays
// there. Celebrities keeps the set in memory.
//
// Putting a post on the home timelines all the same is always right: the reader drops the
// second one. So a process that does not know yet that an author was added does no harm.
// Leaving a post out is right only for a post whose id is not below the one in `celebrities`,
// and [Celebrities.Decide] reads it there.
//
// All of this happens on a Cluster only; on a single server it is nil, and knows nobody. It
// is safe for concurrent use.
type Celebrities struct {
	db    Database
	above int64

	known *Kept[*KnownCelebrities]

	wrote func(author int64) // may be nil
}

// NewCelebrities returns those of a database; nil on a single server. An author with more than
// above followers is added.
func NewCelebrities(db Database, above int64) *Celebrities {
	if !db.Cluster {
		return nil
	}
	s := &Celebrities{db: db, above: above}
	s.known = NewKept(db, CelebritiesKey, s.read)
	return s
}

// OnWrite sets what is called with the author of a post that this process has written,
// or deleted. Call it before the first use.
func (s *Celebrities) OnWrite(wrote func(author int64)) {
	if s != nil {
		s.wrote = wrote
	}
}

// Wrote notes that this process has written a post of an author, or deleted one.
func (s *Celebrities) Wrote(author int64) {
	if s != nil && s.wrote != nil {
		s.wrote(author)
	}
}

// Load returns who is known. It reads the set if it has changed, or the context is fresh.
// No round trip while nothing has changed.
func (s *Celebrities) Load(ctx context.Context) (*KnownCelebrities, error) {
	if s == nil {
		return &KnownCelebrities{}, nil
	}
	if social.IsFresh(ctx) {
		return s.read(ctx)
	}
	return s.known.Get(ctx)
}

func (s *Celebrities) read(ctx context.Context) (*KnownCelebrities, error) {
	scores, err := reply.OrEmpty(s.db.Read(ctx, s.db.Client.B().Zrange().Key(CelebritiesKey).Min("0").Max("-1").Withscores().Cache()).AsZScores())
	if err != nil {
		return nil, fmt.Errorf("social: read whose posts are merged: %w", err)
	}
	known := &KnownCelebrities{First: make(map[int64]int64, len(scores))}
	for _, score := range scores {
		if uid, ok := ParseID(score.Member); ok && score.Score >= 1 && score.Score <= MaxID {
			known.First[uid] = int64(score.Score)
		}
	}
	return known, nil
}

// Commands reads what [Celebrities.Decide] needs, for a pipeline of the caller.
func (s *Celebrities) Commands(author int64) rueidis.Commands {
	b := s.db.Client.B()
	return rueidis.Commands{
		b.Zscore().Key(CelebritiesKey).Member(Itoa(author)).Build(),
		b.Zcard().Key(FollowersKey(author)).Build(),
	}
}

// Decide reports whether a post or repost is merged when home timelines are read, and
// is not put on those of the author's followers. res are the replies to Commands. Where
// isNew, an author with too many followers is added with this post: one more round trip.
//
// The id of the post is assigned before. So whatever other processes do at the same time,
// no post is missing: it is merged if its id is not below the one in `celebrities`, and
// put on the timelines otherwise. What this process has in memory does not matter: it
// can be wrong after a failover.
func (s *Celebrities) Decide(ctx context.Context, author, post int64, isNew bool, res []rueidis.RedisResult) (bool, error) {
	from, err := firstMerged(res[0])
	if err != nil {
		return false, err
	}
	if from != 0 {
		return post >= from, nil
	}
	followers, err := reply.OrEmpty(res[1].AsInt64())
	if err != nil {
		return false, fmt.Errorf("social: count followers: %w", err)
	}
	if !isNew || followers <= s.above {
		return false, nil
	}
	b := s.db.Client.B()
	member := Itoa(author)
	res = s.db.Client.DoMulti(ctx,
		b.Zadd().Key(CelebritiesKey).Nx().ScoreMember().ScoreMember(float64(post), member).Build().ToRetryable(),
		b.Zscore().Key(CelebritiesKey).Member(member).Build())
	if err := reply.Written(res[0]); err != nil {
		return false, fmt.Errorf("social: merge the posts of user %d: %w", author, err)
	}
	from, err = firstMerged(res[1]) // another process can have added the author before
	return err == nil && from != 0 && post >= from, err
}

// firstMerged reads the first post of an author that is merged; 0 for none.
func firstMerged(res rueidis.RedisResult) (int64, error) {
	text, err := reply.TextOrEmpty(res)
	if err != nil {
		return 0, fmt.Errorf("social: read whose posts are merged: %w", err)
	}
	if text == "" {
		return 0, nil
	}
	if id, err := ParseScore(text); err == nil {
		return id, nil
	}
	return 0, nil // damaged: a check reports it
}

// First returns the first post of an author that is merged, bypassing all caches; 0
// for none. One round trip.
func (s *Celebrities) First(ctx context.Context, author int64) (int64, error) {
	if s == nil {
		return 0, nil
	}
	return firstMerged(s.db.Client.Do(ctx, s.db.Client.B().Zscore().Key(CelebritiesKey).Member(Itoa(author)).Build()))
}

// Remove removes an account that is deleted. Repeating it changes nothing.
func (s *Celebrities) Remove(ctx context.Context, uid int64) error {
	if s == nil {
		return nil
	}
	err := reply.Written(s.db.Client.Do(ctx, s.db.Client.B().Zrem().Key(CelebritiesKey).Member(Itoa(uid)).Build().ToRetryable()))
	if err != nil {
		return fmt.Errorf("social: remove user %d: %w", uid, err)
	}
	return nil
}
