package index

import (
	"context"
	"fmt"
	"slices"

	"retwis/index/internal/partition"
)

// mender mends what a Verify finds. A nil mender mends nothing.
type mender struct {
	x      *Lexical
	name   string // of the run, where it has a source
	lookup func(context.Context, []string) ([]Object[string], error)
}

// mending is what mend.lua is to do in a partition.
type mending []string

func (m *mending) add(what, id, member string) { *m = append(*m, what, id, member) }

// mendBatch is how many entries one script mends.
const mendBatch = 50

// do mends entries that do not agree with what is beside them.
func (m *mender) do(ctx context.Context, r *run, keys *partition.Keys, todo mending) error {
	if m == nil {
		return nil
	}
	for some := range slices.Chunk(todo, 3*mendBatch) {
		n, err := m.x.mend.Run(ctx, m.x.set.Client, keys.All(), append(m.x.set.Args(), some...)).AsInt64()
		if err != nil {
			return err
		}
		r.report.Repaired += n
	}
	return nil
}

// recheckTries is how often an entry is looked at that others write all the time.
// They leave it right.
const recheckTries = 10

// recheck brings ids into line with their objects. It reads the index first, then
// the object, and changes the index only if nobody has written the id since: an
// older object can never replace a newer entry.
func (m *mender) recheck(ctx context.Context, r *run, ids []string) error {
	if m == nil {
		return nil
	}
	byPart := make([][]string, len(m.x.set.Keys))
	for _, id := range ids {
		p := m.x.set.Index(id)
		byPart[p] = append(byPart[p], id)
	}
	for p, all := range byPart {
		for some := range slices.Chunk(all, mendBatch) {
			for try := 0; len(some) > 0 && try < recheckTries; try++ {
				var err error
				if some, err = m.once(ctx, r, &m.x.set.Keys[p], some); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// once is one try of recheck; it returns the ids that were written meanwhile.
func (m *mender) once(ctx context.Context, r *run, keys *partition.Keys, ids []string) ([]string, error) {
	head := append(m.x.set.Args(), m.name)
	now, err := m.x.watch.Run(ctx, m.x.set.Client, keys.All(), append(slices.Clone(head), ids...)).ToArray()
	if err != nil {
		return nil, replaced(err)
	}
	objects, err := m.lookup(ctx, ids)
	if err != nil {
		return nil, err
	}
	want := make(map[string]string, len(objects))
	for _, o := range objects {
		if err := m.x.check(Member{o.ID, o.Value}); err != nil {
			return nil, fmt.Errorf("object %s: %w", shown(o.ID), err)
		}
		want[o.ID] = o.Value
	}
	args := head
	var wrong []string
	for i, id := range ids {
		member, _ := now[i].ToString() // none for one that is not there
		if member != want[id] {
			args = append(args, id, want[id])
			wrong = append(wrong, id)
		}
	}
	if len(wrong) == 0 {
		return nil, nil
	}
	done, err := m.x.replace.Run(ctx, m.x.set.Client, keys.All(), args).AsIntSlice()
	if err != nil {
		return nil, replaced(err)
	}
	var again []string
	for i, n := range done {
		if n == 0 {
			again = append(again, wrong[i])
		} else {
			r.report.Repaired++
		}
	}
	return again, nil
}
