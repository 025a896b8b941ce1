// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"retwis/internal/sleep"
)

// Pause waits before an attempt. The first two attempts do not wait; later attempts wait for a
// random time of up to 1 ms, doubled with each attempt up to 32 ms.
func Pause(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return ctx.Err()
	}
	maxWait := time.Millisecond << min(attempt-2, 5)
	if !sleep.For(ctx, rand.N(maxWait)+1) {
		return ctx.Err()
	}
	return nil
}
