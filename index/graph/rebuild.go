package graph

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"slices"
	"time"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/script"
	"retwis/maintain"
)

// Rebuild makes the graph anew from a source, which yields all triples that there
// should be. It is made beside the present one, which goes on to serve; what is
// put and deleted meanwhile is taken over at the end, and wins over what the
// source said. Then the new one takes the place of the old one in one step, of
// each partition. The report counts the triples of the source.
//
// A rebuild that fails leaves all as it was, but for partitions that it had put in
// their place already. One that is killed leaves writers with more to do until the
// next one begins, which starts afresh; of two at the same time the later one
// counts, and the other ends with index.ErrReplaced.
func (g *Graph) Rebuild(ctx context.Context, source iter.Seq2[Triple, error], up maintain.Options) (report maintain.Report, err error) {
	if err := g.declare(ctx); err != nil {
		return report, err
	}
	name := rand.Text()
	// The caller's time may be over; what was begun is given up all the same, where
	// another one has not come.
	giveUp := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return g.rebuilding(ctx, name, "0")
	}
	if err := g.rebuilding(ctx, name, "1"); err != nil {
		_ = giveUp() // the first error counts
		return report, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, giveUp())
		}
	}()
	run := engine.Start(up)
	defer func() { report = run.Report }()
	w := g.newWriter(ctx, g.build, name)
	for some, err := range inBatches(source, step) {
		for i := 0; i < len(some) && err == nil; i++ {
			err = w.add(some[i])
		}
		if err == nil {
			err = run.Step(ctx, len(some))
		}
		if err != nil {
			_, _ = w.close() // the first error counts
			return report, err
		}
	}
	if _, err := w.close(); err != nil {
		return report, err
	}
	for i := range g.set.Keys {
		if err := g.takePlace(ctx, name, i); err != nil {
			return report, err
		}
	}
	return report, nil
}

// rebuilding begins a rebuild in every partition, or gives it up.
func (g *Graph) rebuilding(ctx context.Context, name, begin string) error {
	for i := range g.set.Keys {
		args := append(g.set.Args(), name, begin)
		if err := g.begin.Run(ctx, g.set.Client, g.set.Keys[i].All(), args).Error(); err != nil {
			return g.wrap(ctx, err)
		}
	}
	return nil
}

// takePlace lets the new graph catch up in one partition, and take the place of
// the old one. Each script takes over a hundred triples, or fewer long ones; more
// and more of them go out together, so that writers in a hurry do not stay ahead
// for ever.
func (g *Graph) takePlace(ctx context.Context, name string, i int) error {
	call := script.Call{Keys: g.set.Keys[i].All(), Args: append(g.set.Args(), name)}
	for n := 1; ; n = min(2*n, 256) {
		for _, r := range g.swap.RunMany(ctx, g.set.Client, slices.Repeat([]script.Call{call}, n)) {
			switch n, err := r.AsInt64(); {
			case err != nil:
				return g.wrap(ctx, err)
			case n < 0:
				return g.wrap(ctx, index.ErrReplaced)
			case n > 0:
				return nil // those behind it found nothing to do
			}
		}
	}
}
