package storage

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
)

// KnownCelebrities maps each author whose posts are merged to the ID of the first merged post. It
// is immutable; a change of the set produces a new value.
type KnownCelebrities struct{ First map[int64]int64 }

// Celebrities are the authors who have so many followers that their posts are not pushed to the
// home timelines of those followers. Their posts are merged into a home timeline when the timeline
// is read; see package timeline.
//
// The sorted set `celebrities` holds each such author, scored by the ID of the first post that is
// merged (Twitter and Bluesky treat their largest accounts the same way). An author is added with
// the first post or repost after the number of followers has exceeded a limit, and stays until the
// account is deleted. Celebrities keeps the set in memory.
//
// Pushing a post to home timelines anyway is always correct, because readers drop the duplicate. So
// a process that has not yet read a new celebrity does no harm. Not pushing a post is correct only
// if its ID is not below the score in `celebrities`, which [Celebrities.Decide] reads.
//
// All of this applies to a Cluster only. On a single server Celebrities is nil and contains nobody.
// Celebrities is safe for concurrent use.
type Celebrities struct {
	db    Database
	above int64 // authors with more followers are added

	known *Kept[*KnownCelebrities]

	onWrite func(author int64) // may be nil
}

// NewCelebrities returns the Celebrities of a database, or nil on a single server. An author with
// more than above followers is added.
func NewCelebrities(db Database, above int64) *Celebrities {
	if !db.Cluster {
		return nil
	}
	s := &Celebrities{db: db, above: above}
	s.known = NewKept(db, CelebritiesKey, s.read)
	return s
}

// OnWrite sets the function that is called with the author of each post that this process writes or
// deletes. Call it before the first use.
func (s *Celebrities) OnWrite(wrote func(author int64)) {
	if s != nil {
		s.onWrite = wrote
	}
}

// Wrote records that this process has written or deleted a post of an author.
func (s *Celebrities) Wrote(author int64) {
	if s != nil && s.onWrite != nil {
		s.onWrite(author)
	}
}

// Load returns the known celebrities. It reads the set if it has changed or the context is fresh.
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

// read reads the set, from the client's cache if the context allows that.
func (s *Celebrities) read(ctx context.Context) (*KnownCelebrities, error) {
	scores, err := reply.OrEmpty(s.db.Read(ctx, s.db.Client.B().Zrange().Key(CelebritiesKey).Min("0").Max("-1").Withscores().Cache()).AsZScores())
	if err != nil {
		return nil, fmt.Errorf("social: read celebrities: %w", err)
	}
	known := &KnownCelebrities{First: make(map[int64]int64, len(scores))}
	for _, score := range scores {
		if uid, ok := ParseID(score.Member); ok && score.Score >= 1 && score.Score <= MaxID {
			known.First[uid] = int64(score.Score)
		}
	}
	return known, nil
}

// Commands returns the reads that [Celebrities.Decide] needs, for a pipeline of the caller.
func (s *Celebrities) Commands(author int64) rueidis.Commands {
	b := s.db.Client.B()
	return rueidis.Commands{
		b.Zscore().Key(CelebritiesKey).Member(Itoa(author)).Build(),
		b.Zcard().Key(FollowersKey(author)).Build(),
	}
}

// Decide reports whether a post or repost is merged when home timelines are read, rather than
// pushed to the author's followers. res are the replies to Commands. If isNew is set, an author
// with too many followers is added with this post, which takes one more round trip.
//
// The ID of the post is assigned before the call. So no post is missing, whatever other processes
// do concurrently: the post is merged if its ID is not below the score in `celebrities`, and pushed
// otherwise. Decide does not use the set in memory, which can be wrong after a failover.
func (s *Celebrities) Decide(ctx context.Context, author, post int64, isNew bool, res []rueidis.RedisResult) (bool, error) {
	first, err := firstMerged(res[0])
	if err != nil {
		return false, err
	}
	if first != 0 {
		return post >= first, nil
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
	first, err = firstMerged(res[1]) // another process may have added the author first
	return err == nil && first != 0 && post >= first, err
}

// firstMerged parses the ID of an author's first merged post; 0 if there is none.
func firstMerged(res rueidis.RedisResult) (int64, error) {
	text, err := reply.TextOrEmpty(res)
	if err != nil {
		return 0, fmt.Errorf("social: read celebrities: %w", err)
	}
	if text == "" {
		return 0, nil
	}
	if id, err := ParseScore(text); err == nil {
		return id, nil
	}
	return 0, nil // a check reports a corrupt score
}

// First returns the ID of an author's first merged post, bypassing all caches, or 0 if there is
// none. One round trip.
func (s *Celebrities) First(ctx context.Context, author int64) (int64, error) {
	if s == nil {
		return 0, nil
	}
	return firstMerged(s.db.Client.Do(ctx, s.db.Client.B().Zscore().Key(CelebritiesKey).Member(Itoa(author)).Build()))
}

// Remove removes a deleted account. Repeating the call changes nothing.
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
