package entries

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/batch"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// checker is a Verify or Repair in progress.
type checker struct {
	x        *Index
	engine   *engine.Run
	src      Source // may be empty
	repair   bool
	repairer *repairer // only for a Repair with a source, else nil
}

// pageSize is the number of entries or objects in a step of maintenance.
const pageSize = 200

// errLookup is returned by a Repair whose source has no Lookup.
var errLookup = errors.New("Repair needs a source with Lookup, to compare each entry again before changing it")

// Verify compares the entries with the reverse index, unless the index is scored, and with the
// objects of src, unless src is nil, in steps of 200.
func (x *Index) Verify(ctx context.Context, src *Source, opt maintain.Options) (maintain.Report, error) {
	c := x.checker(src, opt)
	err := c.run(ctx)
	return c.engine.Report, x.Wrap(ctx, err)
}

// Repair corrects what Verify reports, from src or, if src is nil, from the index itself.
// Objects win over the reverse index, which wins over the entries. Each entry is compared again
// in the step that changes it, so that concurrent writes are kept.
//
// Lost parts of the reverse index are restored from the entries. If an id has several entries,
// only its object can show the right one; without the object, the entries are reported and kept.
func (x *Index) Repair(ctx context.Context, src *Source, opt maintain.Options) (maintain.Report, error) {
	c := x.checker(src, opt)
	c.repair = true
	var err error
	switch {
	case src == nil:
		err = c.run(ctx)
	case src.Lookup == nil:
		err = errLookup
	default:
		err = x.Tracker.During(ctx, func(ctx context.Context, run string) error {
			c.repairer = &repairer{Index: x, run: run, lookup: src.Lookup}
			return c.run(ctx)
		})
	}
	return c.engine.Report, x.Wrap(ctx, err)
}

// checker returns a checker for a Verify.
func (x *Index) checker(src *Source, opt maintain.Options) *checker {
	c := &checker{x: x, engine: engine.Start(opt)}
	if src != nil {
		c.src = *src
	}
	return c
}

func (c *checker) run(ctx context.Context) (err error) {
	set := c.x.Set
	if err := set.Check(ctx); err != nil {
		return err
	}
	c.engine.Total, err = set.Sum(ctx, func(k *partition.Keys) rueidis.Completed {
		if c.x.opt.Scored {
			return set.Client.B().Zcard().Key(k.Index).Build()
		}
		return set.Client.B().Hlen().Key(k.Content).Build()
	})
	if err != nil {
		return err
	}
	if err := c.x.Tracker.Leftovers(ctx, c.engine, c.repair); err != nil {
		return err
	}
	if err := c.entries(ctx); err != nil || c.src.All == nil {
		return err
	}
	return c.objects(ctx)
}

// objects compares the objects of the source with the index.
func (c *checker) objects(ctx context.Context) error {
	var ids, wants []string
	invalid := 0
	step := func() error {
		err := c.compare(ctx, ids, wants)
		n := len(ids) + invalid
		ids, wants, invalid = nil, nil, 0
		if err != nil {
			return err
		}
		return c.engine.Step(ctx, n)
	}
	for o, err := range c.src.All(ctx) {
		if err != nil {
			return err
		}
		if o.Err == nil {
			o.Err = c.x.Check(o.ID, o.Value)
		}
		if o.Err != nil {
			c.engine.Found(maintain.Problem{Kind: maintain.Invalid, ID: o.ID, Found: o.Err.Error()})
			invalid++
		} else {
			ids, wants = append(ids, o.ID), append(wants, o.Value)
		}
		if len(ids)+invalid == pageSize {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}

// compare reports and repairs ids whose values in the index differ from wants.
func (c *checker) compare(ctx context.Context, ids, wants []string) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := c.x.values(ctx, ids)
	if err != nil {
		return err
	}
	var mismatched []string
	for i, id := range ids {
		if found[i] == wants[i] {
			continue
		}
		p := maintain.Problem{Kind: maintain.Missing, ID: id, Want: c.x.opt.Describe(wants[i])}
		if found[i] != "" {
			p.Kind, p.Found = maintain.Stale, c.x.opt.Describe(found[i])
		}
		c.engine.Found(p)
		mismatched = append(mismatched, id)
	}
	return c.recheck(ctx, mismatched)
}

// recheck makes ids agree with their objects if this is a Repair with a source.
func (c *checker) recheck(ctx context.Context, ids []string) error {
	n, err := c.repairer.recheck(ctx, ids)
	c.engine.Report.Repaired += n
	return err
}

// known returns the set of ids that have an object.
func (c *checker) known(ctx context.Context, ids []string) (map[string]bool, error) {
	objects, err := c.src.Lookup(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(objects))
	for _, o := range objects {
		known[o.ID] = true
	}
	return known, nil
}

// Rebuild builds a new index from a source while the old index serves queries. Once the new
// index has caught up with all concurrent writes, it replaces the old index, in one atomic step
// per partition. Concurrent writes win over the source. Other ids are removed.
//
// A run that fails or whose context ends changes nothing, except for partitions already
// replaced. Leftovers of a killed run are removed by Repair, or by the first write a minute
// later.
func (x *Index) Rebuild(ctx context.Context, src *Source, opt maintain.Options) (maintain.Report, error) {
	r := engine.Start(opt)
	if src.All == nil {
		return r.Report, x.Wrap(ctx, errSource)
	}
	err := x.Tracker.Rebuild(ctx, engine.Rebuild{Finish: x.Scripts.Finish, Fill: func(ctx context.Context, run string) error {
		w, err := x.newWriter(ctx, x.Scripts.Fill, run)
		if err != nil {
			return err
		}
		return x.fillFrom(ctx, r, w, src)
	}})
	return r.Report, x.Wrap(ctx, err)
}

// fillFrom puts all objects of a source into the new index.
func (x *Index) fillFrom(ctx context.Context, r *engine.Run, w *batch.Writer[Entry], src *Source) error {
	size := batch.Window
	if r.Limited() {
		size = pageSize
	}
	n := 0
	step := func() error {
		err := w.Close()
		if err == nil {
			err = r.Step(ctx, n)
		}
		n = 0
		return err
	}
	for o, err := range src.All(ctx) {
		if err = cmp.Or(err, o.Err); err == nil {
			err = x.Check(o.ID, o.Value)
		}
		if err == nil {
			err = w.Add(Entry{o.ID, o.Value})
		}
		if err != nil {
			return cmp.Or(err, w.Close())
		}
		if n++; n == size {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}

// repairer makes entries agree with their objects. A nil repairer does nothing.
type repairer struct {
	*Index
	run    string
	lookup func(context.Context, []string) ([]Object, error)
}

// repairBatch is the number of entries repaired by one script.
const repairBatch = 50

// recheckTries limits the attempts for an id that is written continuously. Its writers leave the
// entry correct anyway.
const recheckTries = 10

// recheck makes ids agree with their objects, and returns the number of changed ids. It reads
// the index first, then the objects, and changes an id only if the id was not written since, so
// an older object never replaces a newer entry.
func (m *repairer) recheck(ctx context.Context, ids []string) (repaired int64, err error) {
	if m == nil {
		return 0, nil
	}
	byPart := make([][]string, len(m.Set.Keys))
	for _, id := range ids {
		p := m.Set.Index(id)
		byPart[p] = append(byPart[p], id)
	}
	for p, all := range byPart {
		for pending := range slices.Chunk(all, repairBatch) {
			for try := 0; len(pending) > 0 && try < recheckTries; try++ {
				n, retry, err := m.recheckOnce(ctx, &m.Set.Keys[p], pending)
				repaired += n
				if err != nil {
					return repaired, engine.Replaced(err)
				}
				pending = retry
			}
		}
	}
	return repaired, nil
}

// recheckOnce is one attempt of recheck. It returns the ids that were written concurrently.
func (m *repairer) recheckOnce(ctx context.Context, keys *partition.Keys, ids []string) (repaired int64, retry []string, err error) {
	head := append(m.Set.Args(), m.run)
	values, err := m.Scripts.Watch.Run(ctx, m.Set.Client, keys.All(), append(slices.Clone(head), ids...)).ToArray()
	if err != nil {
		return 0, nil, err
	}
	objects, err := m.lookup(ctx, ids)
	if err != nil {
		return 0, nil, err
	}
	want := make(map[string]string, len(objects))
	invalid := map[string]bool{} // ids that are not changed
	for _, o := range objects {
		invalid[o.ID] = o.Err != nil || m.Check(o.ID, o.Value) != nil
		want[o.ID] = o.Value
	}
	args := head
	var mismatched []string
	for i, id := range ids {
		value, err := m.valueOf(values[i])
		if err != nil {
			return 0, nil, err
		}
		if !invalid[id] && value != want[id] {
			args = append(args, id, want[id])
			mismatched = append(mismatched, id)
		}
	}
	if len(mismatched) == 0 {
		return 0, nil, nil
	}
	replaced, err := m.Scripts.Replace.Run(ctx, m.Set.Client, keys.All(), args).AsIntSlice()
	if err != nil {
		return 0, nil, err
	}
	for i, n := range replaced {
		if n == 0 {
			retry = append(retry, mismatched[i])
		} else {
			repaired++
		}
	}
	return repaired, retry, nil
}
