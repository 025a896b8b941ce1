package space

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
)

// declaration holds the flags that declare a new index.
type declaration struct {
	dims       string
	partitions int
}

// Add implements shell.Declaration.
func (d *declaration) Add(c *shell.Command) {
	c.Flags().StringVar(&d.dims, "dims", "", "the `DIMENSIONS` of a new index, as in 'x:int(0..400),y:int(0..400)'")
	c.AddPartitions(&d.partitions)
}

// Open implements shell.Declaration.
func (d *declaration) Open(ctx context.Context, client rueidis.Client, key string, changed func(string) bool) (shell.Entries, error) {
	if d.dims == "" {
		x, err := open(ctx, client, key)
		if errors.Is(err, index.ErrNotFound) {
			return nil, shell.Usage(fmt.Errorf("index %q does not exist yet: declare it with --dims, as in --dims 'x:int(0..400),y:int(0..400)'", key))
		}
		if changed("partitions") {
			return nil, shell.Usage(errors.New("--partitions needs --dims"))
		}
		return x, err
	}
	dims, err := space.ParseDims(d.dims)
	if err != nil {
		return nil, shell.Usage(fmt.Errorf("--dims: %s", shell.OneLine(err)))
	}
	x, err := space.New(client, key, space.Options{Dims: dims, Partitions: d.partitions})
	x, err = shell.CheckDeclared(ctx, x, err)
	return newPoints(x), err
}

func open(ctx context.Context, client rueidis.Client, key string) (shell.Entries, error) {
	x, err := space.Open(ctx, client, key)
	return newPoints(x), err
}
