package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/internal/script"
)

// kept is what upkeep has to know of an index that is compared with objects. A
// value is what an id has in it, as text; empty: it is not there.
type kept struct {
	set            *partition.Set
	noting         noting
	watch, replace script.Script
	values         func(ctx context.Context, ids []string) ([]string, error)
	check          func(id, value string) error
	describe       func(value string) string
	normal         func(value string) string // the one way to write a value
}

// mender mends what a Verify finds. A nil mender mends nothing.
type mender struct {
	*kept
	name   string // of the run, where it has a source
	lookup func(context.Context, []string) ([]Object[string], error)
}

// errLookup is why a Repair cannot begin.
var errLookup = errors.New("to repair needs a source with Lookup, to look again before it changes an entry")

// repairing runs a function with a mender that knows the objects.
func (k *kept) repairing(ctx context.Context, lookup func(context.Context, []string) ([]Object[string], error), f func(*mender) error) error {
	if lookup == nil {
		return wrap(ctx, k.set, errLookup)
	}
	if err := k.set.Check(ctx); err != nil {
		return wrap(ctx, k.set, err)
	}
	var failed error // f has worded it
	err := k.noting.during(ctx, k.set, func(_ context.Context, name string) error {
		failed = f(&mender{kept: k, name: name, lookup: lookup})
		return failed
	})
	return cmp.Or(failed, wrap(ctx, k.set, err))
}

// mendBatch is how many entries one script mends.
const mendBatch = 50

// recheckTries is how often an entry is looked at that others write all the time.
// They leave it right.
const recheckTries = 10

// recheck brings ids into line with their objects. It reads the index first, then
// the object, and changes the index only if nobody has written the id since: an
// older object can never replace a newer entry.
func (m *mender) recheck(ctx context.Context, r *engine.Run, ids []string) error {
	if m == nil {
		return nil
	}
	byPart := make([][]string, len(m.set.Keys))
	for _, id := range ids {
		p := m.set.Index(id)
		byPart[p] = append(byPart[p], id)
	}
	for p, all := range byPart {
		for some := range slices.Chunk(all, mendBatch) {
			for try := 0; len(some) > 0 && try < recheckTries; try++ {
				var err error
				if some, err = m.once(ctx, r, &m.set.Keys[p], some); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// once is one try of recheck; it returns the ids that were written meanwhile.
func (m *mender) once(ctx context.Context, r *engine.Run, keys *partition.Keys, ids []string) ([]string, error) {
	head := append(m.set.Args(), m.name)
	now, err := m.watch.Run(ctx, m.set.Client, keys.All(), append(slices.Clone(head), ids...)).ToArray()
	if err != nil {
		return nil, replaced(err)
	}
	objects, err := m.lookup(ctx, ids)
	if err != nil {
		return nil, err
	}
	want := make(map[string]string, len(objects))
	left := map[string]bool{} // what they say cannot be in the index
	for _, o := range objects {
		left[o.ID] = o.Err != nil || m.check(o.ID, o.Value) != nil
		want[o.ID] = o.Value
	}
	args := head
	var wrong []string
	for i, id := range ids {
		value, _ := now[i].ToString() // none for one that is not there
		if !left[id] && m.normal(value) != want[id] {
			args = append(args, id, want[id])
			wrong = append(wrong, id)
		}
	}
	if len(wrong) == 0 {
		return nil, nil
	}
	done, err := m.replace.Run(ctx, m.set.Client, keys.All(), args).AsIntSlice()
	if err != nil {
		return nil, replaced(err)
	}
	var again []string
	for i, n := range done {
		if n == 0 {
			again = append(again, wrong[i])
		} else {
			r.Report.Repaired++
		}
	}
	return again, nil
}
