package entries

import (
	"context"

	"github.com/redis/rueidis"
)

const (
	maxRanges       = 500    // per round trip
	maxRangeEntries = 1000   // entries of a range per round trip
	roundEntries    = 10_000 // approximate entries of all ranges per round trip
)

// Fetch reads ranges and calls each for every entry. A round trip reads about 10,000 entries: a
// few from each of many ranges, then more from the longer ranges. During the calls of each, the
// next round trip is prefetched. Without prefetch, prefetching starts after the second round
// trip, since the caller may need only a few entries.
func (r *Reader) Fetch(ctx context.Context, ranges []Range, prefetch bool, each func(i int, entry string) error) (err error) {
	var open []cursor
	for i, s := range ranges {
		low, high := s.bounds()
		for _, key := range r.keys(s) {
			open = append(open, cursor{i, key.Index, low, high})
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
		var current round
		if ahead != nil {
			current, ahead = <-ahead, nil
		} else {
			current, open = r.round(ctx, open[:min(len(open), maxRanges)]), open[min(len(open), maxRanges):]
		}
		if current.err != nil {
			return current.err
		}
		open = append(current.more, open...)
		if (prefetch || n > 0) && len(open) > 0 {
			next := open[:min(len(open), maxRanges)]
			open = open[len(next):]
			ahead = make(chan round, 1)
			go func(to chan<- round) { to <- r.round(ctx, next) }(ahead)
		}
		for j, entries := range current.entries {
			for _, entry := range entries {
				if err := each(current.cursors[j].rangeIndex, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cursor is the unread remainder of a range in one partition.
type cursor struct {
	rangeIndex     int
	key, low, high string
}

// round is the result of one round trip.
type round struct {
	cursors []cursor
	entries [][]string // of each cursor
	more    []cursor   // cursors with unread entries
	err     error
}

// round reads the next entries of each cursor.
func (r *Reader) round(ctx context.Context, cursors []cursor) round {
	count := min(max(roundEntries/len(cursors), 20), maxRangeEntries)
	commands := make(rueidis.Commands, len(cursors))
	for i, c := range cursors {
		commands[i] = r.Set.Client.B().Zrange().Key(c.key).Min(c.low).Max(c.high).Bylex().Limit(0, int64(count)).Build()
	}
	result := round{cursors: cursors, entries: make([][]string, len(cursors))}
	for i, reply := range r.Set.Client.DoMulti(ctx, commands...) {
		entries, err := reply.AsStrSlice()
		if err != nil {
			result.err = r.Wrap(ctx, err)
			return result
		}
		result.entries[i] = entries
		if len(entries) == count {
			c := cursors[i]
			c.low = "(" + entries[count-1]
			result.more = append(result.more, c)
		}
	}
	return result
}
