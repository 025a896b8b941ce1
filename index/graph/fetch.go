package graph

import (
	"context"

	"github.com/redis/rueidis"
)

const (
	batchRows    = 1000   // rows that pass a step together
	roundEntries = 10_000 // approximate entries per round trip
)

// fetch reads ranges and passes on their entries, about 10,000 a round trip: a few of
// each of many ranges, then more of those that have more. While it passes on the entries
// of one round trip it prefetches the next; without prefetch, only from the second round
// trip on, since the caller may need few entries.
func (st *store) fetch(ctx context.Context, spans []span, prefetch bool, each func(i int, entry string) error) (err error) {
	var open []cursor
	for i, s := range spans {
		low, high := s.bounds()
		for _, key := range st.keys(s) {
			open = append(open, cursor{i, key, low, high})
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ahead chan round
	defer func() {
		cancel()
		if ahead != nil {
			<-ahead
		}
	}()
	for n := 0; len(open) > 0 || ahead != nil; n++ {
		var now round
		if ahead != nil {
			now, ahead = <-ahead, nil
		} else {
			now, open = st.round(ctx, open[:min(len(open), readSize)]), open[min(len(open), readSize):]
		}
		if now.err != nil {
			return now.err
		}
		open = append(now.more, open...)
		if (prefetch || n > 0) && len(open) > 0 {
			next := open[:min(len(open), readSize)]
			open = open[len(next):]
			ahead = make(chan round, 1)
			go func(to chan<- round) { to <- st.round(ctx, next) }(ahead)
		}
		for j, entries := range now.entries {
			for _, entry := range entries {
				if err := each(now.cursors[j].span, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cursor is the unread rest of a range in one partition.
type cursor struct {
	span           int // index of the range
	key, low, high string
}

// round is the result of one round trip.
type round struct {
	cursors []cursor
	entries [][]string // of each cursor
	more    []cursor   // that are not at their end
	err     error
}

func (st *store) round(ctx context.Context, cursors []cursor) round {
	count := min(max(roundEntries/len(cursors), 20), batchRows)
	commands := make(rueidis.Commands, len(cursors))
	for i, c := range cursors {
		commands[i] = st.set.Client.B().Zrange().Key(c.key).Min(c.low).Max(c.high).Bylex().Limit(0, int64(count)).Build()
	}
	r := round{cursors: cursors, entries: make([][]string, len(cursors))}
	for i, reply := range st.set.Client.DoMulti(ctx, commands...) {
		entries, err := reply.AsStrSlice()
		if err != nil {
			r.err = st.wrap(ctx, err)
			return r
		}
		r.entries[i] = entries
		if len(entries) == count {
			c := cursors[i]
			c.low = "(" + entries[count-1]
			r.more = append(r.more, c)
		}
	}
	return r
}
