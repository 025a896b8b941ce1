package maintain

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// target is the expected state of a record in the indexes.
type target struct {
	id      string
	exists  bool
	stored  []schema.Text
	read    string // fingerprint of the fields; "": no record
	due     int64
	entries []schema.Entry
	err     error // why the record cannot be aligned
	invalid error // why the record is not valid

	token  string // token of its claims, for a model with partitions
	claims []unique.Claim
	taken  []*schema.TakenError // values owned by other records

	state   state
	owners  map[schema.Entry]string // owners of unique values whose contents look.lua reads
	decided []schema.Entry          // unique values that the record can have
	problem maintain.Problem
	wrong   bool // the indexes differ from the expected state
}

// targets reads records, and computes their expected state in the indexes: one pipeline.
func (r *run) targets(ctx context.Context, ids []string) ([]target, error) {
	t := r.t
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(t.Rows.Command(id))
	}
	if r.mode == migrate {
		for _, id := range ids {
			commands = append(commands, t.Client.B().Hget().Key(t.Layout.Of(id).Content).Field(id).Build())
		}
	}
	all := make([]target, len(ids))
	var unknown []int // records without any declared field, which may exist
	replies := t.Client.DoMulti(ctx, commands...)
	for i, reply := range replies[len(ids):] {
		text, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		all[i].state.content = schema.Content(text)
	}
	for i, reply := range replies[:len(ids)] {
		w := &all[i]
		w.id = ids[i]
		stored := make([]schema.Text, len(t.Schema.Fields))
		known, err := t.Rows.Parse(w.id, reply, stored)
		switch {
		case isDamage(err):
			w.exists, w.err = true, err
			continue
		case err != nil:
			return nil, err
		case !known:
			unknown = append(unknown, i)
		}
		w.exists = true
		r.compute(w, stored)
	}
	if len(unknown) == 0 {
		return all, nil
	}
	commands = nil
	for _, i := range unknown {
		commands = append(commands, t.Client.B().Exists().Key(t.Layout.Of(ids[i]).Record(ids[i])).Build())
	}
	for j, reply := range t.Client.DoMulti(ctx, commands...) {
		var err error
		if all[unknown[j]].exists, err = reply.AsBool(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// compute computes the expected state of a record in the indexes.
func (r *run) compute(w *target, stored []schema.Text) {
	t := r.t
	w.stored, w.read = stored, t.Rows.Fingerprint(stored)
	if t.Compute != nil {
		if w.err = t.Compute(w.id, stored); w.err != nil {
			return
		}
		if r.mode != migrate && t.Validate != nil {
			w.invalid = t.Validate(w.id, stored)
		}
	}
	if w.due, w.err = t.Rows.ExpiresAt(stored); w.err == nil {
		w.entries, w.err = t.Schema.Entries(stored)
	}
}

// isDamage reports whether an error is caused by damaged stored data.
func isDamage(err error) bool {
	return errors.Is(err, schema.ErrCorrupt) || errors.Is(err, schema.ErrValue)
}
