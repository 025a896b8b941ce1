package entries

import (
	"context"

	"github.com/redis/rueidis"
)

const (
	maxRanges    = 500    // per round trip
	maxEach      = 1000   // entries of a range per round trip
	roundEntries = 10_000 // approximate entries of all ranges per round trip
)

// Fetch reads ranges and calls each with their entries, about 10,000 per round trip: a few of
// each of many ranges, then more of the longer ones. While it passes on the entries of one
// round trip it prefetches the next. Without prefetch, that starts with the second round trip,
// since the caller may need only few entries.
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
				if err := each(current.cursors[j].at, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cursor is the unread rest of a range in one partition.
type cursor struct {
	at             int // index of the range
	key, low, high string
}

// round is the result of one round trip.
type round struct {
	cursors []cursor
	entries [][]string // of each cursor
	more    []cursor   // cursors that are not at their end
	err     error
}

func (r *Reader) round(ctx context.Context, cursors []cursor) round {
	count := min(max(roundEntries/len(cursors), 20), maxEach)
	commands := make(rueidis.Commands, len(cursors))
	for i, c := range cursors {
		commands[i] = r.Set.Client.B().Zrange().Key(c.key).Min(c.low).Max(c.high).Bylex().Limit(0, int64(count)).Build()
	}
	done := round{cursors: cursors, entries: make([][]string, len(cursors))}
	for i, reply := range r.Set.Client.DoMulti(ctx, commands...) {
		entries, err := reply.AsStrSlice()
		if err != nil {
			done.err = r.Wrap(ctx, err)
			return done
		}
		done.entries[i] = entries
		if len(entries) == count {
			c := cursors[i]
			c.low = "(" + entries[count-1]
			done.more = append(done.more, c)
		}
	}
	return done
}
