// Package mirror copies an entry of one sorted set to another, on servers that no
// script can span: of a fact that two keys hold, one is authoritative and the other
// follows it.
package mirror

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/social/reply"
)

// Entry is a member of a sorted set, which may be there or not.
type Entry struct{ Key, Member string }

// Copy makes an entry agree with the authoritative one: the same score, or neither is
// there. It reads again after it has written: the last writer has seen the latest
// state, so however many processes write at once, both agree when all have returned.
// A crash in between can leave them different; repeating the write, or its opposite,
// repairs that. Three round trips, and two more for each change meanwhile.
func Copy(ctx context.Context, client rueidis.Client, authoritative, mirror Entry) error {
	score, err := Score(ctx, client, authoritative)
	if err != nil {
		return err
	}
	for {
		b := client.B()
		write := b.Zrem().Key(mirror.Key).Member(mirror.Member).Build()
		if score != "" {
			write = b.Arbitrary("ZADD").Keys(mirror.Key).Args(score, mirror.Member).Build()
		}
		// The second command waits for the invalidation messages of the first.
		res := client.DoMulti(ctx, write.ToRetryable(), b.Exists().Key(mirror.Key).Build().ToRetryable())
		if err := reply.FirstError(res); err != nil {
			return err
		}
		again, err := Score(ctx, client, authoritative)
		if err != nil || again == score {
			return err
		}
		score = again
	}
}

// Score returns the score of an entry as the server writes it, empty where it is not
// there. One round trip.
func Score(ctx context.Context, client rueidis.Client, entry Entry) (string, error) {
	return reply.Text(client.Do(ctx, client.B().Zscore().Key(entry.Key).Member(entry.Member).Build()))
}
