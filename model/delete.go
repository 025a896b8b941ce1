package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/script"
)

// Delete deletes a record, its sets and lists, and all that it has in the indexes.
// It returns ErrNotFound where there is none. Before, it sees to the records of this
// and other models (see Refer) that refer to it, by the rule of the field:
//
//	restrict  there must be none: else it returns a *ReferredError
//	cascade   they are deleted, by the rules for those that refer to them in turn
//	clear     they are made to refer to nothing
//
// Where nothing refers to it that is one script, which also finds that nothing does:
// so it is for models in one hash slot of one database. Records in other slots, of
// spread models and in other databases are looked for before, and those that come
// between are found only by cascade and clear, which look again after.
//
// A record goes after those that refer to it, a hundred at a time. So what is cut
// short leaves a record that can be deleted again, and no reference to nothing; what
// was deleted by then stays so, also where deeper down there is a restrict; one of
// the record itself refuses before anything is done. Records that refer to each
// other in a circle go together. It needs memory for the longest chain of references,
// not for all that is deleted.
//
// A record that expires is not deleted: references to it stay. Delete then returns
// ErrNotFound, and has seen to cascade and clear.
func (s *Store[T]) Delete(ctx context.Context, id string) error {
	err := s.o.checkID(id)
	if err == nil {
		err = s.t.delete(ctx, id)
	}
	return s.t.wrap(err)
}

// removal is one run of delete.lua.
type removal struct {
	id   string
	via  *entry      // the record must have this, and what else leads there goes
	gone bool        // only what is left of a record that is not there
	near []*referrer // fields that may refer to it
	// passed are the members of their indexes that do not count.
	passed map[*referrer][]string
}

var (
	// errLeft is returned where a record does not have the entry of the removal.
	errLeft = errors.New("the record does not refer any more")
	// errKept is returned where a record is there.
	errKept = errors.New("the record is there")
)

// referred is returned where records refer to one that is to be deleted.
type referred struct {
	by      *referrer
	members []string // of its index
}

func (r *referred) Error() string { return "a record refers to it" }

// exec is the call of delete.lua.
func (t *table) exec(r *removal) (script.Call, error) {
	p := t.of(r.id)
	keys := t.memberKeys(t.writeKeys(p, r.id), p, r.id)
	number, value, only := "", "", ""
	if r.via != nil {
		number, value = strconv.Itoa(r.via.index.number), r.via.value
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
		theirs := &f.from.parts[0]
		keys = append(keys, theirs.meta, f.from.indexKey(theirs, f.index))
		from, to := startingWith(prefix).byLex()
		fields = packText(packText(packText(fields, f.from.stamp()), from), to)
		restricts := int64(0)
		if f.rule == Restrict {
			restricts = 1
		}
		fields = packInt(packInt(fields, restricts), int64(len(r.passed[f])))
		for _, member := range r.passed[f] {
			fields = packText(fields, member)
		}
		count += 5 + len(r.passed[f])
	}
	args := []string{
		r.id, t.stamp(), t.slots, strconv.Itoa(t.opt.Changes), strconv.Itoa(len(t.collections)),
		number, value, only, string(append(packList(nil, count), fields...)),
	}
	return script.Call{Keys: keys, Args: args}, nil
}

// remove runs delete.lua.
func (t *table) remove(ctx context.Context, r *removal) error {
	defer t.writes.add(r.id)
	return t.again(ctx, func() error {
		call, err := t.exec(r)
		if err != nil {
			return err
		}
		return t.removed(ctx, r, deleteScript.Run(ctx, t.client, call.Keys, call.Args))
	})
}

// removeMany runs delete.lua for many in one pipeline.
func (t *table) removeMany(ctx context.Context, all []*removal) []error {
	calls := make([]script.Call, len(all))
	errs := make([]error, len(all))
	for i, r := range all {
		var err error
		if calls[i], err = t.exec(r); err != nil {
			errs[i] = err
			return errs
		}
	}
	for i, reply := range deleteScript.RunMany(ctx, t.client, calls) {
		t.writes.add(all[i].id)
		errs[i] = t.removed(ctx, all[i], reply)
	}
	return errs
}

// removed words what delete.lua replies.
func (t *table) removed(ctx context.Context, r *removal, reply rueidis.RedisResult) error {
	m, err := reply.ToMessage()
	if err != nil {
		return t.keyError(ctx, err)
	}
	left, err := t.written(r.id, m)
	for _, e := range left {
		_ = t.claims.release(ctx, r.id, e) // else whoever asks for the value takes it over
	}
	var replied *refers
	if !errors.As(err, &replied) {
		return err
	}
	if replied.field >= len(r.near) {
		return fmt.Errorf("%w: no field has the number %d", ErrCorrupt, replied.field)
	}
	by := r.near[replied.field]
	if len(replied.members) == 0 {
		return by.from.otherSchema()
	}
	return &referred{by, replied.members}
}
