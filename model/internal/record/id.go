package record

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oklog/ulid/v2"

	"retwis/model/internal/schema"
)

// idBlock is the number of ids that a process reserves from the counter at a time.
const idBlock = 20

// idSource provides ids for new records.
type idSource struct {
	t         *Table
	turn      chan struct{} // held by the goroutine that takes an id
	next, end int64         // of the reserved block
}

func newIDSource(t *Table) *idSource { return &idSource{t: t, turn: make(chan struct{}, 1)} }

// take returns the id of a new record. If no reserved id is left, it reserves a block from the
// counter; unused ids of a process are lost.
func (s *idSource) take(ctx context.Context, block int64) (string, error) {
	t := s.t
	if t.Options.IDs == schema.ULID {
		return ulid.Make().String(), nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if s.next == s.end {
		last, err := t.Client.Do(ctx, t.Client.B().Incrby().Key(t.Options.Counter()).Increment(block).Build()).AsInt64()
		if err != nil {
			return "", err
		}
		s.next, s.end = last-block+1, last+1
		t.counted(last)
	}
	s.next++
	return strconv.FormatInt(s.next-1, 10), nil
}

// counted records a lower bound for the value of the counter.
func (t *Table) counted(n int64) {
	for {
		last := t.last.Load()
		if n <= last || t.last.CompareAndSwap(last, n) {
			return
		}
	}
}

// maxOwn is the largest id that a caller may choose with a counter.
const maxOwn = 1<<53 - 1

// checkOwn refuses ids that cannot coexist with those of a counter.
func checkOwn(id string) error {
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n > maxOwn || strconv.FormatUint(n, 10) != id {
		return fmt.Errorf("%w: id %q: where ids come from a counter, the caller's own is an integer up to %d, without leading zeros; leave it empty for the next one",
			schema.ErrValue, schema.Shorten(id), int64(maxOwn))
	}
	return nil
}

// raise raises the counter to the largest id chosen by callers, so that it does not produce
// these ids again.
func (t *Table) raise(ctx context.Context, all []*change) error {
	if t.Options.IDs != schema.Counter {
		return nil
	}
	last := t.last.Load()
	most := last
	for _, c := range all {
		if n, err := strconv.ParseInt(c.id, 10, 64); err == nil && c.operation != "save" {
			most = max(most, n)
		}
	}
	if most == last {
		return nil
	}
	err := raiseScript.Run(ctx, t.Client, []string{t.Options.Counter()}, []string{strconv.FormatInt(most, 10)}).Error()
	if err == nil {
		t.counted(most)
	}
	return err
}
