package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// existing opens a graph that must exist.
var existing = shell.Noun[*graph.Graph]{Open: open}

func open(ctx context.Context, client rueidis.Client, key string) (*graph.Graph, error) {
	g, err := graph.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q, or take over a sorted set with %q.", "retwis graph put "+key, "retwis graph adopt "+key))
	}
	return g, err
}

// declaration holds the flags that declare a graph.
type declaration struct {
	graph.Options
	changed func(flag string) bool
}

func (d *declaration) add(c *shell.Command) {
	d.changed = c.Flags().Changed
	c.Flags().BoolVar(&d.Compact, "compact", false, "on creation: keep three orders instead of six, for half the memory")
	c.AddPartitions(&d.Partitions)
}

// noun returns a noun that opens a graph, and creates it if it does not exist.
func (d *declaration) noun() shell.Noun[*graph.Graph] {
	return shell.Noun[*graph.Graph]{Open: func(ctx context.Context, client rueidis.Client, key string) (*graph.Graph, error) {
		return shell.OpenDeclared(ctx, d.changed("compact") || d.changed("partitions"),
			func() (*graph.Graph, error) { return graph.Open(ctx, client, key) },
			func() (*graph.Graph, error) { return graph.New(client, key, d.Options) })
	}}
}
