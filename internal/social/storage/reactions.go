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

// Each script may be sent again when its reply was lost: repeating it changes
// nothing.
var (
	//go:embed like.lua
	likeSource string
	likeScript = script.New(likeSource).Retryable()

	//go:embed unlike.lua
	unlikeSource string
	unlikeScript = script.New(unlikeSource).Retryable()
)

// ErrNoPost: there is no such post, or it is deleted or a repost.
var ErrNoPost = errors.New("social: no such post")

// Reactions are what users do with posts: likes and bookmarks.
//
// A like is in two sorted sets, both scored by its time (unix seconds): the post's
// (likers:{post:<pid>}), which is authoritative, and the user's (liked:<uid>). The number of
// likes is a field of the post, set from the size of the first set by the script that changes
// it, so it cannot differ.
//
// On a single server one script changes all three. On a Cluster liked:<uid> is in another
// slot, so the write is a sequence that can be repeated: the caller notes it as a task before,
// which copies the like to liked:<uid>; see posts.Homes.Like. Made by NewReactions.
type Reactions struct {
	client  rueidis.Client
	cluster bool
}

// NewReactions returns the likes and bookmarks of a database.
func NewReactions(client rueidis.Client) Reactions {
	return Reactions{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Like makes a user like a post and reports whether that is new. A like that exists
// keeps its time. It returns ErrNoPost where there is no such post. One round trip.
func (s Reactions) Like(ctx context.Context, post, uid int64, at time.Time) (bool, error) {
	n, err := s.run(ctx, likeScript, post, uid, Seconds(at)).AsInt64()
	if err != nil {
		return false, wrapReaction(err)
	}
	if n < 0 {
		return false, ErrNoPost
	}
	return n > 0, nil
}

// Unlike takes back a like and returns its time, the zero time where there was none.
// One round trip.
func (s Reactions) Unlike(ctx context.Context, post, uid int64) (time.Time, error) {
	since, err := reply.Text(s.run(ctx, unlikeScript, post, uid))
	if err != nil {
		return time.Time{}, wrapReaction(err)
	}
	return ParseTime(since), nil
}

// run runs a script on the likes of a post.
func (s Reactions) run(ctx context.Context, run script.Script, post, uid int64, more ...string) rueidis.RedisResult {
	keys := []string{PostKey(post), LikersKey(post), LikedKey(uid)}
	if s.cluster {
		keys = keys[:2]
	}
	return run.RunFenced(ctx, s.client, keys, append([]string{Itoa(uid), Itoa(post)}, more...))
}

func wrapReaction(err error) error {
	if err != nil {
		return fmt.Errorf("social: like: %w", err)
	}
	return nil
}

// Bookmark adds a post to a user's bookmarks. A bookmark that exists keeps its time.
// One round trip.
func (s Reactions) Bookmark(ctx context.Context, post, uid int64, at time.Time) error {
	return s.saved(ctx, uid, s.client.B().Zadd().Key(BookmarksKey(uid)).Nx().ScoreMember().
		ScoreMember(float64(at.Unix()), Itoa(post)).Build())
}

// Unbookmark removes a post from a user's bookmarks. One round trip.
func (s Reactions) Unbookmark(ctx context.Context, post, uid int64) error {
	return s.saved(ctx, uid, s.client.B().Zrem().Key(BookmarksKey(uid)).Member(Itoa(post)).Build())
}

// saved changes the bookmarks of a user. The second command waits for the
// invalidation message of the first.
func (s Reactions) saved(ctx context.Context, uid int64, write rueidis.Completed) error {
	res := s.client.DoMulti(ctx, write.ToRetryable(), s.client.B().Exists().Key(BookmarksKey(uid)).Build().ToRetryable())
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: bookmark: %w", err)
	}
	return nil
}
