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

// put writes a change: one script, or in a model that is spread what keeps its
// unique values as well.
func (t *Table) put(ctx context.Context, c *change) error {
	if !t.Spread() || !slices.ContainsFunc(t.Schema.Indexes, func(x *schema.Index) bool { return x.Unique }) {
		err := t.write(ctx, c)
		for _, e := range c.left {
			_ = t.Claims.Release(ctx, c.id, e) // the record is written: Repair sees to the rest
		}
		return err
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
	return fmt.Errorf("%w: id %q: its claims of unique values were late %d times: do the clocks of the servers differ by more than %v?",
		schema.ErrConflict, schema.Shorten(c.id), unique.Attempts, unique.Lease/2)
}

// putClaimed writes a change with claims of the values that are known to be new,
// and of those that prove to be.
func (t *Table) putClaimed(ctx context.Context, c *change, wanted []schema.Entry) error {
	token := rand.Text()[:16]
	var claims []unique.Claim
	for {
		var err error
		if claims, err = t.Claims.ClaimAll(ctx, c.id, token, wanted, claims); err != nil {
			t.Claims.Abandon(ctx, claims)
			return err
		}
		c.claims = unique.Pack(token, claims)
		err = t.write(ctx, c)
		var missing *unique.Unclaimed
		switch {
		case errors.As(err, &missing):
			wanted = missing.Entries
		case err == nil:
			t.Claims.Confirm(ctx, c.id, token, claims, c.left)
			return nil
		case decided(err):
			t.Claims.Abandon(ctx, claims)
			return err
		default: // it may have been written: who asks for the values will see
			return err
		}
	}
}

// decided tells whether an error means that nothing was written.
func decided(err error) bool {
	return errors.Is(err, schema.ErrConflict) || errors.Is(err, schema.ErrNotFound) || errors.Is(err, errExists) ||
		errors.Is(err, schema.ErrTaken) || errors.Is(err, schema.ErrSchema) || errors.Is(err, unique.ErrLate)
}
