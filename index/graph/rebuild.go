package graph

import (
	"cmp"
	"context"
	"iter"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// Rebuild builds a new graph from a source, which yields all its triples, beside the one in
// use, and replaces that atomically, partition by partition. Concurrent writes win over
// the source. The report counts the triples of the source.
//
// A rebuild that fails changes nothing, except for partitions that it has replaced
// already. The rest of a killed one is removed a minute later, by the next write or Repair.
// If another one starts, it ends with maintain.ErrReplaced.
func (g *Graph) Rebuild(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	run := engine.Start(opt)
	var failed error // has its key already
	err := g.tracker.Rebuild(ctx, engine.Rebuild{Finish: g.finish, Fill: func(ctx context.Context, name string) error {
		failed = g.fillFrom(ctx, run, name, source)
		return failed
	}})
	return run.Report, cmp.Or(failed, g.store.wrap(ctx, err))
}

// fillFrom puts the triples of a source into the new graph.
func (g *Graph) fillFrom(ctx context.Context, run *engine.Run, name string, source iter.Seq2[Triple, error]) error {
	w := g.newWriter(ctx, g.fill, name)
	for some, err := range inBatches(source, readSize) {
		for i := 0; i < len(some) && err == nil; i++ {
			err = w.add(some[i])
		}
		if err == nil {
			err = run.Step(ctx, len(some))
		}
		if err != nil {
			_, _ = w.close() // err came first
			return err
		}
	}
	_, err := w.close()
	return err
}
