package posts

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// maxPending limits the number of unfinished tasks of all kinds that are read. Thousands of imports
// and emails can wait for their limits. The server takes about a millisecond to read so many tasks.
const maxPending = 10_000

// Pushing reports whether part of the audience of a post has yet to get the post. If there are more
// than maxPending tasks, it reports true. One round trip.
func (e *Engine) Pushing(ctx context.Context, post int64) (bool, error) {
	members, err := reply.OrEmpty(e.client.Do(ctx, e.client.B().Zrange().Key(storage.Tasks).Min("0").Max(storage.Itoa(maxPending)).Rev().Build()).AsStrSlice())
	if err != nil {
		return false, err
	}
	isPart := func(member string) bool {
		kind, argument, _ := strings.Cut(member, ":")
		if kind != pushKind && kind != pushLongKind {
			return false
		}
		s, err := parseSegment(argument)
		return err == nil && s.post == post
	}
	return len(members) > maxPending || slices.ContainsFunc(members, isPart), nil
}

// isClaimed reports whether the fan-out of a post is unfinished.
func isClaimed(ctx context.Context, client rueidis.Client, s stub) (bool, error) {
	return Claimed(client.Do(ctx, ClaimCommand(client, s.id, s.author, s.time)))
}

// ClaimCommand returns the command that reads whether the fan-out of a post is unfinished. Claimed
// parses the reply.
func ClaimCommand(client rueidis.Client, post, author int64, time string) rueidis.Completed {
	return client.B().Zmscore().Key(storage.Tasks).Member(Member(post, author, time)).Build()
}

// Claimed parses the reply to a ClaimCommand.
func Claimed(res rueidis.RedisResult) (bool, error) {
	claims, err := reply.OrEmpty(res.ToArray())
	return slices.ContainsFunc(claims, func(claim rueidis.RedisMessage) bool { return !claim.IsNil() }), err
}
