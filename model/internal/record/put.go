package record

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// put writes a change: in one script or, with several partitions and unique values, in the
// steps of package unique.
func (t *Table) put(ctx context.Context, c *change) error {
	if err := t.checkReferences(ctx, c); err != nil {
		return err
	}
	if !t.claims() {
		return t.write(ctx, c)
	}
	wanted := []schema.Entry(nil)
	if c.operation == "create" {
		wanted = unique.Entries(c.entries)
	}
	for range unique.Attempts {
		err := t.putClaimed(ctx, c, wanted)
		if !errors.Is(err, unique.ErrLate) {
			return err
		}
	}
	return fmt.Errorf("%w: id %q: its claims of unique values expired %d times: check that the clocks of the servers differ by less than %v",
		schema.ErrConflict, schema.Shorten(c.id), unique.Attempts, unique.Lease/2)
}

// claims reports whether unique values must be claimed in other partitions.
func (t *Table) claims() bool {
	return t.Layout.Spread() && slices.ContainsFunc(t.Schema.Indexes, func(x *schema.Index) bool { return x.Unique })
}

// putClaimed writes a change with claims of the values in wanted, and of further values that
// write reports as unclaimed.
func (t *Table) putClaimed(ctx context.Context, c *change, wanted []schema.Entry) error {
	token := rand.Text()[:16]
	var claims []unique.Claim
	for {
		var err error
		if claims, err = t.Claims.ClaimAll(ctx, c.id, token, wanted, claims); err != nil {
			t.Claims.Abandon(ctx, claims)
			return err
		}
		c.token, c.claimed = token, claims
		err = t.write(ctx, c)
		var missing *unique.Unclaimed
		switch {
		case errors.As(err, &missing):
			wanted = missing.Entries
		case err == nil:
			t.Claims.Confirm(ctx, c.id, token, claims, c.released)
			return nil
		case decided(err):
			t.Claims.Abandon(ctx, claims)
			return err
		default: // unknown outcome: the next process that needs the values resolves it
			return err
		}
	}
}

// decided reports whether an error means that nothing was written.
func decided(err error) bool {
	return errors.Is(err, schema.ErrConflict) || errors.Is(err, schema.ErrNotFound) || errors.Is(err, errExists) ||
		errors.Is(err, schema.ErrTaken) || errors.Is(err, schema.ErrDangling) || errors.Is(err, schema.ErrSchema) || errors.Is(err, unique.ErrLate) ||
		errors.Is(err, errClock)
}
