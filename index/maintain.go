package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"retwis/index/internal/batch"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
	"retwis/maintain"
)

// target adapts an index to the maintenance engine. A value is what an id has in the
// index, as text; "" where the id is not in it.
type target struct {
	set            *partition.Set
	tracker        *engine.Tracker
	watch, replace script.Script // of a Repair with a source
	fill, finish   script.Script // of a Rebuild

	total    func(ctx context.Context) (int64, error)
	entries  func(ctx context.Context, c *checker) error // compares what is in the index
	values   func(ctx context.Context, ids []string) ([]string, error)
	check    func(id, value string) error
	describe func(value string) string
	normal   func(value string) string // the one way to write a value
	wrap     func(ctx context.Context, err error) error
}

// checker is a Verify or Repair under way.
type checker struct {
	target   *target
	engine   *engine.Run
	src      Source[string] // may be empty
	repair   bool
	repairer *repairer // of a Repair with a source, else nil
}

// errLookup is why a Repair cannot begin.
var errLookup = errors.New("Repair needs a source with Lookup, to compare again before it changes an entry")

func (t *target) verify(ctx context.Context, src *Source[string], opt maintain.Options) (maintain.Report, error) {
	c := t.checker(src, opt)
	err := c.run(ctx)
	return c.engine.Report, t.wrap(ctx, err)
}

// repair repairs an index, with a source or, where src is nil, by what it has itself.
func (t *target) repair(ctx context.Context, src *Source[string], opt maintain.Options) (maintain.Report, error) {
	c := t.checker(src, opt)
	c.repair = true
	var err error
	switch {
	case src == nil:
		err = c.run(ctx)
	case src.Lookup == nil:
		err = errLookup
	default:
		err = t.tracker.During(ctx, func(ctx context.Context, run string) error {
			c.repairer = &repairer{target: t, run: run, lookup: src.Lookup}
			return c.run(ctx)
		})
	}
	return c.engine.Report, t.wrap(ctx, err)
}

func (t *target) checker(src *Source[string], opt maintain.Options) *checker {
	c := &checker{target: t, engine: engine.Start(opt)}
	if src != nil {
		c.src = *src
	}
	return c
}

func (c *checker) run(ctx context.Context) (err error) {
	if err := c.target.set.Check(ctx); err != nil {
		return err
	}
	if c.engine.Total, err = c.target.total(ctx); err != nil {
		return err
	}
	if err := c.target.tracker.Leftovers(ctx, c.engine, c.repair); err != nil {
		return err
	}
	if err := c.target.entries(ctx, c); err != nil || c.src.All == nil {
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
			o.Err = c.target.check(o.ID, o.Value)
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

// compare reports and repairs the ids whose values in the index differ from those that
// they should have.
func (c *checker) compare(ctx context.Context, ids, wants []string) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := c.target.values(ctx, ids)
	if err != nil {
		return err
	}
	var wrong []string
	for i, id := range ids {
		if found[i] == wants[i] {
			continue
		}
		p := maintain.Problem{Kind: maintain.Missing, ID: id, Want: c.target.describe(wants[i])}
		if found[i] != "" {
			p.Kind, p.Found = maintain.Stale, c.target.describe(found[i])
		}
		c.engine.Found(p)
		wrong = append(wrong, id)
	}
	return c.recheck(ctx, wrong)
}

// recheck makes ids agree with their objects, in a Repair with a source.
func (c *checker) recheck(ctx context.Context, ids []string) error {
	n, err := c.repairer.recheck(ctx, ids)
	c.engine.Report.Repaired += n
	return err
}

// known returns which ids have an object.
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

// rebuild fills a new index from a source and puts it in the place of the old.
func (t *target) rebuild(ctx context.Context, src Source[string], opt maintain.Options) (maintain.Report, error) {
	r := engine.Start(opt)
	if src.All == nil {
		return r.Report, t.wrap(ctx, errors.New("the source has no All"))
	}
	err := t.tracker.Rebuild(ctx, engine.Rebuild{Finish: t.finish, Fill: func(ctx context.Context, run string) error {
		w, err := batch.New(ctx, t.set, t.fill, append(t.set.Args(), run))
		if err != nil {
			return err
		}
		return t.fillFrom(ctx, r, w, src)
	}})
	return r.Report, t.wrap(ctx, err)
}

// fillFrom puts all objects of a source into the new index.
func (t *target) fillFrom(ctx context.Context, r *engine.Run, w *batch.Writer, src Source[string]) error {
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
			err = t.check(o.ID, o.Value)
		}
		if err == nil {
			err = w.Add(o.ID, o.Value)
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
