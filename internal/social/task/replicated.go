package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/internal/sleep"
)

// ErrBehind: replicas have not acknowledged what was written.
var ErrBehind = errors.New("the replicas are too far behind")

// lookEvery is the pause between two looks at the replicas.
const lookEvery = 50 * time.Millisecond

// Replicated runs write and returns when a replica of each master that has one has
// acknowledged what it wrote, so that a failover does not lose it. write is repeated
// where a master was restarted or failed over meanwhile. It returns ErrBehind after
// timeout.
func (o *Observer) Replicated(ctx context.Context, timeout time.Duration, write func(context.Context) error) error {
	for began := time.Now(); ; {
		before, err := o.observe(ctx)
		if err != nil {
			return err
		}
		if err := write(ctx); err != nil {
			return err
		}
		target, err := o.observe(ctx)
		if err != nil {
			return err
		}
		now := target
		for now.identity == before.identity {
			if now.acknowledge(target) {
				return nil
			}
			if time.Since(began) > timeout {
				return fmt.Errorf("%w: they have not acknowledged it after %v", ErrBehind, timeout)
			}
			if !sleep.For(ctx, lookEvery) {
				return ctx.Err()
			}
			if now, err = o.observe(ctx); err != nil {
				return err
			}
		}
	}
}

// acknowledge reports whether a replica of each master that has one has acknowledged
// what its master had written at an earlier moment.
func (now masters) acknowledge(then masters) bool {
	for i, m := range now.all {
		if m.replicas > 0 && m.acked < then.all[i].offset {
			return false
		}
	}
	return true
}
