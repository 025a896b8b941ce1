package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"retwis/internal/keys"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// references are the fields of this and other models that refer to the records of a
// table.
type references struct {
	t     *Table
	mu    sync.RWMutex
	all   []*referrer
	asked time.Time // when the database was last asked for other models
}

// referrer is a field of a model that refers to records of another one.
type referrer struct {
	from  *Table
	field string
	index *schema.Index // that of the field
	rule  schema.OnDelete
	// clear removes the references to a target from a record, and reports whether
	// there were any.
	clear func(ctx context.Context, id, target string) (bool, error)
}

// Relate adds the fields of a model that refer to another, and reports whether there
// are any.
func Relate(from, to *Objects) bool {
	found := false
	for _, f := range from.Refs {
		if f.Target != to.GoType || f.Rule == "" {
			continue
		}
		found = true
		field := &from.GoFields[f.Field]
		to.Table.References.add(&referrer{
			from: from.Table, field: field.Stored, index: from.FieldIndex(f.Field), rule: f.Rule,
			clear: func(ctx context.Context, id, target string) (bool, error) {
				return from.clearRef(ctx, field, id, target)
			},
		})
	}
	return found
}

// add adds a field, or replaces the same one. Fields with the rule restrict come first.
func (r *references) add(field *referrer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*referrer // a new list: concurrent readers have the old one
	for _, old := range r.all {
		if old.from != field.from || old.field != field.field {
			all = append(all, old)
		}
	}
	if field.rule == schema.Restrict {
		r.all = append([]*referrer{field}, all...)
	} else {
		r.all = append(all, field)
	}
}

// Publish stores which model the fields for a Go type refer to. If a server refuses
// it, the type decides.
func (r *references) Publish(ctx context.Context, target, name string) error {
	t := r.t
	for _, rule := range t.Schema.References {
		if rule.Target != target {
			continue
		}
		err := t.Client.Do(ctx, t.Client.B().Hset().Key(t.Parts[0].Meta).FieldValue().FieldValue(refersTo(rule.Field)+name, "1").Build()).Error()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// refersTo returns how the fields of meta begin that name the models a field refers
// to.
func refersTo(field string) string { return "refers:" + field + ":" }

// refersTo reports whether a field refers to a model: as published, or by the name of
// the Go type if nothing was published. A field for the type of its own model then
// refers to that.
func (n *Neighbour) refersTo(r schema.Reference, t *Table) bool {
	known := false
	for field := range n.meta {
		known = known || strings.HasPrefix(field, refersTo(r.Field))
	}
	if known {
		return n.meta[refersTo(r.Field)+t.Options.Name] != ""
	}
	name := t.Schema.TypeName
	return name != "" && strings.EqualFold(r.Target, name) && !strings.EqualFold(r.Target, n.Type)
}

// check fails if a model of the database refers to records here by a rule that this
// program does not know. It asks the database once a second at most.
func (r *references) check(ctx context.Context) error {
	r.mu.RLock()
	all, asked := r.all, r.asked
	r.mu.RUnlock()
	if !asked.IsZero() && time.Since(asked) < askAgain {
		return nil
	}
	others, err := r.t.Registry.Neighbours(ctx)
	if err != nil {
		return err
	}
	for i := range others {
		n := &others[i]
		for _, ref := range n.Refs {
			known := slices.ContainsFunc(all, func(k *referrer) bool { return k.from.Options.Name == n.name && k.field == ref.Field })
			if !known && n.refersTo(ref, r.t) {
				return fmt.Errorf("%w: field %s of model %s has the rule %s: call model.Relate with the stores of %s and %s before records are deleted",
					schema.ErrNotRelated, ref.Field, n.name, ref.Rule, n.name, r.t.Options.Name)
			}
		}
	}
	r.mu.Lock()
	r.asked = time.Now()
	r.mu.Unlock()
	return nil
}

// fields returns the fields that refer to records here: those whose indexes are in the
// same slot, which the script that deletes can check, and the others. Fields with the
// rule restrict come first.
func (r *references) fields(ctx context.Context) (near, far []*referrer, err error) {
	if err := r.check(ctx); err != nil {
		return nil, nil, err
	}
	r.mu.RLock()
	all := r.all
	r.mu.RUnlock()
	for _, f := range all {
		if err := f.from.Registry.CheckBuilt(ctx, f.index); err != nil {
			return nil, nil, fmt.Errorf("records of %s may refer to it: %w", f.from.Options.Name, err)
		}
		if r.t.sameSlot(f.from) {
			near = append(near, f)
		} else {
			far = append(far, f)
		}
	}
	return near, far, nil
}

// sameSlot reports whether the keys of two models are known to be in the same slot of
// the same database.
func (t *Table) sameSlot(other *Table) bool {
	if t == other {
		return !t.Spread()
	}
	same := reflect.TypeOf(t.Client) == reflect.TypeOf(other.Client) && reflect.TypeOf(t.Client).Comparable() && t.Client == other.Client
	if !same || t.Spread() || other.Spread() {
		return false
	}
	return t.Client.Mode() != rueidis.ClientModeCluster || keys.Tag(t.Options.Name) == keys.Tag(other.Options.Name)
}

// value returns what records that refer to an id have in the index.
func (r *referrer) value(id string) (string, error) {
	b, err := r.index.AppendColumn(nil, r.from.Schema, 0, id)
	return string(b), err
}

// far reads members of an index in another slot or database that refer to a record:
// of the first partition that has some. It compares the declaration of the model that
// refers, as delete.lua does.
func (r *referrer) far(ctx context.Context, f *deletingRecord) ([]string, error) {
	prefix, err := r.value(f.id)
	if err != nil {
		return nil, err
	}
	from, to := schema.PrefixRange(prefix).Lex()
	t, passed := r.from, f.passed[r]
	var commands rueidis.Commands
	for i := range t.Parts {
		p := &t.Parts[i]
		commands = append(commands,
			t.Client.B().Hmget().Key(p.Meta).Field("digest", "also", "token").Build(),
			t.Client.B().Zrange().Key(t.IndexKey(p, r.index)).Min(from).Max(to).Bylex().Limit(0, int64(farMany+len(passed))).Build())
	}
	replies := t.Client.DoMulti(ctx, commands...)
	for i := 0; i+1 < len(replies); i += 2 {
		found, err := replies[i].ToArray()
		if err != nil || len(found) != 3 {
			return nil, errors.Join(err, schema.ErrReply(err))
		}
		digest, _ := found[0].ToString()
		also, _ := found[1].ToString()
		token, _ := found[2].ToString()
		if stamp := t.Registry.Stamp(); stamp != digest+token && stamp != also+token {
			return nil, t.Registry.SchemaError()
		}
		members, err := replies[i+1].AsStrSlice()
		if err != nil {
			return nil, err
		}
		members = slices.DeleteFunc(members, func(m string) bool { return slices.Contains(passed, m) })
		if len(members) > 0 {
			return members, nil
		}
	}
	return nil, nil
}

// restricted returns an error if one of the records exists. It removes the index
// entries of those that do not.
func (r *referrer) restricted(ctx context.Context, ids []string, via *schema.Entry) error {
	for i, reply := range r.from.Rows.existMany(ctx, ids) {
		there, err := reply.AsBool()
		if err != nil {
			return r.wrap(ids[i], err)
		}
		if !there {
			if err := r.forget(ctx, ids[i], via); err != nil && !errors.Is(err, errKept) {
				return err
			}
			continue
		}
		return &schema.ReferencedError{Model: r.from.Options.Name, Field: r.field, ID: ids[i]}
	}
	return nil
}

// clearOne removes the references to a target from one record. If there are none, it
// removes the entry from the index; errKept means that the entry is still there.
func (r *referrer) clearOne(ctx context.Context, id, target string, via *schema.Entry) error {
	did, err := r.clear(ctx, id, target)
	if did {
		return nil
	}
	if err != nil && !errors.Is(err, schema.ErrNotFound) {
		return r.wrap(id, err)
	}
	return r.forget(ctx, id, via)
}

// forget removes the index entry of a record that does not exist, or no longer refers,
// or returns errKept.
func (r *referrer) forget(ctx context.Context, id string, via *schema.Entry) error {
	err := r.from.remove(ctx, &removal{id: id, via: via, gone: true})
	switch {
	case err == nil, isGone(err):
		return nil
	case errors.Is(err, errKept):
		return errKept
	}
	return r.wrap(id, err)
}

// wrap names the record that refers.
func (r *referrer) wrap(id string, err error) error {
	return fmt.Errorf("%s of %s %s, which refers to it: %w", r.field, r.from.Options.Name, schema.Shorten(id), err)
}
