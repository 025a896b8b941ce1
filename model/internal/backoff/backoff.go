// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"retwis/internal/sleep"
)

// Pause waits before an attempt. The first two attempts do not wait; later ones wait for a
// random, growing time of up to 50 ms.
func Pause(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return ctx.Err()
	}
	most := time.Millisecond << min(attempt-2, 5)
	if !sleep.For(ctx, rand.N(min(most, 50*time.Millisecond))+1) {
		return ctx.Err()
	}
	return nil
}
