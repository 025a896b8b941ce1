package record

import (
	"context"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/model/internal/registry"
	"retwis/model/internal/schema"
)

// add adds a field, or replaces it if it was added before. Fields with the rule restrict come
// first.
func (r *references) add(field *referrer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*referrer // a new list, since concurrent readers may hold the old one
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

// Publish stores the name of the model that the fields for a Go type refer to. If the server
// refuses the write, other programs compare the names of the Go types instead.
func (r *references) Publish(ctx context.Context, target, name string) error {
	t := r.t
	for _, rule := range t.Schema.References {
		if rule.Target != target {
			continue
		}
		err := t.Client.Do(ctx, t.Client.B().Hset().Key(t.Layout.Parts[0].Meta).FieldValue().FieldValue(registry.TargetField(rule.Field)+name, "1").Build()).Error()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// check returns an error if a model of the database refers to records of this model by a rule
// that this program does not know. It reads the database at most once a second.
func (r *references) check(ctx context.Context) error {
	r.mu.RLock()
	all, readAt := r.all, r.readAt
	r.mu.RUnlock()
	if !readAt.IsZero() && time.Since(readAt) < registry.RefreshInterval {
		return nil
	}
	others, err := r.t.Registry.Neighbours(ctx)
	if err != nil {
		return err
	}
	for i := range others {
		n := &others[i]
		for _, ref := range n.Refs {
			known := slices.ContainsFunc(all, func(k *referrer) bool { return k.from.Options.Name == n.Name && k.field == ref.Field })
			if !known && n.RefersTo(ref, r.t.Options.Name, r.t.Schema) {
				return fmt.Errorf("%w: field %s of model %s has the rule %s: call model.Relate with the stores of %s and %s before records are deleted",
					schema.ErrNotRelated, ref.Field, n.Name, ref.Rule, n.Name, r.t.Options.Name)
			}
		}
	}
	r.mu.Lock()
	r.readAt = time.Now()
	r.mu.Unlock()
	return nil
}

// fields returns the fields that refer to records of this model. near are the fields with
// indexes in the same slot, which the deleting script can check; far are the other fields.
// Fields with the rule restrict come first.
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
		return !t.Layout.Spread()
	}
	same := reflect.TypeOf(t.Client) == reflect.TypeOf(other.Client) && reflect.TypeOf(t.Client).Comparable() && t.Client == other.Client
	if !same || t.Layout.Spread() || other.Layout.Spread() {
		return false
	}
	return t.Client.Mode() != rueidis.ClientModeCluster || keys.Tag(t.Options.Name) == keys.Tag(other.Options.Name)
}

// clearRef removes the references of a field to a target from a record, and reports whether
// there were any.
func (o *Objects) clearRef(ctx context.Context, f *schema.GoField, id, target string) (bool, error) {
	cleared := false
	_, err := o.edit(ctx, &edit{id: id, unchecked: true, f: func(ptr any, _ int64) error {
		cleared = clearRefs(f.Of(reflect.ValueOf(ptr).Elem()), target)
		return nil
	}})
	return cleared && err == nil, err
}

// clearRefs removes the references to a target from a value: a Ref, a list of Refs, or a
// pointer to either.
func clearRefs(v reflect.Value, target string) bool {
	cleared := false
	switch v.Kind() {
	case reflect.Struct:
		if ref, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
			text, err := ref.MarshalText()
			cleared = err == nil && string(text) == target
		}
		if cleared {
			v.SetZero()
		}
	case reflect.Pointer:
		cleared = !v.IsNil() && clearRefs(v.Elem(), target)
		if cleared && v.Type().Elem().Kind() == reflect.Struct {
			v.SetZero()
		}
	case reflect.Array:
		for i := range v.Len() {
			cleared = clearRefs(v.Index(i), target) || cleared
		}
	case reflect.Slice:
		left := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			if clearRefs(v.Index(i), target) {
				cleared = true
			} else {
				left = reflect.Append(left, v.Index(i))
			}
		}
		if cleared {
			v.Set(left)
		}
	}
	return cleared
}

// Relate adds the fields of a model that refer to another model, and reports whether there are
// any such fields.
func Relate(from, to *Objects) bool {
	found := false
	for _, f := range from.Declaration.Refs {
		if f.Target != to.Declaration.GoType || f.Rule == "" && !f.Exists {
			continue
		}
		if found = true; f.Exists {
			from.Table.targets.add(f.Field, to.Table)
		}
		if f.Rule == "" {
			continue
		}
		field := &from.Declaration.GoFields[f.Field]
		to.Table.References.add(&referrer{
			from: from.Table, field: field.Stored, index: from.Declaration.Schema.FieldIndex(f.Field), rule: f.Rule,
			clear: func(ctx context.Context, id, target string) (bool, error) {
				return from.clearRef(ctx, field, id, target)
			},
		})
	}
	return found
}
