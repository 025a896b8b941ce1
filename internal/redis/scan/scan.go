// Package scan reads large keys and keyspaces of Redis in bounded steps while they are in use:
// SCAN on every master; HSCAN, SSCAN and ZSCAN on one key. It merges the ordered sequences of
// several partitions, and encodes positions as opaque cursors.
//
// As in Redis, an element that exists during the whole scan is returned, possibly twice; an element
// that is added or removed meanwhile may be returned or not. Redis does not guarantee this when a
// server restarts or is replaced, or a slot of a Cluster moves. This package does, for users with
// permission for INFO, EVAL and CLUSTER NODES.
package scan

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
	"retwis/internal/redis/rediserr"
)

// Pattern selects the keys of a scan.
type Pattern struct {
	Match string // glob pattern; empty: all keys
	Type  string // "hash", "zset", …; empty: any
	// Count is the approximate number of keys that the server examines per step. Required.
	Count int
	// Timeout limits each step, because a node of a Cluster can be gone for good. 0: no limit
	// except ctx.
	Timeout time.Duration
}

// Page is one step of a scan of the keyspace.
type Page struct {
	Keys []string
	// Seen is the approximate number of keys that the server has examined in this step.
	Seen int
}

// Keys yields the matching keys of all masters, in pages. It fails if a master cannot be reached.
// A key can move to a master that was read before: masters that received slots meanwhile are read
// again, until no more slots move.
func Keys(ctx context.Context, client rueidis.Client, p Pattern) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		masters, slots, err := p.masters(ctx, client)
		for reread := false; err == nil && len(masters) > 0; reread = true {
			for _, master := range masters {
				for page, err := range Server(ctx, master.Client, p) {
					if !yield(page, err) || err != nil {
						return
					}
				}
			}
			before := slots
			masters, slots, err = p.masters(ctx, client)
			masters = slices.DeleteFunc(masters, func(m nodes.Master) bool {
				return slots == nil || slots.IsSame(m, before) && (reread || !slots.Importing(m))
			})
		}
		if err != nil {
			yield(Page{}, err)
		}
	}
}

// masters returns the masters and their slots. The slots are nil if the user lacks the permission.
func (p Pattern) masters(ctx context.Context, client rueidis.Client) ([]nodes.Master, nodes.Slots, error) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	masters, err := nodes.Masters(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	slots, err := nodes.OwnSlots(ctx, masters)
	if rediserr.Of(err) == rediserr.Denied {
		slots, err = nil, nil
	}
	return masters, slots, err
}

// Server yields the matching keys of one server, in pages.
func Server(ctx context.Context, server rueidis.Client, p Pattern) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		step := func(cursor uint64) (rueidis.ScanEntry, error) {
			ctx, cancel := p.bounded(ctx)
			defer cancel()
			return server.Do(ctx, p.command(server, cursor)).AsScanEntry()
		}
		process := func() (string, error) {
			ctx, cancel := p.bounded(ctx)
			defer cancel()
			return idOf(nodes.RunID(ctx, server))
		}
		for reply, err := range steps(step, process) {
			if !yield(Page{Keys: reply.Elements, Seen: p.Count}, err) {
				return
			}
		}
	}
}

// bounded returns a context for one command.
func (p Pattern) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, p.Timeout)
}

func (p Pattern) command(server rueidis.Client, cursor uint64) rueidis.Completed {
	match := p.Match
	if match == "" {
		match = "*"
	}
	scan := server.B().Scan().Cursor(cursor).Match(match).Count(int64(p.Count))
	if p.Type == "" {
		return scan.Build()
	}
	return scan.Type(p.Type).Build()
}

// Hash yields alternating fields and values of a hash, in pages of at most count fields.
func Hash(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, 2*count, func(cursor uint64) rueidis.Completed {
		return client.B().Hscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// SortedSet yields alternating members and scores of a sorted set, in pages of at most count
// members.
func SortedSet(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, 2*count, func(cursor uint64) rueidis.Completed {
		return client.B().Zscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// Set yields the members of a set, in pages of at most count members.
func Set(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, count, func(cursor uint64) rueidis.Completed {
		return client.B().Sscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// pages runs a scan of a key. The server returns a small key in one piece, regardless of COUNT, so
// pages splits the reply into pages of at most size elements.
func pages(ctx context.Context, client rueidis.Client, key string, size int, command func(cursor uint64) rueidis.Completed) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		step := func(cursor uint64) (rueidis.ScanEntry, error) {
			return client.Do(ctx, command(cursor)).AsScanEntry()
		}
		process := func() (string, error) { // ID of the server process that has the key
			const runID = "return redis.call('INFO', 'server'):match('run_id:(%x+)') or ''"
			return idOf(client.Do(ctx, client.B().Eval().Script(runID).Numkeys(1).Key(key).Build()).ToString())
		}
		for reply, err := range steps(step, process) {
			if err != nil {
				yield(nil, fmt.Errorf("key %q: %w", key, err))
				return
			}
			for page := range slices.Chunk(reply.Elements, size) {
				if !yield(page, nil) {
					return
				}
			}
		}
	}
}

// steps runs the steps of a scan. It repeats all steps if a different server process answers at the
// end: in that process the elements are in another order, and a cursor skips some of them. A
// single-step scan does not ask for the process.
func steps(step func(cursor uint64) (rueidis.ScanEntry, error), process func() (string, error)) iter.Seq2[rueidis.ScanEntry, error] {
	return func(yield func(rueidis.ScanEntry, error) bool) {
		first, err := step(0)
		if err != nil || first.Cursor == 0 {
			yield(first, err)
			return
		}
		id, err := process() // the first step may have run in another process, and is repeated
		for restarted := true; restarted && err == nil; {
			for cursor, more := uint64(0), true; more; more = cursor != 0 {
				reply, err := step(cursor)
				if !yield(reply, err) || err != nil {
					return
				}
				cursor = reply.Cursor
			}
			before := id
			id, err = process()
			restarted = id != before
		}
		if err != nil {
			yield(rueidis.ScanEntry{}, err)
		}
	}
}

// idOf returns the ID of a server process, or "" if the user lacks the permission.
func idOf(id string, err error) (string, error) {
	if rediserr.Of(err) == rediserr.Denied {
		return "", nil
	}
	return id, err
}

// Literal returns text as a glob pattern that matches only that text.
func Literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
