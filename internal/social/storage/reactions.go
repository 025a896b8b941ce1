package storage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
)

// The scripts are idempotent, so a script can be sent again if its reply was lost.
var (
	//go:embed like.lua
	likeSource string
	likeScript = script.New(likeSource).Retryable()

	//go:embed unlike.lua
	unlikeSource string
	unlikeScript = script.New(unlikeSource).Retryable()
)

// ErrNoPost means that the post does not exist, is deleted, is a repost, or is hidden from the
// user.
var ErrNoPost = errors.New("social: no such post")

// Reactions are likes and bookmarks.
//
// A like is in two sorted sets, both scored by the time of the like (Unix seconds): the set of the
// post (likers:{post:<pid>}), which is authoritative, and the set of the user (liked:<uid>). The
// number of likes is a field of the post. The script that changes the set of the post also sets the
// field to the size of the set, so the two cannot differ.
//
// liked_posts holds the number of likes in the last week, for the posts with the most likes. Each
// number dates from the post's last like or unlike. search.Trends recounts the top posts.
//
// On a single server one script changes all of these. On a Cluster liked:<uid> and liked_posts are
// in other slots, so the write is a repeatable sequence: the caller first records a task, which
// copies the like to liked:<uid> and counts the likes of the post; see posts.Homes.Like. The zero
// value is not usable; see NewReactions.
type Reactions struct {
	client  rueidis.Client
	cluster bool
}

// NewReactions returns the Reactions of a database.
func NewReactions(client rueidis.Client) Reactions {
	return Reactions{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Like makes a user like a post and reports whether the like is new. An existing like keeps its
// time. It returns ErrNoPost if the user cannot like the post. One round trip.
func (s Reactions) Like(ctx context.Context, post, uid int64, at time.Time) (bool, error) {
	n, err := s.run(ctx, likeScript, post, uid, weekBefore(at), strconv.Itoa(maxLikedPosts), likedPostsTTL, Seconds(at)).AsInt64()
	if err != nil {
		return false, wrapReaction(err)
	}
	if n < 0 {
		return false, ErrNoPost
	}
	return n > 0, nil
}

// Unlike removes a like and returns its time, or the zero time if there was none. One round trip.
func (s Reactions) Unlike(ctx context.Context, post, uid int64, now time.Time) (time.Time, error) {
	since, err := reply.Text(s.run(ctx, unlikeScript, post, uid, weekBefore(now)))
	if err != nil {
		return time.Time{}, wrapReaction(err)
	}
	return ParseTime(since), nil
}

// run runs a script on the likes of a post.
func (s Reactions) run(ctx context.Context, change script.Script, post, uid int64, args ...string) rueidis.RedisResult {
	keys := []string{PostKey(post), LikersKey(post), LikedKey(uid), LikedPosts}
	if s.cluster {
		keys = keys[:2]
	}
	return change.RunFenced(ctx, s.client, keys, append([]string{Itoa(uid), Itoa(post)}, args...))
}

const (
	// week is the time for which a like counts in LikedPosts.
	week = 7 * 24 * time.Hour
	// maxLikedPosts limits the size of LikedPosts. The posts with the fewest likes are dropped. If
	// a dropped post is liked again, all its likes of the week are counted.
	maxLikedPosts = 1000
	// likedPostsTTL is the expiry of LikedPosts after its last change, in seconds: a week.
	likedPostsTTL = "604800"
)

// weekBefore returns the earliest time of a like that counts at the given time.
func weekBefore(now time.Time) string { return Seconds(now.Add(-week)) }

// LikesOfWeek returns the number of likes in the last week of each post. One round trip.
func LikesOfWeek(ctx context.Context, client rueidis.Client, now time.Time, posts ...int64) ([]int64, error) {
	cmds := make(rueidis.Commands, len(posts))
	for i, post := range posts {
		cmds[i] = client.B().Zcount().Key(LikersKey(post)).Min(weekBefore(now)).Max("+inf").Build()
	}
	if len(cmds) == 0 {
		return nil, nil
	}
	counts := make([]int64, len(posts))
	for i, res := range client.DoMulti(ctx, cmds...) {
		n, err := res.AsInt64()
		if err != nil && !rediserr.IsWrongType(err) { // a check reports a key of the wrong type
			return nil, wrapReaction(err)
		}
		counts[i] = n
	}
	return counts, nil
}

// PutLikesOfWeek writes the result of LikesOfWeek to LikedPosts. A like in between can be missing
// until the next like, or until the post is counted again. One round trip.
func PutLikesOfWeek(ctx context.Context, client rueidis.Client, posts, counts []int64) error {
	b := client.B()
	unliked, numLiked, add := []string{}, 0, b.Zadd().Key(LikedPosts).ScoreMember()
	for i, post := range posts {
		if counts[i] == 0 {
			unliked = append(unliked, Itoa(post))
			continue
		}
		numLiked, add = numLiked+1, add.ScoreMember(float64(counts[i]), Itoa(post))
	}
	var cmds rueidis.Commands
	if numLiked > 0 {
		cmds = append(rueidis.Commands{add.Build().ToRetryable()}, boundLikedPosts(b)...)
	}
	if len(unliked) > 0 {
		cmds = append(cmds, b.Zrem().Key(LikedPosts).Member(unliked...).Build().ToRetryable())
	}
	if len(cmds) == 0 {
		return nil
	}
	return wrapReaction(reply.Written(client.DoMulti(ctx, cmds...)...))
}

// LikesLoaded returns the commands that count bulk-loaded likes of a post, given the times of the
// likes. The commands can be repeated.
func LikesLoaded(client rueidis.Client, now time.Time, post int64, times []time.Time) rueidis.Commands {
	n := 0
	for _, at := range times {
		if at.After(now.Add(-week)) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	b := client.B()
	add := b.Zadd().Key(LikedPosts).Gt().ScoreMember().ScoreMember(float64(n), Itoa(post)).Build()
	return append(rueidis.Commands{add}, boundLikedPosts(b)...)
}

// boundLikedPosts returns the commands that limit the size of LikedPosts and set its expiry.
func boundLikedPosts(b rueidis.Builder) rueidis.Commands {
	return rueidis.Commands{
		b.Zremrangebyrank().Key(LikedPosts).Start(0).Stop(-maxLikedPosts - 1).Build().ToRetryable(),
		b.Expire().Key(LikedPosts).Seconds(int64(week / time.Second)).Build().ToRetryable(),
	}
}

// wrapReaction adds the context "like" to an error.
func wrapReaction(err error) error {
	if err != nil {
		return fmt.Errorf("social: like: %w", err)
	}
	return nil
}

// Bookmark adds a post to a user's bookmarks. An existing bookmark keeps its time. One round trip.
func (s Reactions) Bookmark(ctx context.Context, post, uid int64, at time.Time) error {
	return s.changeBookmarks(ctx, uid, s.client.B().Zadd().Key(BookmarksKey(uid)).Nx().ScoreMember().
		ScoreMember(float64(at.Unix()), Itoa(post)).Build())
}

// Unbookmark removes a post from a user's bookmarks. One round trip.
func (s Reactions) Unbookmark(ctx context.Context, post, uid int64) error {
	return s.changeBookmarks(ctx, uid, s.client.B().Zrem().Key(BookmarksKey(uid)).Member(Itoa(post)).Build())
}

// changeBookmarks changes the bookmarks of a user. The second command makes sure that the
// invalidation message of the first has arrived.
func (s Reactions) changeBookmarks(ctx context.Context, uid int64, write rueidis.Completed) error {
	res := s.client.DoMulti(ctx, write.ToRetryable(), s.client.B().Exists().Key(BookmarksKey(uid)).Build().ToRetryable())
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: bookmark: %w", err)
	}
	return nil
}
