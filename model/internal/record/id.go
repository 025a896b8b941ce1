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
	next, end int64         // range of the reserved ids
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

// maxCallerID is the largest id that a caller may choose with a counter.
const maxCallerID = 1<<53 - 1

// checkCallerID refuses ids that cannot coexist with the ids of a counter.
func checkCallerID(id string) error {
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n > maxCallerID || strconv.FormatUint(n, 10) != id {
		return fmt.Errorf("%w: id %q: with ids from a counter, an id set by the caller must be an integer up to %d without leading zeros; leave it empty for the next id",
			schema.ErrValue, schema.Shorten(id), int64(maxCallerID))
	}
	return nil
}

// raise raises the counter to the largest id chosen by callers, so that the counter does not
// produce these ids again.
func (t *Table) raise(ctx context.Context, all []*change) error {
	if t.Options.IDs != schema.Counter {
		return nil
	}
	last := t.last.Load()
	largest := last
	for _, c := range all {
		if n, err := strconv.ParseInt(c.id, 10, 64); err == nil && c.operation != "save" {
			largest = max(largest, n)
		}
	}
	if largest == last {
		return nil
	}
	err := raiseScript.Run(ctx, t.Client, []string{t.Options.Counter()}, []string{strconv.FormatInt(largest, 10)}).Error()
	if err == nil {
		t.counted(largest)
	}
	return err
}
