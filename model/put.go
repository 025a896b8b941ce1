package model

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
)

// put writes a change: one script, or in a model that is spread what keeps its
// unique values as well.
func (t *table) put(ctx context.Context, c *change) error {
	if !t.spread() || !slices.ContainsFunc(t.schema.indexes, func(x *indexSpec) bool { return x.Unique }) {
		err := t.write(ctx, c)
		for _, e := range c.left {
			_ = t.claims.release(ctx, c.id, e) // the record is written: Repair sees to the rest
		}
		return err
	}
	wanted := []entry(nil)
	if c.operation == "create" {
		wanted = uniqueEntries(c.entries)
	}
	for range claimAttempts {
		err := t.putClaimed(ctx, c, wanted)
		if !errors.Is(err, errLate) {
			return err
		}
	}
	return fmt.Errorf("%w: id %q: its claims of unique values were late %d times: do the clocks of the servers differ by more than %v?",
		ErrConflict, shortened(c.id), claimAttempts, claimLease/2)
}

// putClaimed writes a change with claims of the values that are known to be new,
// and of those that prove to be.
func (t *table) putClaimed(ctx context.Context, c *change, wanted []entry) error {
	token := rand.Text()[:16]
	var claims []claimed
	for {
		var err error
		if claims, err = t.claims.claimAll(ctx, c.id, token, wanted, claims); err != nil {
			t.claims.abandon(ctx, claims)
			return err
		}
		c.claims = packClaims(token, claims)
		err = t.write(ctx, c)
		var missing *unclaimed
		switch {
		case errors.As(err, &missing):
			wanted = missing.entries
		case err == nil:
			t.claims.confirm(ctx, c.id, token, claims, c.left)
			return nil
		case decided(err):
			t.claims.abandon(ctx, claims)
			return err
		default: // it may have been written: who asks for the values will see
			return err
		}
	}
}

// decided tells whether an error means that nothing was written.
func decided(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) || errors.Is(err, errExists) ||
		errors.Is(err, ErrTaken) || errors.Is(err, ErrSchema) || errors.Is(err, errLate)
}
