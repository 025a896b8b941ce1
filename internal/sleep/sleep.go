// Package sleep waits for a duration, or until a context ends.
package sleep

import (
	"context"
	"time"
)

// For waits until d has passed or ctx ends, and reports whether d has passed.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
