package import2009

import (
	"context"
	"fmt"
	"sync/atomic"
)

// counts counts the imported and the skipped entries.
type counts struct {
	users, followed, posted, skipped atomic.Int64
	warned                           atomic.Int64
}

func (c *counts) result() Result {
	return Result{Users: c.users.Load(), Follows: c.followed.Load(), Posts: c.posted.Load(), Skipped: c.skipped.Load()}
}

// maxWarnings is how many damaged entries are logged individually.
const maxWarnings = 100

// skip reports an entry that cannot be imported.
func (r *run) skip(ctx context.Context, key, format string, args ...any) {
	r.skipped.Add(1)
	r.warn(ctx, "skipped an entry", "key", key, "reason", fmt.Sprintf(format, args...))
}

// warn logs a warning, up to maxWarnings times.
func (r *run) warn(ctx context.Context, message string, args ...any) {
	if r.warned.Add(1) <= maxWarnings {
		r.Log.WarnContext(ctx, message, args...)
	}
}
