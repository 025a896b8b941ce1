package check

import (
	"context"

	"retwis/internal/social/layout"
	"retwis/maintain"
)

// completions checks that every name and every tag can be completed.
func (c *keyCheck) completions(ctx context.Context) error {
	if c.check.foreign[layout.Completions] || c.check.opt.Part < 1 {
		return nil
	}
	index := c.check.app.Completions.Completion()
	for term, err := range index.Missing(ctx) {
		if err != nil {
			return err
		}
		p := Problem{
			Kind: maintain.Missing, Key: layout.Completions, Leftover: true,
			Detail: term + " is not completed while people type", Repair: "add it",
		}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, index.Restore(ctx, term) })
		if err != nil {
			return err
		}
	}
	return nil
}
