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
	"retwis/internal/redis/store"
)

// withIndex runs do with the index at a key, which must exist.
func withIndex(ctx context.Context, c *shell.Command, key string, do func(x *suggest.Index) error) error {
	return c.WithStore(ctx, func(db *store.Store) error {
		x, err := open(ctx, db.Client(), key)
		if err != nil {
			return err
		}
		return do(x)
	})
}

func open(ctx context.Context, client rueidis.Client, key string) (*suggest.Index, error) {
	x, err := suggest.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q.", "retwis suggest add "+key))
	}
	return x, err
}

// declaration is the flags that declare an index which does not exist yet.
type declaration struct {
	partitions  int
	punctuation *shell.Choice
	halfLife    time.Duration
}

func (d *declaration) add(c *shell.Command) {
	c.AddPartitions(&d.partitions)
	d.punctuation = c.AddChoice("punctuation", "when it is created: what punctuation counts as", "space", "drop", "keep")
	c.Flags().DurationVar(&d.halfLife, "half-life", 0, "when it is created: the time after which a count is worth half; 0 for never")
}

// open returns the index at a key, which need not exist. It fails if the index is
// declared otherwise.
func (d *declaration) open(ctx context.Context, client rueidis.Client, key string, given func(flag string) bool) (*suggest.Index, error) {
	x, err := suggest.Open(ctx, client, key)
	declared := given("partitions") || given("punctuation") || given("half-life")
	if !errors.Is(err, index.ErrNotFound) && (err != nil || !declared) {
		return x, err
	}
	x, err = suggest.New(client, key, d.options())
	return shell.CheckDeclared(ctx, x, err)
}

func (d *declaration) options() suggest.Options {
	opt := suggest.Options{Partitions: d.partitions, HalfLife: d.halfLife}
	if d.punctuation.Value != "space" {
		opt.Punctuation = suggest.Punctuation(d.punctuation.Value)
	}
	return opt
}
