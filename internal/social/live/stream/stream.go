// Package stream is the stream `live`: which posts were published, in the order in
// which their timelines had them. Each process follows it, so that its pages show
// that there are new posts.
//
// An entry is written once the timelines have the post, and again when an interrupted
// fan-out is finished: readers count a post once. The newest 10,000 or so are kept.
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

// ID is the id of an entry.
type ID = notify.ID

// ParseID reads an id.
func ParseID(text string) (ID, bool) { return notify.ParseID(text) }

// Entry is one published post.
type Entry struct {
	ID           ID
	Post, Author int64
	Root         int64    // the first post of its conversation; 0 for no reply
	To           int64    // the author of the post that it replies to or repeats; 0 for neither
	Of           int64    // the post that it repeats; 0 for no repost
	Tags         []string // nil for none
}

// MaxLen is about how many entries are kept.
const MaxLen = 10_000

// AddCommand adds an entry; its ID is ignored. It is not sent twice.
func AddCommand(client rueidis.Client, e Entry) rueidis.Completed {
	cmd := client.B().Xadd().Key(storage.Live).Maxlen().Almost().Threshold(storage.Itoa(MaxLen)).Id("*").FieldValue().
		FieldValue("post", storage.Itoa(e.Post)).
		FieldValue("author", storage.Itoa(e.Author)).
		FieldValue("root", storage.Itoa(e.Root)).
		FieldValue("tags", strings.Join(e.Tags, " "))
	if e.To != 0 {
		cmd = cmd.FieldValue("to", storage.Itoa(e.To))
	}
	if e.Of != 0 {
		cmd = cmd.FieldValue("of", storage.Itoa(e.Of))
	}
	return cmd.Build()
}

// parse reads an entry; ok is false for one that is damaged.
func parse(raw rueidis.XRangeEntry) (e Entry, ok bool) {
	if e.ID, ok = ParseID(raw.ID); !ok {
		return e, false
	}
	number := func(field string) int64 {
		n, _ := storage.ParseID(raw.FieldValues[field]) // missing or 0
		return n
	}
	e.Post, e.Author, e.Root, e.To, e.Of = number("post"), number("author"), number("root"), number("to"), number("of")
	if tags := raw.FieldValues["tags"]; tags != "" {
		e.Tags = strings.Fields(tags)
	}
	return e, e.Post != 0 && e.Author != 0
}

// batch bounds how many entries are read at a time.
const batch = 1000

// Newest returns the newest n entries, the oldest first, and the id of the last one,
// damaged ones included. One round trip for each thousand.
func Newest(ctx context.Context, client rueidis.Client, n int) (entries []Entry, last ID, err error) {
	end := "+"
	for n > 0 {
		raw, err := client.Do(ctx, client.B().Xrevrange().Key(storage.Live).End(end).Start("-").
			Count(int64(min(n, batch))).Build()).AsXRange()
		if err != nil {
			return nil, ID{}, fmt.Errorf("social: read the stream of posts: %w", err)
		}
		for _, one := range raw {
			if id, ok := ParseID(one.ID); ok && last.Less(id) {
				last = id
			}
			if e, ok := parse(one); ok {
				entries = append(entries, e)
			}
			end = "(" + one.ID
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

// Next waits for entries after an id, for so long at most, and returns them with the
// id of the last one; the id itself where there were none. The command takes a
// separate connection.
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
	for _, one := range streams[storage.Live] {
		if id, ok := ParseID(one.ID); ok {
			last = id
		}
		if e, ok := parse(one); ok {
			entries = append(entries, e)
		}
	}
	return entries, last, nil
}
