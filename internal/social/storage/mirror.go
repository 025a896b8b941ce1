package storage

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
)

// SetEntry is a member of a sorted set, which may or may not exist.
type SetEntry struct{ Key, Member string }

// CopyEntry makes a mirror entry agree with the authoritative entry: either both have the same
// score or neither exists. It reads again after writing, so both entries agree once all concurrent
// calls have returned. A crash in between can leave the entries different; repeating the write, or
// the opposite write, repairs that. Three round trips, and two more for each concurrent change.
func CopyEntry(ctx context.Context, client rueidis.Client, authoritative, mirror SetEntry) error {
	return copyEntry(ctx, client, authoritative, mirror, nil)
}

// copyEntry is CopyEntry with additional commands for the mirror, sent along with the first write.
func copyEntry(ctx context.Context, client rueidis.Client, authoritative, mirror SetEntry, extra rueidis.Commands) error {
	score, err := EntryScore(ctx, client, authoritative)
	if err != nil {
		return err
	}
	for {
		b := client.B()
		write := b.Zrem().Key(mirror.Key).Member(mirror.Member).Build()
		if score != "" {
			write = b.Arbitrary("ZADD").Keys(mirror.Key).Args(score, mirror.Member).Build()
		}
		// The last command makes sure that the invalidation messages of the others have arrived.
		cmds := append(extra, write.ToRetryable(), b.Exists().Key(mirror.Key).Build().ToRetryable())
		if err := reply.FirstError(client.DoMulti(ctx, cmds...)); err != nil {
			return err
		}
		extra = nil
		current, err := EntryScore(ctx, client, authoritative)
		if err != nil || current == score {
			return err
		}
		score = current
	}
}

// EntryScore returns the score of an entry as the server writes it, or an empty string if the entry
// does not exist. One round trip.
func EntryScore(ctx context.Context, client rueidis.Client, entry SetEntry) (string, error) {
	return reply.Text(client.Do(ctx, client.B().Zscore().Key(entry.Key).Member(entry.Member).Build()))
}
