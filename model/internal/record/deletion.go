package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// deletion deletes a record and, by the rules of their fields, the records that refer to it,
// depth first: a record is deleted once no other record refers to it. The path is a list rather
// than a recursion, so that a long chain of references needs no deep stack.
type deletion struct {
	path   []*deletingRecord
	inPath map[recordRef]bool // the entered records of path
}

// recordRef is a record of a table.
type recordRef struct {
	t  *Table
	id string
}

// deletingRecord is a record that will be deleted.
type deletingRecord struct {
	recordRef
	via     *schema.Entry // delete it only while it refers to the previous record by this entry
	entered bool          // the record is being processed
	gone    bool          // the record has been deleted; references are searched once more
	passed  map[*referrer][]string
	idle    int // number of attempts without effect
}

// Limits of a deletion.
const (
	maxPassed        = 1000 // records in the path that refer to the same record
	maxIdle          = 100  // attempts to clear a persistent reference
	concurrentClears = 16   // records cleared concurrently
	farBatch         = 100  // members read together from an index outside the script
)

// Delete deletes a record by the rules of the fields that refer to it.
func (t *Table) Delete(ctx context.Context, id string) error {
	d := &deletion{inPath: map[recordRef]bool{}}
	d.push(t, nil, id)
	for len(d.path) > 0 {
		top := d.path[len(d.path)-1]
		if !top.entered {
			top.entered = true
			d.inPath[top.recordRef] = true
		}
		done, err := d.step(ctx, top)
		if len(d.path) > 1 && isGone(err) {
			done, err = true, nil // another process has deleted the record
		}
		if err != nil {
			return err
		}
		if done {
			d.path = d.path[:len(d.path)-1]
			delete(d.inPath, top.recordRef)
		}
	}
	return nil
}

// isGone reports whether an error means that there is nothing left to delete.
func isGone(err error) bool { return errors.Is(err, schema.ErrNotFound) || errors.Is(err, errLeft) }

// push appends records to the path.
func (d *deletion) push(t *Table, via *schema.Entry, ids ...string) {
	for _, id := range ids {
		d.path = append(d.path, &deletingRecord{recordRef: recordRef{t, id}, via: via, passed: map[*referrer][]string{}})
	}
}

// step handles some of the records that refer to a record, or deletes the record if there are
// none. It reports whether the record is done.
func (d *deletion) step(ctx context.Context, f *deletingRecord) (bool, error) {
	near, far, err := f.t.References.fields(ctx)
	if err != nil {
		return false, err
	}
	again := false // search for references created meanwhile
	for _, r := range f.toRead(near, far) {
		again = again || r.rule != schema.Restrict
		members, err := r.far(ctx, f)
		if err != nil {
			return false, fmt.Errorf("%s of %s: %w", r.field, r.from.Options.Name, err)
		}
		exists := true
		if len(members) > 0 && r.rule == schema.Restrict {
			if exists, err = f.t.Rows.ExistMany(ctx, []string{f.id})[0].AsBool(); err != nil {
				return false, err
			}
		}
		if len(members) > 0 && exists {
			return false, d.applyRule(ctx, f, r, members)
		}
	}
	if f.gone {
		return true, nil
	}
	err = f.t.remove(ctx, &removal{id: f.id, via: f.via, near: near, passed: f.passed})
	var by *referred
	if errors.As(err, &by) {
		members, err := by.by.far(ctx, f)
		if err != nil || len(members) == 0 {
			return false, err
		}
		return false, d.applyRule(ctx, f, by.by, members)
	}
	f.gone = again
	return err == nil && !again, err
}

// toRead returns the fields whose indexes are read separately from the script. If there are
// fields in other slots, these are all fields with the rule restrict, then the other far
// fields.
func (f *deletingRecord) toRead(near, far []*referrer) []*referrer {
	var restricting, others []*referrer
	for _, r := range far {
		if r.rule != schema.Restrict {
			others = append(others, r)
		}
	}
	if f.gone {
		return others
	}
	for _, r := range slices.Concat(far, near) {
		if r.rule == schema.Restrict && len(far) > 0 {
			restricting = append(restricting, r)
		}
	}
	return append(restricting, others...)
}

// applyRule applies a rule to referring records. Referring records in the path are ignored,
// since they will be deleted.
func (d *deletion) applyRule(ctx context.Context, f *deletingRecord, r *referrer, members []string) error {
	entry, err := r.entry(f.id)
	if err != nil {
		return err
	}
	via := &entry
	var ids []string
	for _, member := range members {
		id := r.id(entry, member)
		if d.inPath[recordRef{r.from, id}] {
			f.passed[r] = append(f.passed[r], member)
		} else {
			ids = append(ids, id)
		}
	}
	switch {
	case len(f.passed[r]) > maxPassed:
		return fmt.Errorf("%w: id %q is in more than %d cycles of references", schema.ErrReferenced, schema.Shorten(f.id), maxPassed)
	case len(ids) == 0:
		return nil
	case r.rule == schema.Restrict:
		return r.restricted(ctx, ids, via)
	case r.rule == schema.Clear:
		return f.cleared(ctx, r, ids, via)
	}
	return d.cascade(ctx, r, ids, via)
}

// cascade deletes records that no record refers to, in one pipeline, and adds the other records to
// the path.
func (d *deletion) cascade(ctx context.Context, r *referrer, ids []string, via *schema.Entry) error {
	near, far, err := r.from.References.fields(ctx)
	if err != nil {
		return err
	}
	if len(far) > 0 {
		d.push(r.from, via, ids...)
		return nil
	}
	removals := make([]*removal, len(ids))
	for i, id := range ids {
		removals[i] = &removal{id: id, via: via, near: near}
	}
	for i, err := range r.from.removeMany(ctx, removals) {
		var by *referred
		switch {
		case errors.As(err, &by):
			d.push(r.from, via, ids[i])
		case err != nil && !isGone(err):
			return r.wrap(ids[i], err)
		}
	}
	return nil
}

// cleared removes the references of records to the record to be deleted.
func (f *deletingRecord) cleared(ctx context.Context, r *referrer, ids []string, via *schema.Entry) error {
	var mu sync.Mutex
	var failed error
	var kept string
	var work sync.WaitGroup
	queue := make(chan string)
	for range min(concurrentClears, len(ids)) {
		work.Go(func() {
			for id := range queue {
				err := r.clearOne(ctx, id, f.id, via)
				mu.Lock()
				if errors.Is(err, errKept) {
					kept, err = id, nil
				}
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		queue <- id
	}
	close(queue)
	work.Wait()
	if kept != "" {
		f.idle++
	}
	if f.idle > maxIdle {
		return r.wrap(kept, fmt.Errorf("%w: index %s has an entry for a reference to id %q that the record does not have: run Repair", schema.ErrCorrupt, r.index.Name, schema.Shorten(f.id)))
	}
	return failed
}

// far reads members of an index that refer to a record, from the first partition that has any.
// It checks the declaration of the referring model, as apply.lua does.
func (r *referrer) far(ctx context.Context, f *deletingRecord) ([]string, error) {
	entry, err := r.entry(f.id)
	if err != nil {
		return nil, err
	}
	t, passed := r.from, f.passed[r]
	var commands rueidis.Commands
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		key, from, to := r.members(p, entry)
		limit := int64(farBatch + len(passed))
		read := t.Client.B().Zrange().Key(key).Min("0").Max(strconv.FormatInt(limit-1, 10)).Build()
		if from != "" {
			read = t.Client.B().Zrange().Key(key).Min(from).Max(to).Bylex().Limit(0, limit).Build()
		}
		commands = append(commands, t.Client.B().Hmget().Key(p.Meta).Field("digest", "also", "token").Build(), read)
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

// restricted returns an error if one of the records exists. It removes the index entries of
// missing records.
func (r *referrer) restricted(ctx context.Context, ids []string, via *schema.Entry) error {
	for i, reply := range r.from.Rows.ExistMany(ctx, ids) {
		exists, err := reply.AsBool()
		if err != nil {
			return r.wrap(ids[i], err)
		}
		if !exists {
			if err := r.forget(ctx, ids[i], via); err != nil && !errors.Is(err, errKept) {
				return err
			}
			continue
		}
		return &schema.ReferencedError{Model: r.from.Options.Name, Field: r.field, ID: ids[i]}
	}
	return nil
}

// clearOne removes the references to a target from one record. If there are none, it removes
// the entry from the index; errKept means that the entry still exists.
func (r *referrer) clearOne(ctx context.Context, id, target string, via *schema.Entry) error {
	cleared, err := r.clear(ctx, id, target)
	if cleared {
		return nil
	}
	if err != nil && !errors.Is(err, schema.ErrNotFound) {
		return r.wrap(id, err)
	}
	return r.forget(ctx, id, via)
}

// forget removes the index entry of a record that does not exist or no longer has the
// reference. Otherwise it returns errKept.
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

// wrap adds the referring record to an error.
func (r *referrer) wrap(id string, err error) error {
	return fmt.Errorf("%s of %s %s, which refers to it: %w", r.field, r.from.Options.Name, schema.Shorten(id), err)
}
