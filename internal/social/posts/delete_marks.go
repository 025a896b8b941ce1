package posts

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
)

// MirrorRepost makes `reposted` of a user agree with `reposters` of a post, which is authoritative.
// It reads again after writing, so the last writer has seen the latest state.
func MirrorRepost(ctx context.Context, client rueidis.Client, user, post int64) error {
	entry := func() (string, error) {
		return reply.Text(client.Do(ctx, client.B().Zscore().Key(storage.RepostersKey(post)).Member(storage.Itoa(user)).Build()))
	}
	id, err := entry()
	for err == nil {
		b := client.B()
		write := b.Zrem().Key(storage.RepostedKey(user)).Member(storage.Itoa(post)).Build()
		if id != "" {
			at, err := reply.TextOrEmpty(client.Do(ctx, b.Hget().Key(storage.PostPrefix+id).Field("time").Build()))
			if err != nil {
				return err
			}
			since, _ := strconv.ParseInt(at, 10, 64)
			write = b.Zadd().Key(storage.RepostedKey(user)).ScoreMember().ScoreMember(float64(since), storage.Itoa(post)).Build()
		}
		if err = reply.Written(client.Do(ctx, write.ToRetryable())); err != nil {
			return err
		}
		var current string
		if current, err = entry(); err == nil && current == id {
			return nil
		}
		id = current
	}
	return err
}

// pageOfMarks is the number of likes or reposts that are removed at a time.
const pageOfMarks = 100

// deleteReposts deletes the reposts of a deleted post. The post lists a repost until nothing else
// is left of the repost, so a repeated call finds reposts whose deletion a crash interrupted.
func (d *Deletions) deleteReposts(ctx context.Context, post int64) error {
	return d.eachPage(ctx, storage.RepostersKey(post), func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			id, err := storage.ParseScore(page[i+1])
			if err != nil {
				continue // damaged
			}
			repost, err := d.writer.readStub(ctx, id)
			if err == nil && repost.repostOf == post {
				err = d.deleteRepost(ctx, repost)
			}
			if err != nil {
				return err
			}
		}
		return d.dropMarks(ctx, post, storage.RepostersKey(post), "reposts", storage.RepostedPrefix, page)
	})
}

// deleteRepost deletes a repost that its deleted original still lists.
func (d *Deletions) deleteRepost(ctx context.Context, s stub) error {
	s, err := d.makeStub(ctx, s)
	if err != nil {
		return err
	}
	return d.removeOwn(ctx, s)
}

// removeLikes removes a post from the likes of all users.
func (d *Deletions) removeLikes(ctx context.Context, post int64) error {
	return d.eachPage(ctx, storage.LikersKey(post), func(page []string) error {
		return d.dropMarks(ctx, post, storage.LikersKey(post), "likes", storage.LikedPrefix, page)
	})
}

// dropMarks removes a deleted post from the sets of the users in page (user, score, user, score
// ...), and then the users from the post's own set. Code that concurrently copies a mark to a
// user's set checks the post's set afterwards, and so removes the copy.
func (d *Deletions) dropMarks(ctx context.Context, post int64, set, counter, prefix string, page []string) error {
	var cmds rueidis.Commands
	for i := 0; i < len(page); i += 2 {
		cmds = append(cmds, d.client.B().Zrem().Key(prefix+page[i]).Member(storage.Itoa(post)).Build())
	}
	if err := writeAll(ctx, d.client, cmds); err != nil {
		return err
	}
	return d.writer.drop(ctx, post, set, counter, page...)
}

// eachPage calls f with the first members of a sorted set and their scores until f has removed all
// of them. Nothing is added to the set of a deleted post.
func (d *Deletions) eachPage(ctx context.Context, set string, f func(page []string) error) error {
	for {
		scores, err := d.client.Do(ctx, d.client.B().Zrange().Key(set).Min("0").Max(strconv.Itoa(pageOfMarks-1)).Withscores().Build()).AsZScores()
		if err != nil || len(scores) == 0 {
			return err
		}
		page := make([]string, 0, 2*len(scores))
		for _, s := range scores {
			page = append(page, s.Member, strconv.FormatFloat(s.Score, 'f', -1, 64))
		}
		if err := f(page); err != nil || len(scores) < pageOfMarks {
			return err
		}
		if !sleep.For(ctx, pageGap) {
			return ctx.Err()
		}
	}
}
