package record

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// Bounds of one run of sweep.lua.
const (
	sweepRecords = 100
	sweepEntries = 1000
)

// Sweep removes the expired records of a partition from the indexes.
func (t *Table) Sweep(ctx context.Context, p *schema.Partition) (total int, err error) {
	if t.Schema.Expires < 0 {
		return 0, nil
	}
	err = t.Registry.RetryRestored(ctx, func() error {
		n, err := t.sweepOnce(ctx, p)
		total += n
		return err
	})
	return total, err
}

func (t *Table) sweepOnce(ctx context.Context, p *schema.Partition) (total int, err error) {
	var sets []schema.Entry
	for {
		keys := append([]string{p.Content, p.All, p.Expires, p.Meta}, p.Indexes...)
		keys, packed := t.Layout.ValueKeys(keys, p, sets)
		args := []string{t.Registry.Stamp(), t.Layout.IndexNumbers, strconv.Itoa(sweepRecords), strconv.Itoa(sweepEntries), packed}
		m, err := sweepScript.Run(ctx, t.Client, keys, args).ToMessage()
		if err != nil {
			return total, t.TypeError(ctx, err, keys...)
		}
		if m.IsString() {
			return total, t.Registry.SchemaError()
		}
		list, err := m.ToArray()
		if err != nil || len(list) != 4 {
			return total, errors.Join(schema.ErrCorrupt, err)
		}
		n, _ := list[0].AsInt64()
		more, _ := list[1].AsInt64()
		total += int(n)
		if err := t.releaseSwept(ctx, list[3]); err != nil || more == 0 {
			return total, err
		}
		missing, err := list[2].ToArray()
		if err != nil {
			return total, err
		}
		if sets, err = unique.ParseEntries(t.Schema, missing); err != nil {
			return total, err
		}
	}
}

// releaseSwept releases the unique values of expired records: id, number and value of each.
func (t *Table) releaseSwept(ctx context.Context, m rueidis.RedisMessage) error {
	list, err := m.ToArray()
	if err != nil || len(list)%3 != 0 {
		return errors.Join(schema.ErrCorrupt, err)
	}
	for i := 0; i < len(list); i += 3 {
		id, _ := list[i].ToString()
		if err := t.Claims.ReleaseAll(ctx, id, list[i+1:i+3]); err != nil {
			return err
		}
	}
	return nil
}

// SweepAll removes all expired records from the indexes.
func (t *Table) SweepAll(ctx context.Context) (total int, err error) {
	for i := range t.Layout.Parts {
		n, err := t.Sweep(ctx, &t.Layout.Parts[i])
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
