package check

import (
	"context"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

// mirrorCheck checks what is stored in two places, in different slots: one is
// authoritative, the other one must agree with it.
type mirrorCheck struct{ *checker }

// pair is one relation in two sorted sets.
type pair struct {
	key, member   string // authoritative
	other, mirror string
	what          string
	sameScore     bool
	ends          bool // the score is an end: afterwards either side can have been removed
}

// like is that a user likes a post.
func like(uid, post int64) pair {
	return pair{
		key: layout.LikersKey(post), member: layout.Itoa(uid), other: layout.LikedKey(uid), mirror: layout.Itoa(post),
		what: fmt.Sprintf("user %d likes post %d", uid, post), sameScore: true,
	}
}

// repost is that a user has reposted a post.
func repost(uid, post int64) pair {
	return pair{
		key: layout.RepostersKey(post), member: layout.Itoa(uid), other: layout.RepostedKey(uid), mirror: layout.Itoa(post),
		what: fmt.Sprintf("user %d has reposted post %d", uid, post),
	}
}

// block is that a user has blocked another.
func block(from, to int64) pair {
	return pair{
		key: layout.BlockedKey(from), member: layout.Itoa(to), other: layout.BlockersKey(to), mirror: layout.Itoa(from),
		what: fmt.Sprintf("user %d has blocked user %d", from, to), sameScore: true, ends: true,
	}
}

// tagFollow is that a user follows a tag.
func tagFollow(uid int64, tag string) pair {
	return pair{
		key: layout.FollowingTagsKey(uid), member: tag, other: layout.TagFollowersKey(tag), mirror: layout.Itoa(uid),
		what: fmt.Sprintf("user %d follows #%s", uid, tag), sameScore: true,
	}
}

// agree reports whether the scores on both sides agree; empty ones are those of
// missing members.
func (c *mirrorCheck) agree(p pair, score, mirrored string) bool {
	if p.ends && !c.inForce(score) && !c.inForce(mirrored) {
		return true
	}
	if score == "" || mirrored == "" || !p.sameScore {
		return (score == "") == (mirrored == "")
	}
	return sameNumber(score, mirrored)
}

// compare reports a mirror that does not agree. A process that died between its two
// writes can have left that.
func (c *mirrorCheck) compare(ctx context.Context, p pair, score, mirrored string) error {
	if c.agree(p, score, mirrored) {
		return nil
	}
	kind := maintain.Stale
	switch "" {
	case score:
		kind = maintain.Dangling
	case mirrored:
		kind = maintain.Missing
	}
	problem := Problem{
		Kind: kind, Key: p.other, Leftover: true,
		Detail: fmt.Sprintf("%s: %q in %s, %q here", p.what, score, p.key, mirrored),
		Repair: fmt.Sprintf("write what %s says", p.key),
	}
	return c.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.align(ctx, p) })
}

// align writes what the authoritative side says to the other one. It reads that side
// again after it has written: the last writer has seen the latest state, as in package
// follow.
func (c *mirrorCheck) align(ctx context.Context, p pair) (bool, error) {
	changed := false
	for {
		before, err := c.scoreOf(ctx, p.key, p.member)
		if err != nil {
			return changed, err
		}
		mirrored, err := c.scoreOf(ctx, p.other, p.mirror)
		if err != nil || c.agree(p, before, mirrored) {
			return changed, err
		}
		score := before
		if !p.sameScore {
			score = layout.Seconds(c.now())
		}
		wrote := false
		if before == "" {
			wrote, err = c.zrem(ctx, p.other, p.mirror)
		} else {
			wrote, err = c.zadd(ctx, p.other, score, p.mirror)
		}
		if err != nil {
			return changed, err
		}
		changed = changed || wrote
	}
}

func (c *checker) scoreOf(ctx context.Context, key, member string) (string, error) {
	return reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Zscore().Key(key).Member(member).Build()))
}
