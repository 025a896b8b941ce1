// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits before another attempt: not before the first two, then for a random,
// growing time of up to 50 ms.
func Pause(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return ctx.Err()
	}
	most := time.Millisecond << min(attempt-2, 5)
	return Sleep(ctx, rand.N(min(most, 50*time.Millisecond))+1)
}

// Sleep waits for a time, or until the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
