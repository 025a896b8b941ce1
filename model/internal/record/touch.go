package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"retwis/model/internal/rows"
	"retwis/model/internal/schema"
)

// Touch makes a record expire after ttl, by the clock of its server.
func (o *Objects) Touch(ctx context.Context, id string, ttl time.Duration) error {
	switch {
	case o.Declaration.Schema.Expires < 0:
		return fmt.Errorf("%w: Touch: the model has no field with the option expires", schema.ErrValue)
	case ttl < time.Millisecond:
		return fmt.Errorf("%w: Touch: %v is less than a millisecond", schema.ErrValue, ttl)
	}
	if err := o.CheckID(id); err != nil {
		return err
	}
	patch := func() error {
		_, err := o.Patch(ctx, id, map[string]any{o.Declaration.Schema.Names[o.Declaration.Schema.Expires]: ttl})
		return err
	}
	indexed := slices.ContainsFunc(o.Declaration.Schema.Indexes, func(x *schema.Index) bool { return slices.Contains(x.FieldNumbers, o.Declaration.Schema.Expires) })
	if indexed || len(o.Declaration.Schema.Fields) > len(o.Declaration.Schema.Names) { // index entries may depend on the time of expiry
		return patch()
	}
	t := o.Table
	rewrite := false
	err := t.Registry.RetryRestored(ctx, func() error {
		return WithClock(func() (err error) {
			rewrite, err = o.touchOnce(ctx, id, ttl)
			return err
		})
	})
	if err == nil && rewrite {
		return patch()
	}
	return err
}

// touchOnce changes the time of expiry. It returns true if the record must be written by Patch
// instead, because its content is missing or damaged.
func (o *Objects) touchOnce(ctx context.Context, id string, ttl time.Duration) (rewrite bool, err error) {
	t := o.Table
	p := t.Layout.Of(id)
	now := t.clockOf(p).now()
	record := o.Declaration.NewRecord()
	o.Declaration.SetTime(record, o.Declaration.Schema.Expires, now+ttl.Milliseconds())
	text, err := o.Declaration.EncodeField(record, o.Declaration.Schema.Expires)
	if err != nil {
		return false, err
	}
	due, err := rows.DueOf(&o.Declaration.Schema.Fields[o.Declaration.Schema.Expires], text.Value)
	if err != nil {
		return false, err
	}
	c := &change{id: id, operation: "save", now: now, due: due, set: []string{o.Declaration.Schema.Names[o.Declaration.Schema.Expires], text.Value}}
	err = t.applyOnce(ctx, &application{c: c, mode: mustExist, keeps: true, known: known{content: unknown}})
	if errors.Is(err, errAgain) {
		return true, nil
	}
	return false, err
}
