package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/graph"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

// withGraph runs do with the graph at a key, which must exist.
func withGraph(ctx context.Context, c *shell.Command, key string, do func(g *graph.Graph) error) error {
	return c.WithStore(ctx, func(db *store.Store) error {
		g, err := open(ctx, db.Client(), key)
		if err != nil {
			return err
		}
		return do(g)
	})
}

func open(ctx context.Context, client rueidis.Client, key string) (*graph.Graph, error) {
	g, err := graph.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q, or take over a sorted set with %q.", "retwis graph put "+key, "retwis graph adopt "+key))
	}
	return g, err
}

// declaration is the flags that declare a graph which does not exist yet.
type declaration struct {
	graph.Options
	given func(flag string) bool
}

func (d *declaration) add(c *shell.Command) {
	d.given = c.Flags().Changed
	c.Flags().BoolVar(&d.Compact, "compact", false, "when it is created: keep three orders instead of six, for half the memory")
	c.AddPartitions(&d.Partitions)
}

// open returns the graph at a key, which need not exist. It fails if the graph is
// declared otherwise.
func (d *declaration) open(ctx context.Context, client rueidis.Client, key string) (*graph.Graph, error) {
	g, err := graph.Open(ctx, client, key)
	declared := d.given("compact") || d.given("partitions")
	if !errors.Is(err, index.ErrNotFound) && (err != nil || !declared) {
		return g, err
	}
	g, err = graph.New(client, key, d.Options)
	return shell.CheckDeclared(ctx, g, err)
}
