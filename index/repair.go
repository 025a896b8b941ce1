package index

import (
	"context"
	"slices"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
)

// repairer makes entries agree with their objects. A nil repairer does nothing.
type repairer struct {
	*target
	run    string
	lookup func(context.Context, []string) ([]Object[string], error)
}

// repairBatch is how many entries one script repairs.
const repairBatch = 50

// recheckTries bounds how often an id is looked at that is written all the time. Its
// writers leave it right.
const recheckTries = 10

// recheck makes ids agree with their objects, and returns how many it changed. It reads
// the index first, then the objects, and changes an id only if it was not written since:
// an older object never replaces a newer entry.
func (m *repairer) recheck(ctx context.Context, ids []string) (repaired int64, err error) {
	if m == nil {
		return 0, nil
	}
	byPart := make([][]string, len(m.set.Keys))
	for _, id := range ids {
		p := m.set.Index(id)
		byPart[p] = append(byPart[p], id)
	}
	for p, all := range byPart {
		for some := range slices.Chunk(all, repairBatch) {
			for try := 0; len(some) > 0 && try < recheckTries; try++ {
				n, again, err := m.once(ctx, &m.set.Keys[p], some)
				repaired += n
				if err != nil {
					return repaired, engine.Replaced(err)
				}
				some = again
			}
		}
	}
	return repaired, nil
}

// once is one try of recheck. It returns the ids that were written meanwhile.
func (m *repairer) once(ctx context.Context, keys *partition.Keys, ids []string) (repaired int64, again []string, err error) {
	head := append(m.set.Args(), m.run)
	now, err := m.watch.Run(ctx, m.set.Client, keys.All(), append(slices.Clone(head), ids...)).ToArray()
	if err != nil {
		return 0, nil, err
	}
	objects, err := m.lookup(ctx, ids)
	if err != nil {
		return 0, nil, err
	}
	want := make(map[string]string, len(objects))
	invalid := map[string]bool{} // left as they are
	for _, o := range objects {
		invalid[o.ID] = o.Err != nil || m.check(o.ID, o.Value) != nil
		want[o.ID] = o.Value
	}
	args := head
	var wrong []string
	for i, id := range ids {
		value, _ := now[i].ToString() // empty where the id is not in the index
		if !invalid[id] && m.normal(value) != want[id] {
			args = append(args, id, want[id])
			wrong = append(wrong, id)
		}
	}
	if len(wrong) == 0 {
		return 0, nil, nil
	}
	done, err := m.replace.Run(ctx, m.set.Client, keys.All(), args).AsIntSlice()
	if err != nil {
		return 0, nil, err
	}
	for i, n := range done {
		if n == 0 {
			again = append(again, wrong[i])
		} else {
			repaired++
		}
	}
	return repaired, again, nil
}
