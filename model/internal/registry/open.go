package registry

import "context"

// Open publishes the model, unless its keys could be keys of another model.
func (g *Registry) Open(ctx context.Context) error {
	if err := g.checkNeighbours(ctx, false); err != nil {
		return err
	}
	if err := g.publish(ctx); err != nil {
		return err
	}
	added, err := g.publishName(ctx)
	if err != nil || !added {
		return err
	}
	// Another model may have been published concurrently.
	if err = g.checkNeighbours(ctx, true); err != nil {
		_ = g.client.Do(ctx, g.client.B().Hdel().Key(ModelsKey).Field(g.Layout.Name).Build()).Error() // New fails in any case
	}
	return err
}
