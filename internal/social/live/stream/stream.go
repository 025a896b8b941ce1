// Package stream implements the stream `live`: the published posts, in the order in which they
// reached their timelines. Each process follows the stream to announce new posts on open pages.
//
// An entry is written once the timelines have the post, and again when an interrupted fan-out is
// finished, so readers must ignore repeated posts. About 10,000 of the newest entries are kept.
package stream

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/notify"
	"retwis/internal/social/storage"
)

// ID is the ID of an entry.
type ID = notify.ID

// ParseID parses an ID.
func ParseID(text string) (ID, bool) { return notify.ParseID(text) }

// Entry is one published post.
type Entry struct {
	ID           ID
	Post, Author int64
	Root         int64    // the first post of the conversation; 0 if the post is not a reply
	To           int64    // the author of the parent or original; 0 if there is neither
	RepostOf     int64    // the original; 0 if the post is not a repost
	Tags         []string // may be nil
}

// MaxLen is the approximate number of entries kept.
const MaxLen = 10_000

// AddCommand returns the command that adds an entry. It ignores e.ID. The command is not retried.
func AddCommand(client rueidis.Client, e Entry) rueidis.Completed {
	cmd := client.B().Xadd().Key(storage.Live).Maxlen().Almost().Threshold(storage.Itoa(MaxLen)).Id("*").FieldValue().
		FieldValue("post", storage.Itoa(e.Post)).
		FieldValue("author", storage.Itoa(e.Author)).
		FieldValue("root", storage.Itoa(e.Root)).
		FieldValue("tags", strings.Join(e.Tags, " "))
	if e.To != 0 {
		cmd = cmd.FieldValue("to", storage.Itoa(e.To))
	}
	if e.RepostOf != 0 {
		cmd = cmd.FieldValue("of", storage.Itoa(e.RepostOf))
	}
	return cmd.Build()
}

// parse parses an entry; ok is false if it is damaged.
func parse(raw rueidis.XRangeEntry) (e Entry, ok bool) {
	if e.ID, ok = ParseID(raw.ID); !ok {
		return e, false
	}
	number := func(field string) int64 {
		n, _ := storage.ParseID(raw.FieldValues[field]) // missing or 0
		return n
	}
	e.Post, e.Author, e.Root, e.To, e.RepostOf = number("post"), number("author"), number("root"), number("to"), number("of")
	if tags := raw.FieldValues["tags"]; tags != "" {
		e.Tags = strings.Fields(tags)
	}
	return e, e.Post != 0 && e.Author != 0
}

// batch limits the number of entries per read.
const batch = 1000

// Newest returns the newest n entries, oldest first, without damaged ones. last is the ID of the
// last entry, even if that entry is damaged. Newest takes one round trip per thousand entries.
func Newest(ctx context.Context, client rueidis.Client, n int) (entries []Entry, last ID, err error) {
	end := "+"
	for n > 0 {
		raw, err := client.Do(ctx, client.B().Xrevrange().Key(storage.Live).End(end).Start("-").
			Count(int64(min(n, batch))).Build()).AsXRange()
		if err != nil {
			return nil, ID{}, fmt.Errorf("social: read the stream of posts: %w", err)
		}
		for _, entry := range raw {
			if id, ok := ParseID(entry.ID); ok && last.Less(id) {
				last = id
			}
			if e, ok := parse(entry); ok {
				entries = append(entries, e)
			}
			end = "(" + entry.ID
		}
		if n -= len(raw); len(raw) < batch {
			break
		}
	}
	for i, j := 0, len(entries)-1; i < j; i, j = i+1, j-1 {
		entries[i], entries[j] = entries[j], entries[i]
	}
	return entries, last, nil
}

// Next waits up to wait for entries after an ID. last is the ID of the last entry; if there are no
// entries, last is after. The command uses a separate connection.
func Next(ctx context.Context, client rueidis.Client, after ID, wait time.Duration) (entries []Entry, last ID, err error) {
	res := client.Do(ctx, client.B().Xread().Count(batch).Block(wait.Milliseconds()).Streams().
		Key(storage.Live).Id(after.String()).Build())
	streams, err := res.AsXRead()
	if rueidis.IsRedisNil(err) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, fmt.Errorf("social: follow the stream of posts: %w", err)
	}
	last = after
	for _, entry := range streams[storage.Live] {
		if id, ok := ParseID(entry.ID); ok {
			last = id
		}
		if e, ok := parse(entry); ok {
			entries = append(entries, e)
		}
	}
	return entries, last, nil
}
