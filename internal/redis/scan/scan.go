// Package scan reads large keys and keyspaces of Redis in bounded steps, while they are in
// use: SCAN on every master, HSCAN, SSCAN and ZSCAN on one key. It merges the ordered
// sequences of several partitions, and encodes positions as opaque cursors.
//
// As in Redis, an element that is there during a whole scan is seen, and may be seen
// twice; one that is added or removed meanwhile may be seen or not. In Redis that ends
// where a server restarts, another one takes its place, or a slot of a Cluster moves. Here
// it holds then, too, for users who have the rights to INFO, EVAL and CLUSTER NODES.
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
	// Count is the approximate number of keys that the server passes in a step. Required.
	Count int
	// Timeout bounds each step: a node of a Cluster can be gone for good. 0: only ctx does.
	Timeout time.Duration
}

// Page is one step of a scan of the keyspace.
type Page struct {
	Keys []string
	// Seen is about how many keys the server has passed in this step.
	Seen int
}

// Keys yields the keys of all masters that match, in pages. It fails where one of them
// cannot be reached. A key can move to a master that was read before, and a server that
// was restarted has its keys in another order: masters that were restarted or given slots
// meanwhile are read again, until that has ended.
func Keys(ctx context.Context, client rueidis.Client, p Pattern) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		masters, state, err := p.masters(ctx, client)
		for again := false; err == nil && len(masters) > 0; again = true {
			for _, master := range masters {
				for page, err := range Server(ctx, master.Client, p) {
					if !yield(page, err) || err != nil {
						return
					}
				}
			}
			before := state
			masters, state, err = p.masters(ctx, client)
			masters = slices.DeleteFunc(masters, func(m nodes.Master) bool {
				return state == nil || state.IsSame(m, before) && (again || !state.Importing(m))
			})
		}
		if err != nil {
			yield(Page{}, err)
		}
	}
}

// masters returns the masters, with their slots and the ids of their processes; nothing of
// the latter where a user may not ask.
func (p Pattern) masters(ctx context.Context, client rueidis.Client) ([]nodes.Master, nodes.Slots, error) {
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	masters, err := nodes.Masters(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	state, err := nodes.OwnSlots(ctx, masters)
	for _, m := range masters {
		var id string
		if err == nil {
			id, err = nodes.RunID(ctx, m.Client)
			state[m.Address] += " in " + id
		}
	}
	if rediserr.Of(err) == rediserr.Denied {
		state, err = nil, nil
	}
	return masters, state, err
}

// Server yields the keys of one server that match, in pages.
func Server(ctx context.Context, server rueidis.Client, p Pattern) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			step, err := p.step(ctx, server, cursor)
			if !yield(Page{Keys: step.Elements, Seen: p.Count}, err) || err != nil {
				return
			}
			cursor = step.Cursor
		}
	}
}

func (p Pattern) step(ctx context.Context, server rueidis.Client, cursor uint64) (rueidis.ScanEntry, error) {
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	return server.Do(ctx, p.command(server, cursor)).AsScanEntry()
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

// Hash yields fields and values of a hash in turn, in pages of at most count fields.
func Hash(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, 2*count, func(cursor uint64) rueidis.Completed {
		return client.B().Hscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// SortedSet yields members and scores of a sorted set in turn, in pages of at most
// count members.
func SortedSet(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, 2*count, func(cursor uint64) rueidis.Completed {
		return client.B().Zscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// Set yields the members of a set, in pages of at most count.
func Set(ctx context.Context, client rueidis.Client, key string, count int) iter.Seq2[[]string, error] {
	return pages(ctx, client, key, count, func(cursor uint64) rueidis.Completed {
		return client.B().Sscan().Key(key).Cursor(cursor).Count(int64(count)).Build()
	})
}

// pages runs the steps of a scan. The server sends a small key in one piece, whatever
// COUNT says, so a reply is divided. A large key is read again if another process has it at
// the end: there its elements are in another order.
func pages(ctx context.Context, client rueidis.Client, key string, most int, step func(cursor uint64) rueidis.Completed) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for process, isLarge, cursor := "", false, uint64(0); ; {
			reply, err := client.Do(ctx, step(cursor)).AsScanEntry()
			if err == nil && reply.Cursor != 0 && !isLarge {
				isLarge = true
				if process, err = processOf(ctx, client, key); err == nil {
					continue // the first step may have been in another process
				}
			}
			if err != nil {
				yield(nil, fmt.Errorf("key %q: %w", key, err))
				return
			}
			for page := range slices.Chunk(reply.Elements, most) {
				if !yield(page, nil) {
					return
				}
			}
			if cursor = reply.Cursor; cursor != 0 {
				continue
			}
			if !isLarge {
				return
			}
			before := process
			if process, err = processOf(ctx, client, key); err != nil {
				yield(nil, fmt.Errorf("key %q: %w", key, err))
				return
			}
			if process == before {
				return
			}
		}
	}
}

// processOf returns the id of the process that has a key; nothing where a user may not ask.
func processOf(ctx context.Context, client rueidis.Client, key string) (string, error) {
	const ask = "return redis.call('INFO', 'server'):match('run_id:(%x+)') or ''"
	id, err := client.Do(ctx, client.B().Eval().Script(ask).Numkeys(1).Key(key).Build()).ToString()
	if rediserr.Of(err) == rediserr.Denied {
		return "", nil
	}
	return id, err
}

// Literal returns text as a glob pattern that matches only the text.
func Literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
