package graph

import (
	"cmp"
	"context"
	"iter"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// Rebuild makes the graph anew from a source, which yields all triples that there should
// be, next to the present graph, which goes on to serve. The new one catches up with what
// is put and removed meanwhile, which wins over the source, and replaces the old one in
// one step of each partition. The report counts the triples of the source.
//
// A rebuild that fails leaves all as it was, except for partitions that it has replaced
// already. What a killed one left goes with the first write a minute later, or with
// Repair. If another one begins, it ends with maintain.ErrReplaced.
func (g *Graph) Rebuild(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	run := engine.Start(opt)
	var failed error // has its key already
	err := g.tracker.Rebuild(ctx, engine.Rebuild{Finish: g.finish, Fill: func(ctx context.Context, name string) error {
		failed = g.fillFrom(ctx, run, name, source)
		return failed
	}})
	return run.Report, cmp.Or(failed, g.wrap(ctx, err))
}

// fillFrom puts the triples of a source into the new graph.
func (g *Graph) fillFrom(ctx context.Context, run *engine.Run, name string, source iter.Seq2[Triple, error]) error {
	w := g.newWriter(ctx, g.fill, name)
	for some, err := range inBatches(source, step) {
		for i := 0; i < len(some) && err == nil; i++ {
			err = w.add(some[i])
		}
		if err == nil {
			err = run.Step(ctx, len(some))
		}
		if err != nil {
			_, _ = w.close() // the first error counts
			return err
		}
	}
	_, err := w.close()
	return err
}
