package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// retry tries again after a conflict, with growing pauses.
func retry(ctx context.Context, f func() error) error {
	for attempt := 0; ; attempt++ {
		err := f()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if pause(ctx, attempt) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// pause waits before another attempt: not before the first two, then for a random,
// growing time of up to 50 ms.
func pause(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return ctx.Err()
	}
	most := time.Millisecond << min(attempt-2, 5)
	return sleep(ctx, rand.N(min(most, 50*time.Millisecond))+1)
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
