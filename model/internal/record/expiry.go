package record

import (
	"context"
	"errors"
	"strconv"

	"retwis/model/internal/schema"
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

func (t *Table) sweepOnce(ctx context.Context, p *schema.Partition) (int, error) {
	keys := append([]string{p.Content, p.All, p.Expires, p.Meta, p.Changes}, p.Indexes...)
	args := []string{t.Registry.Stamp(), t.IndexNumbers, strconv.Itoa(t.Options.ChangeLog), strconv.Itoa(sweepRecords), strconv.Itoa(sweepEntries)}
	total := 0
	for {
		m, err := sweepScript.Run(ctx, t.Client, keys, args).ToMessage()
		if err != nil {
			return total, t.TypeError(ctx, err)
		}
		if m.IsString() {
			return total, t.Registry.SchemaError()
		}
		list, err := m.ToArray()
		if err != nil || len(list) < 2 || len(list)%3 != 2 {
			return total, errors.Join(schema.ErrCorrupt, err)
		}
		n, _ := list[0].AsInt64()
		more, _ := list[1].AsInt64()
		total += int(n)
		for i := 2; i < len(list); i += 3 {
			id, _ := list[i].ToString()
			if err := t.Claims.ReleaseAll(ctx, id, list[i+1:i+3]); err != nil {
				return total, err
			}
		}
		if more == 0 {
			return total, nil
		}
	}
}

// SweepAll removes all expired records from the indexes.
func (t *Table) SweepAll(ctx context.Context) (total int, err error) {
	for i := range t.Parts {
		n, err := t.Sweep(ctx, &t.Parts[i])
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
