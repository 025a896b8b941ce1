package fanout

import (
	"context"
	"time"
)

// Masters returns the identity of the servers, to be taken before the first
// write of posts that a caller fans out itself; see Confirm.
func (e *Engine) Masters(ctx context.Context) (string, error) { return e.masters.Identity(ctx) }

// Confirm removes members from `fanouts` whose posts the caller has fanned out, as soon
// as they cannot be lost any more. It waits for that until timeout; later the background
// goes on.
func (e *Engine) Confirm(ctx context.Context, members []string, masters string, timeout time.Duration) error {
	all := make([]<-chan struct{}, len(members))
	for i, member := range members {
		job, _ := jobOf(member)
		job.masters = masters
		var err error
		if all[i], err = e.ledger.Submit(ctx, e.written(job)); err != nil {
			return err
		}
	}
	end := time.After(timeout)
	for _, dropped := range all {
		select {
		case <-dropped:
		case <-e.ctx.Done():
			return nil
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
