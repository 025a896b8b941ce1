package suggest

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strconv"
	"time"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// Rebuild makes the index anew, beside the one that is in use, and puts it in
// its place in one step. The source yields how often each term was searched for,
// once a term or, as a log does, many times; blocked terms are passed over. What
// others write meanwhile wins over what the source says: of each term that they
// change, the new index has what the present one has.
//
// A rebuild that is cut short changes nothing, or with partitions at its very end
// some of them, and the next one begins afresh. What one leaves that was killed goes
// with the first write a minute later. Of two at the same time the later
// one counts, and the other ends with index.ErrReplaced. The
// report has in Checked how many counts came from the source.
func (x *Index) Rebuild(ctx context.Context, source iter.Seq2[Suggestion, error], opt maintain.Options) (report maintain.Report, err error) {
	defer x.wrap(&err)
	r := rebuild{Run: engine.Start(opt), x: x, id: rand.Text()}
	if err := r.run(ctx, source); err != nil {
		// So that writers need not keep track for it. It may be the database that
		// failed: then it ends when nothing has been heard of it for a minute.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = r.all(ending, "end", 0)
		return r.Report, fmt.Errorf("rebuild: %w", err)
	}
	return r.Report, nil
}

// keepAlive says again and again that the rebuild goes on, until it is stopped.
func (r *rebuild) keepAlive(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(r.x.set.Lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// Where it fails for too long, the steps of the rebuild are refused.
				_, _ = r.all(ctx, "beat", r.lease())
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// lease is after how many milliseconds it has ended, unless it is heard of.
func (r *rebuild) lease() int { return int(r.x.set.Lease.Milliseconds()) }

// rebuild is one run of Rebuild.
type rebuild struct {
	*engine.Run
	x  *Index
	id string
}

func (r *rebuild) run(ctx context.Context, source iter.Seq2[Suggestion, error]) error {
	if len(r.x.keys) > 1 {
		if err := r.x.set.Declare(ctx); err != nil {
			return err
		}
	}
	if _, err := r.all(ctx, "begin", r.lease()); err != nil {
		return err
	}
	defer r.keepAlive(ctx)()
	var batch []Suggestion
	for s, err := range source {
		if err != nil {
			return err
		}
		if batch = append(batch, s); len(batch) == batchTerms*pipeline {
			if err := r.fill(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := r.fill(ctx, batch); err != nil {
		return err
	}
	// Each partition is brought up and put in place by itself: no term is in two.
	for i := range r.x.keys {
		for more := true; more; {
			n, err := r.step(ctx, i, "catch", batchTerms)
			if err != nil {
				return err
			}
			if err := r.Pace(ctx, int(n)); err != nil {
				return err
			}
			more = n > 0
		}
	}
	return nil
}

// fill counts terms in the new index.
func (r *rebuild) fill(ctx context.Context, batch []Suggestion) error {
	if _, err := r.x.add(ctx, batch, r.id); err != nil {
		return r.x.rebuildError(ctx, err)
	}
	return r.Step(ctx, len(batch))
}

// all runs rebuild.lua on every partition.
func (r *rebuild) all(ctx context.Context, do string, most int) (n int64, err error) {
	for i := range r.x.keys {
		one, err := r.step(ctx, i, do, most)
		if err != nil {
			return n, err
		}
		n += one
	}
	return n, nil
}

func (r *rebuild) step(ctx context.Context, part int, do string, most int) (int64, error) {
	args := append(r.x.set.Args(), do, r.id, strconv.Itoa(most), strconv.Itoa(batchBytes))
	n, err := r.x.scripts.rebuild.Run(ctx, r.x.set.Client, r.x.keys[part].all(), args).AsInt64()
	return n, r.x.rebuildError(ctx, err)
}
