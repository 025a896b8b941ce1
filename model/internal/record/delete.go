package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

// removal is one run of delete.lua.
type removal struct {
	id   string
	via  *schema.Entry  // the record must have this entry; a wrong entry is removed
	gone bool           // only what is left of a record that does not exist
	near []*referrer    // fields that may refer to it
	sets []schema.Entry // its entries in sets of values
	// passed are members of their indexes to ignore.
	passed map[*referrer][]string
}

// referred is returned if records refer to one that would be deleted.
type referred struct {
	by      *referrer
	members []string // of its index
}

func (r *referred) Error() string { return "a record refers to it" }

// remover removes records with their entries.
type remover struct{ t *Table }

func (t *Table) remover() remover { return remover{t} }

// exec returns the call of delete.lua.
func (rm remover) exec(r *removal) (script.Call, error) {
	p := rm.t.Layout.Of(r.id)
	keys := rm.t.Layout.CollectionKeys(rm.t.Layout.WriteKeys(p, r.id), p, r.id)
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
		entry, err := f.entry(r.id)
		if err != nil {
			return script.Call{}, err
		}
		theirs := &f.from.Layout.Parts[0]
		key, from, to := f.members(theirs, entry)
		keys = append(keys, theirs.Meta, key)
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
	via := []schema.Entry(nil)
	if r.via != nil {
		via = append(via, *r.via)
	}
	keys, sets := rm.t.Layout.ValueKeys(keys, p, r.sets, via)
	args := []string{
		r.id, rm.t.Registry.Stamp(), rm.t.Layout.IndexNumbers, strconv.Itoa(len(rm.t.Schema.Collections)),
		number, value, only, string(append(schema.PackList(nil, count), fields...)), sets, digit(rm.t.Options.Adopt != nil && rm.t.Options.Adopt(r.id)),
	}
	return script.Call{Keys: keys, Args: args}, nil
}

// remove runs delete.lua. It first reads in which sets of values the record is, if the
// model has such sets.
func (rm remover) remove(ctx context.Context, r *removal) error {
	return rm.removeMany(ctx, []*removal{r})[0]
}

// removeMany runs delete.lua several times in one pipeline.
func (rm remover) removeMany(ctx context.Context, all []*removal) []error {
	errs := make([]error, len(all))
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.id
	}
	sets, err := rm.t.setsOfContents(ctx, ids...)
	if err != nil {
		errs[0] = err
		return errs
	}
	for i, r := range all {
		r.sets = sets[i]
		defer rm.t.Rows.Writes.Add(r.id)
	}
	for i, err := range rm.removeOnce(ctx, all) {
		first := true
		errs[i] = WithSets(&all[i].sets, func() error {
			return rm.t.Registry.RetryRestored(ctx, func() error {
				if first {
					first = false
					return err
				}
				return rm.removeOnce(ctx, all[i:i+1])[0]
			})
		})
	}
	return errs
}

// removeOnce runs delete.lua once for each record.
func (rm remover) removeOnce(ctx context.Context, all []*removal) []error {
	calls := make([]script.Call, len(all))
	errs := make([]error, len(all))
	for i, r := range all {
		if calls[i], errs[i] = rm.exec(r); errs[i] != nil {
			return errs
		}
	}
	for i, reply := range deleteScript.RunMany(ctx, rm.t.Client, calls) {
		errs[i] = rm.removed(ctx, all[i], calls[i].Keys, reply)
	}
	return errs
}

// removed reads the reply of delete.lua.
func (rm remover) removed(ctx context.Context, r *removal, keys []string, reply rueidis.RedisResult) error {
	m, err := reply.ToMessage()
	if err != nil {
		return rm.t.TypeError(ctx, err, keys...)
	}
	left, err := rm.t.parseReply(r.id, m)
	for _, e := range left {
		_ = rm.t.Claims.Release(ctx, r.id, e) // otherwise the next process that asks for the value takes it over
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

// entry returns the entry that records that refer to an id have.
func (r *referrer) entry(id string) (schema.Entry, error) {
	value, err := r.index.ValueOf(r.from.Schema, id)
	return schema.Entry{Index: r.index, Value: value}, err
}

// members returns the key of the records that have an entry, and the range within it, or
// nothing: all.
func (r *referrer) members(p *schema.Partition, e schema.Entry) (key, from, to string) {
	if r.index.PerValue {
		return r.from.Layout.ValueKey(p, e), "", ""
	}
	from, to = schema.PrefixRange(e.Value).Lex()
	return r.from.Layout.IndexKey(p, r.index), from, to
}

// id returns the id of a record that has an entry.
func (r *referrer) id(e schema.Entry, member string) string {
	if r.index.PerValue {
		return member
	}
	return member[len(e.Value):]
}
