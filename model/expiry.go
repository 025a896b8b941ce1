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
		m, err := sweepScript.Run(ctx, t.client, keys, args).ToMessage()
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
			if err := t.claims.releaseAll(ctx, id, list[i+1:i+3]); err != nil {
				return total, err
			}
		}
		if more == 0 {
			return total, nil
		}
	}
}

// sweepAll removes all expired records from the indexes.
func (t *table) sweepAll(ctx context.Context) (total int, err error) {
	for i := range t.parts {
		n, err := t.sweep(ctx, &t.parts[i])
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
