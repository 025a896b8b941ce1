package check

import (
	"context"

	"retwis/internal/social/layout"
	"retwis/maintain"
)

// completions checks that every name and every tag can be completed.
func (c *checker) completions(ctx context.Context) error {
	if c.foreign[layout.Completions] || c.opt.Part < 1 {
		return nil
	}
	index := c.app.Completions.Completion()
	for term, err := range index.Missing(ctx) {
		if err != nil {
			return err
		}
		p := Problem{
			Kind: maintain.Missing, Key: layout.Completions, Leftover: true,
			Detail: term + " is not completed while people type", Repair: "add it",
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) { return true, index.Restore(ctx, term) })
		if err != nil {
			return err
		}
	}
	return nil
}
