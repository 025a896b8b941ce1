package record

import (
	"context"
	"errors"

	"retwis/model/internal/backoff"
	"retwis/model/internal/schema"
)

// retry retries after conflicts, with back-off.
func retry(ctx context.Context, f func() error) error {
	for attempt := 0; ; attempt++ {
		err := f()
		if !errors.Is(err, schema.ErrConflict) {
			return err
		}
		if backoff.Pause(ctx, attempt) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}
