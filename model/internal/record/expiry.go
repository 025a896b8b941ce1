package record

import (
	"context"
	"strconv"

	"retwis/model/internal/schema"
)

// sweepRecords is the number of records removed in one pipeline.
const sweepRecords = 100

// Sweep removes the expired records of a partition from the indexes, and returns their number.
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

// sweepOnce is one attempt of Sweep.
func (t *Table) sweepOnce(ctx context.Context, p *schema.Partition) (total int, err error) {
	for {
		keys := []string{p.Content, p.Expires, p.Meta}
		m, err := expiredScript.Run(ctx, t.Client, keys, []string{t.Registry.Stamp(), strconv.Itoa(sweepRecords)}).ToMessage()
		if err != nil {
			return total, t.TypeError(ctx, err)
		}
		if m.IsString() {
			return total, t.Registry.SchemaError()
		}
		list, err := m.ToArray()
		if err != nil || len(list) != 2 {
			return total, schema.ErrReply(err)
		}
		ids, err := list[0].AsStrSlice()
		if err != nil {
			return total, err
		}
		contents, err := parseTexts(list[1])
		if err != nil || len(contents) != len(ids) {
			return total, schema.ErrReply(err)
		}
		all := make([]Remains, len(ids))
		for i, id := range ids {
			all[i] = Remains{id, schema.Content(contents[i].Value)}
		}
		kept, err := t.RemoveRemains(ctx, all)
		if err != nil {
			return total, err
		}
		swept := len(ids) - len(kept)
		if total += swept; swept == 0 || len(ids) < sweepRecords {
			return total, nil
		}
	}
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
