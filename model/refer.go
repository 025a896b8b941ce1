package model

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/keys"
)

// Refer tells a Store that records of another refer to its own, so that Delete
// keeps the rules in the tags of their Ref fields: restrict, cascade or clear. Call
// it after New, in every program that deletes; a model that refers to itself needs
// none. The rules are part of the schema in the database: in a program that has not
// called Refer, Delete returns ErrRefer and names the model that refers. The Stores
// may be in different databases, of which each knows its own models only. It is
// ErrDeclaration where from has no Ref, or list of Refs, to the other model with a
// rule.
//
// Refer also writes down which model a field refers to, so that two models of one Go
// type can be told apart: a round trip or two.
//
//	type Post struct {
//		ID     string          `redis:",id"`
//		Author model.Ref[User] `redis:"author,index,cascade"`
//	}
//	…
//	err = model.Refer(posts, users)
func Refer[A, B any](from *Store[A], to *Store[B]) error {
	if !refer(from.o, to.o) {
		return from.t.wrap(fmt.Errorf("%w: %s has no field of type model.Ref[%s] with a rule: give its tag restrict, cascade or clear",
			ErrDeclaration, reflect.TypeFor[A](), reflect.TypeFor[B]()))
	}
	return from.t.wrap(from.t.publishRefer(reflect.TypeFor[B]().Name(), to.t.opt.Name))
}

// publishRefer writes down which model the fields for a Go type refer to. A server
// that refuses it leaves the type to tell.
func (t *table) publishRefer(target, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	for _, r := range t.refs {
		if r.Target != target {
			continue
		}
		err := t.client.Do(ctx, t.client.B().Hset().Key(t.parts[0].meta).FieldValue().FieldValue(refersTo(r.Field)+name, "1").Build()).Error()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// refersTo is how the fields of meta begin that say which model a field refers to.
func refersTo(field string) string { return "refers:" + field + ":" }

// refersTo tells whether a field refers to a model: as Refer has written down, or
// where it was never called, by the name of the Go type. A field for the type of its
// own model then refers to that.
func (n *neighbour) refersTo(r storedRef, t *table) bool {
	known := false
	for field := range n.meta {
		known = known || strings.HasPrefix(field, refersTo(r.Field))
	}
	if known {
		return n.meta[refersTo(r.Field)+t.opt.Name] != ""
	}
	return t.goType != "" && strings.EqualFold(r.Target, t.goType) && !strings.EqualFold(r.Target, n.Type)
}

// checkReferrers fails where a model of the database refers to records here by a
// rule that this program was not told of. It asks once a second at most.
func (t *table) checkReferrers(ctx context.Context) error {
	t.referring.RLock()
	all, asked := t.referring.all, t.referring.asked
	t.referring.RUnlock()
	if !asked.IsZero() && time.Since(asked) < askAgain {
		return nil
	}
	others, err := t.neighbours(ctx)
	if err != nil {
		return err
	}
	for i := range others {
		n := &others[i]
		for _, r := range n.Refs {
			known := slices.ContainsFunc(all, func(k *referrer) bool { return k.from.opt.Name == n.name && k.field == r.Field })
			if !known && n.refersTo(r, t) {
				return fmt.Errorf("%w: field %s of model %s has the rule %s: call model.Refer with the stores of %s and %s before records are deleted",
					ErrRefer, r.Field, n.name, r.Rule, n.name, t.opt.Name)
			}
		}
	}
	t.referring.Lock()
	t.referring.asked = time.Now()
	t.referring.Unlock()
	return nil
}

// refer adds the fields of a model that refer to another, and tells whether there
// are any.
func refer(from, to *objects) bool {
	found := false
	for _, f := range from.refs {
		if f.target != to.goType || f.rule == "" {
			continue
		}
		found = true
		field := &from.goFields[f.field]
		to.t.addReferrer(&referrer{
			from: from.t, field: field.stored, index: from.fieldIndex(f.field), rule: f.rule,
			clear: func(ctx context.Context, id, target string) (bool, error) {
				return from.clearRef(ctx, field, id, target)
			},
		})
	}
	return found
}

// referrer is a field of a model that refers to records of another.
type referrer struct {
	from  *table
	field string
	index *indexSpec // that of the field
	rule  OnDelete
	// clear makes a record refer to a target no more, and tells whether it did.
	clear func(ctx context.Context, id, target string) (bool, error)
}

// fieldIndex returns the sorted set of a field, which New has seen to.
func (s *schema) fieldIndex(field int) *indexSpec {
	for _, x := range s.indexes {
		if !x.Unique && len(x.Columns) == 1 && x.fieldOf[0] == field {
			return x
		}
	}
	return nil
}

// addReferrer adds a field, or puts it in the place of the same one.
func (t *table) addReferrer(r *referrer) {
	t.referring.Lock()
	defer t.referring.Unlock()
	var all []*referrer // a new list: others read the old one
	for _, old := range t.referring.all {
		if old.from != r.from || old.field != r.field {
			all = append(all, old)
		}
	}
	if r.rule == Restrict {
		t.referring.all = append([]*referrer{r}, all...)
	} else {
		t.referring.all = append(all, r)
	}
}

// referrers returns the fields that refer to records here: those whose indexes are
// in the same slot, so that one script sees to both, and the others. Those that
// refuse come first, before anything is done.
func (t *table) referrers(ctx context.Context) (near, far []*referrer, err error) {
	if err := t.checkReferrers(ctx); err != nil {
		return nil, nil, err
	}
	t.referring.RLock()
	all := t.referring.all
	t.referring.RUnlock()
	for _, r := range all {
		if err := r.from.ready(ctx, r.index); err != nil {
			return nil, nil, fmt.Errorf("records of %s may refer to it: %w", r.from.opt.Name, err)
		}
		if t.beside(r.from) {
			near = append(near, r)
		} else {
			far = append(far, r)
		}
	}
	return near, far, nil
}

// beside tells whether the keys of two models are in the same slot of the same
// database, as far as is known.
func (t *table) beside(other *table) bool {
	if t == other {
		return !t.spread()
	}
	same := reflect.TypeOf(t.client) == reflect.TypeOf(other.client) && reflect.TypeOf(t.client).Comparable() && t.client == other.client
	if !same || t.spread() || other.spread() {
		return false
	}
	return t.client.Mode() != rueidis.ClientModeCluster || keys.Tag(t.opt.Name) == keys.Tag(other.opt.Name)
}

// value is what the records that refer to an id have in the index.
func (r *referrer) value(id string) (string, error) {
	b, err := r.index.appendColumn(nil, &r.from.schema, 0, id)
	return string(b), err
}

// clearRefs takes the references to a target out of a value: a Ref, or a pointer
// to one or a list of them.
func clearRefs(v reflect.Value, target string) bool {
	if r, ok := v.Interface().(reference); ok && v.Kind() != reflect.Pointer {
		if r.to() != target {
			return false
		}
		v.SetZero()
		return true
	}
	cleared := false
	switch v.Kind() {
	case reflect.Pointer:
		cleared = !v.IsNil() && clearRefs(v.Elem(), target)
		if _, one := reflect.Zero(v.Type().Elem()).Interface().(reference); cleared && one {
			v.SetZero()
		}
	case reflect.Array:
		for i := range v.Len() {
			cleared = clearRefs(v.Index(i), target) || cleared
		}
	case reflect.Slice:
		kept := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			if clearRefs(v.Index(i), target) {
				cleared = true
			} else {
				kept = reflect.Append(kept, v.Index(i))
			}
		}
		if cleared {
			v.Set(kept)
		}
	}
	return cleared
}
