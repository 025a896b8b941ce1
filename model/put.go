package model

import "context"

// put writes a change: one script, or in a model that is spread what keeps its
// unique values as well.
func (t *table) put(ctx context.Context, c *change) error {
	return t.write(ctx, c)
}
