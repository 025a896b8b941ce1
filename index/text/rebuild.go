package text

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/script"
	"retwis/maintain"
)

// cleanupTimeout limits the time for removing the keys of a failed rebuild. Repair removes the
// remaining keys.
const cleanupTimeout = 5 * time.Second

// Rebuild builds a new index from a source while the current index serves queries. The new
// index then replaces the current one, partition by partition. Concurrent writes change both
// indexes, and win over the source. Removed ids stay marked. The report counts the documents of
// the source.
//
// A failed rebuild changes nothing, except for partitions already replaced. Leftovers of a
// killed rebuild are removed by Repair or the next Rebuild. If another rebuild starts, the first
// rebuild returns maintain.ErrReplaced. The new index is correct whatever the damage of the
// current index.
func (x *Index) Rebuild(ctx context.Context, src index.Source[Document], opt maintain.Options) (maintain.Report, error) {
	r := &rebuild{x: x.store, run: engine.Start(opt), src: src, generations: make([]generations, len(x.store.keys))}
	if src.All == nil {
		return r.run.Report, x.store.fail(ctx, errors.New("the source has no All"))
	}
	err := r.begin(ctx)
	if err == nil {
		err = x.store.tracker().During(ctx, r.build)
	}
	cleanCtx := ctx
	if err != nil {
		var cancel context.CancelFunc
		cleanCtx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
	}
	if err = cmp.Or(err, r.clean(cleanCtx)); err == nil {
		err = r.resolve(ctx)
	}
	return r.run.Report, x.store.fail(ctx, engine.Replaced(err))
}

// tracker returns the tracker of repairs and rebuilds.
func (x *store) tracker() *engine.Tracker { return engine.NewTracker(x.set, nil) }

// rebuild is a Rebuild in progress.
type rebuild struct {
	x           *store
	run         *engine.Run
	src         index.Source[Document]
	generations []generations // per partition, as of the start
	changed     []int64       // documents that conflicted in the new generation
}

// begin ensures that each partition with keys has metadata.
func (r *rebuild) begin(ctx context.Context) error {
	highest, err := r.x.highest(ctx, r.run)
	if err != nil {
		return err
	}
	return r.x.raise(ctx, highest)
}

// build builds the next generation and puts it in place.
func (r *rebuild) build(ctx context.Context, run string) error {
	for i := range r.x.keys {
		reply, err := r.script(ctx, r.x.scripts.next, i, run).AsStrSlice()
		if err != nil {
			return err
		}
		r.generations[i] = generations{current: reply[0], next: reply[1]}
		r.x.state[i].Store(&r.generations[i])
	}
	if err := r.fill(ctx, run); err != nil {
		return err
	}
	if err := r.keepMarks(ctx, run); err != nil {
		return err
	}
	for i := range r.x.keys {
		changed, err := r.script(ctx, r.x.scripts.finish, i, run).AsIntSlice()
		if err != nil {
			return err
		}
		r.changed = append(r.changed, changed...)
		r.x.state[i].Store(&generations{current: r.generations[i].next})
	}
	return nil
}

// script runs a script of the rebuild in a partition.
func (r *rebuild) script(ctx context.Context, s script.Script, part int, run string, args ...string) rueidis.RedisResult {
	args = append(append(r.x.set.Args(), run), args...)
	return s.Run(ctx, r.x.set.Client, r.x.keys[part].All(), args)
}

// fill writes the documents of the source to the next generation.
func (r *rebuild) fill(ctx context.Context, run string) error {
	var firstErr error
	var batch []index.Object[Document]
	flush := func() {
		var invalid error
		_, err := writer{store: r.x, generations: r.generations}.putMany(ctx, documents(batch, &invalid), run)
		firstErr = cmp.Or(invalid, err, r.run.Step(ctx, len(batch)))
		batch = batch[:0]
	}
	for o, err := range r.src.All(ctx) {
		if err = cmp.Or(err, o.Err); err != nil {
			return err
		}
		if batch = append(batch, o); len(batch) == batchDocuments {
			if flush(); firstErr != nil {
				return firstErr
			}
		}
	}
	flush()
	return firstErr
}

// documents yields the documents of objects, up to the first invalid object.
func documents(objects []index.Object[Document], invalid *error) iter.Seq2[int64, Document] {
	return func(yield func(int64, Document) bool) {
		for _, o := range objects {
			id, err := parseID(o.ID)
			if err != nil {
				*invalid = err
				return
			}
			if !yield(id, o.Value) {
				return
			}
		}
	}
}

// keepMarks copies the marks of removed documents to the next generation.
func (r *rebuild) keepMarks(ctx context.Context, run string) error {
	return r.x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			if k.kind != "ids" || k.generation != r.generations[k.part].current {
				continue
			}
			if err := r.copyMarks(ctx, run, k); err != nil {
				return err
			}
		}
		return r.run.Pace(ctx, 0)
	})
}

// copyMarks copies the marks in a hash of records.
func (r *rebuild) copyMarks(ctx context.Context, run string, k storedKey) error {
	records, err := r.x.set.Client.Do(ctx, r.x.set.Client.B().Hgetall().Key(k.key).Build()).AsStrMap()
	if err != nil {
		return nil // a damaged key must not prevent a rebuild
	}
	keys := append(r.x.keys[k.part].All(), r.x.keys[k.part].forGeneration(r.generations[k.part].next, true).prefix+"ids:"+k.name)
	args := append(r.x.set.Args(), run)
	for field, record := range records {
		if _, valid := r.x.idAt(k.part, k.key, field); valid && record == removed {
			args = append(args, field)
		}
	}
	if len(args) == 4 {
		return nil
	}
	return r.x.scripts.marks.Run(ctx, r.x.set.Client, keys, args).Error()
}

// clean removes unused generations: generations that the rebuild has replaced or failed to put
// in place, and leftovers of killed rebuilds. It asks the server which generation is in use,
// since the reply of the replacement may have been lost.
func (r *rebuild) clean(ctx context.Context) error {
	if r.generations[0].next == "" { // no generation was started
		return nil
	}
	used := make([]string, len(r.generations))
	for i, g := range r.generations {
		s, err := r.x.readState(ctx, i)
		if err != nil {
			return err
		}
		if used[i] = cmp.Or(g.current, "0"); s.current == g.next {
			used[i] = g.next
		}
	}
	_, err := r.x.drop(ctx, func(k storedKey) bool {
		last, _ := strconv.ParseInt(r.generations[k.part].next, 10, 64) // 0 if none; later rebuilds use higher numbers
		return k.number <= last && k.generation != used[k.part]
	}, nil)
	return err
}

// resolve corrects documents that were written concurrently while the index and the source had
// different texts for the documents.
func (r *rebuild) resolve(ctx context.Context) error {
	if len(r.changed) == 0 {
		return nil
	}
	slices.Sort(r.changed)
	c := &documentCheck{run: &checker{Run: r.run, x: r.x, src: r.src, repair: r.src.Lookup != nil}}
	for _, id := range slices.Compact(r.changed) {
		if err := c.suspect(ctx, id, maintain.Problem{Kind: maintain.Stale, ID: strconv.FormatInt(id, 10), Found: "a concurrent write of another text"}); err != nil {
			return err
		}
	}
	return c.flush(ctx)
}
