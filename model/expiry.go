package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// dueOf reads when a record expires, in milliseconds since 1970.
func dueOf(f *field, s string) (int64, error) {
	v, err := f.Kind.value(f.Name, s)
	if err != nil {
		return 0, err
	}
	var ms int64
	switch v := v.(type) {
	case time.Time:
		ms = v.UnixMilli()
	case int64:
		if v > maxDue/1000 {
			v = maxDue / 1000
		}
		ms = v * 1000
	default:
		return 0, fmt.Errorf("%w: %s is no time", ErrValue, f.Name)
	}
	return min(max(ms, 1), maxDue), nil
}

// maxDue is the last millisecond of the year 9999.
const maxDue = 253402300799999

// Bounds of one run of sweep.lua.
const (
	sweepRecords = 100
	sweepEntries = 1000
)

// Sweep takes records that have expired out of the indexes, a hundred in a
// script, and returns how many there were. What is found never holds them, swept
// or not: sweeping gives back their memory.
func (s *Store[T]) Sweep(ctx context.Context) (int, error) {
	total := 0
	for i := range s.t.parts {
		n, err := s.t.sweep(ctx, &s.t.parts[i])
		total += n
		if err != nil {
			return total, s.t.wrap(err)
		}
	}
	return total, nil
}

// SweepEvery sweeps now and then until the context ends, and returns its error
// or the first of a sweep that failed. Any number of processes may do so.
func (s *Store[T]) SweepEvery(ctx context.Context, interval time.Duration) error {
	if interval <= 0 {
		return s.t.wrap(fmt.Errorf("SweepEvery(%v): the interval must be more than 0", interval))
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := s.Sweep(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return s.t.wrap(ctx.Err())
		case <-ticker.C:
		}
	}
}

// sweep removes all that is due in a partition.
func (t *table) sweep(ctx context.Context, p *partition) (total int, err error) {
	if t.expires < 0 {
		return 0, nil
	}
	err = t.again(ctx, func() error {
		n, err := t.sweepOnce(ctx, p)
		total += n
		return err
	})
	return total, err
}

func (t *table) sweepOnce(ctx context.Context, p *partition) (int, error) {
	keys := append([]string{p.content, p.all, p.expires, p.meta, p.changes}, p.indexes...)
	args := []string{t.stamp(), t.slots, strconv.Itoa(t.opt.Changes), strconv.Itoa(sweepRecords), strconv.Itoa(sweepEntries)}
	total := 0
	for {
		m, err := t.scripts.sweep.Run(ctx, t.client, keys, args).ToMessage()
		if err != nil {
			return total, t.keyError(ctx, err)
		}
		if m.IsString() {
			return total, t.otherSchema()
		}
		list, err := m.ToArray()
		if err != nil || len(list) < 2 || len(list)%3 != 2 {
			return total, errors.Join(ErrCorrupt, err)
		}
		n, _ := list[0].AsInt64()
		more, _ := list[1].AsInt64()
		total += int(n)
		for i := 2; i < len(list); i += 3 {
			id, _ := list[i].ToString()
			if err := t.releaseAll(ctx, id, list[i+1:i+3]); err != nil {
				return total, err
			}
		}
		if more == 0 {
			return total, nil
		}
	}
}
