package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"retwis/internal/script"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// removal is one run of delete.lua.
type removal struct {
	id   string
	via  *schema.Entry // the record must have this entry; a wrong entry is removed
	gone bool          // only what is left of a record that does not exist
	near []*referrer   // fields that may refer to it
	// passed are members of their indexes to ignore.
	passed map[*referrer][]string
}

// referred is returned if records refer to one that would be deleted.
type referred struct {
	by      *referrer
	members []string // of its index
}

func (r *referred) Error() string { return "a record refers to it" }

// exec returns the call of delete.lua.
func (t *Table) exec(r *removal) (script.Call, error) {
	p := t.Of(r.id)
	keys := t.CollectionKeys(t.WriteKeys(p, r.id), p, r.id)
	number, value, only := "", "", ""
	if r.via != nil {
		number, value = strconv.Itoa(r.via.Index.Number), r.via.Value
	}
	if r.gone {
		only = "gone"
	}
	var fields []byte
	count := 0
	for _, f := range r.near {
		prefix, err := f.value(r.id)
		if err != nil {
			return script.Call{}, err
		}
		theirs := &f.from.Parts[0]
		keys = append(keys, theirs.Meta, f.from.IndexKey(theirs, f.index))
		from, to := schema.PrefixRange(prefix).Lex()
		fields = schema.PackText(schema.PackText(schema.PackText(fields, f.from.Registry.Stamp()), from), to)
		restricts := int64(0)
		if f.rule == schema.Restrict {
			restricts = 1
		}
		fields = schema.PackInt(schema.PackInt(fields, restricts), int64(len(r.passed[f])))
		for _, member := range r.passed[f] {
			fields = schema.PackText(fields, member)
		}
		count += 5 + len(r.passed[f])
	}
	args := []string{
		r.id, t.Registry.Stamp(), t.IndexNumbers, strconv.Itoa(t.Options.ChangeLog), strconv.Itoa(len(t.Schema.Collections)),
		number, value, only, string(append(schema.PackList(nil, count), fields...)),
	}
	return script.Call{Keys: keys, Args: args}, nil
}

// remove runs delete.lua.
func (t *Table) remove(ctx context.Context, r *removal) error {
	defer t.Rows.Writes.Add(r.id)
	return t.Registry.RetryRestored(ctx, func() error {
		call, err := t.exec(r)
		if err != nil {
			return err
		}
		return t.removed(ctx, r, deleteScript.Run(ctx, t.Client, call.Keys, call.Args))
	})
}

// removeMany runs delete.lua several times in one pipeline.
func (t *Table) removeMany(ctx context.Context, all []*removal) []error {
	calls := make([]script.Call, len(all))
	errs := make([]error, len(all))
	for i, r := range all {
		var err error
		if calls[i], err = t.exec(r); err != nil {
			errs[i] = err
			return errs
		}
	}
	for i, reply := range deleteScript.RunMany(ctx, t.Client, calls) {
		t.Rows.Writes.Add(all[i].id)
		errs[i] = t.removed(ctx, all[i], reply)
	}
	return errs
}

// removed reads the reply of delete.lua.
func (t *Table) removed(ctx context.Context, r *removal, reply rueidis.RedisResult) error {
	m, err := reply.ToMessage()
	if err != nil {
		return t.TypeError(ctx, err)
	}
	left, err := t.parseReply(r.id, m)
	for _, e := range left {
		_ = t.Claims.Release(ctx, r.id, e) // otherwise the next process that asks for the value takes it over
	}
	var replied *refers
	if !errors.As(err, &replied) {
		return err
	}
	if replied.field >= len(r.near) {
		return fmt.Errorf("%w: no field has the number %d", schema.ErrCorrupt, replied.field)
	}
	by := r.near[replied.field]
	if len(replied.members) == 0 {
		return by.from.Registry.SchemaError()
	}
	return &referred{by, replied.members}
}

// value returns what records that refer to an id have in the index.
func (r *referrer) value(id string) (string, error) {
	b, err := r.index.AppendColumn(nil, r.from.Schema, 0, id)
	return string(b), err
}
