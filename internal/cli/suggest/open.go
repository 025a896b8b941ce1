package suggest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

// existing opens an index that must exist.
var existing = shell.Noun[*suggest.Index]{Open: open}

func open(ctx context.Context, client rueidis.Client, key string) (*suggest.Index, error) {
	x, err := suggest.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q.", "retwis suggest add "+key))
	}
	return x, err
}

// declaration holds the flags that declare an index.
type declaration struct {
	partitions  int
	punctuation *shell.Choice
	halfLife    time.Duration
	changed     func(flag string) bool
}

func (d *declaration) add(c *shell.Command) {
	d.changed = c.Flags().Changed
	c.AddPartitions(&d.partitions)
	d.punctuation = c.AddChoice("punctuation", "on creation: what punctuation counts as", "space", "drop", "keep")
	c.Flags().DurationVar(&d.halfLife, "half-life", 0, "on creation: the time after which a count is worth half; 0 for never")
}

// noun returns a noun that opens an index, and creates it if it does not exist.
func (d *declaration) noun() shell.Noun[*suggest.Index] {
	return shell.Noun[*suggest.Index]{Open: func(ctx context.Context, client rueidis.Client, key string) (*suggest.Index, error) {
		return shell.OpenDeclared(ctx, d.changed("partitions") || d.changed("punctuation") || d.changed("half-life"),
			func() (*suggest.Index, error) { return suggest.Open(ctx, client, key) },
			func() (*suggest.Index, error) { return suggest.New(client, key, d.options()) })
	}}
}

func (d *declaration) options() suggest.Options {
	opt := suggest.Options{Partitions: d.partitions, HalfLife: d.halfLife}
	if d.punctuation.Value != "space" {
		opt.Punctuation = suggest.Punctuation(d.punctuation.Value)
	}
	return opt
}
