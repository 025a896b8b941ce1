package shell

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/redis/store"
)

// Opener opens what is at a key: an index, a graph, a model.
type Opener[X any] func(ctx context.Context, client rueidis.Client, key string) (X, error)

// Noun is what the commands of a noun work on. Their first argument is its key.
type Noun[X any] struct {
	Open Opener[X]
	// CheckKey refuses keys before the database is opened. nil: any key will do.
	CheckKey func(key string) error
}

// With runs do with what is at a key.
func (n Noun[X]) With(ctx context.Context, c *Command, key string, do func(x X) error) error {
	if n.CheckKey != nil {
		if err := n.CheckKey(key); err != nil {
			return err
		}
	}
	return c.WithStore(ctx, func(db *store.Store) error {
		x, err := n.Open(ctx, db.Client(), key)
		if err != nil {
			return err
		}
		return do(x)
	})
}

// Build adds --json, unless its usage is empty, and --redis, and returns cobra's command,
// which runs run with what is at the key and the other arguments.
func (n Noun[X]) Build(c *Command, json string, run func(ctx context.Context, x X, args []string) error) *cobra.Command {
	return n.BuildChecked(c, json, func([]string) error { return nil }, run)
}

// BuildChecked is Build for a command that checks its arguments, beside the key, and its
// flags before the database is opened.
func (n Noun[X]) BuildChecked(c *Command, json string, check func(args []string) error, run func(ctx context.Context, x X, args []string) error) *cobra.Command {
	if json != "" {
		c.AddJSON(json)
	}
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		if err := check(args[1:]); err != nil {
			return err
		}
		return n.With(ctx, c, args[0], func(x X) error { return run(ctx, x, args[1:]) })
	})
}

// Feed is a command that reads files and writes what is in them.
type Feed[X, E any] struct {
	Noun  Noun[X]
	Unit  string // of what is read, as in "entries"
	Read  func(in *Inputs, x X) iter.Seq2[E, error]
	Write func(x X, ctx context.Context, all iter.Seq[E]) (int, error)
}

// BuildPut returns the command that puts files, and creates what is not there.
func (f Feed[X, E]) BuildPut(c *Command) *cobra.Command {
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error { return f.Run(ctx, c, args[0], args[1:]) })
}

// Run reads files, or standard input, and prints a summary.
func (f Feed[X, E]) Run(ctx context.Context, c *Command, key string, files []string) error {
	in, err := c.OpenInputs(files, f.Unit)
	if err != nil {
		return err
	}
	defer in.Close()
	return f.Noun.With(ctx, c, key, func(x X) error {
		all, failed := UntilError(f.Read(in, x))
		_, err := f.Write(x, ctx, all)
		if err = cmp.Or(err, failed()); err != nil {
			return err
		}
		return in.Report()
	})
}

// OpenDeclared opens what is at a key, and creates it if it is not there. declared reports
// whether flags declare it; it fails, before any input is read, if it is there and is
// declared otherwise.
func OpenDeclared[X interface {
	Len(ctx context.Context) (int64, error)
}](ctx context.Context, declared bool, open, create func() (X, error)) (X, error) {
	x, err := open()
	if !errors.Is(err, index.ErrNotFound) && (err != nil || !declared) {
		return x, err
	}
	x, err = create()
	return CheckDeclared(ctx, x, err)
}

// PrintAll prints what is yielded, and then what the printer holds back.
func PrintAll[E any](p interface{ End() error }, all iter.Seq2[E, error], print func(e E) error) error {
	for e, err := range all {
		if err == nil {
			err = print(e)
		}
		if err != nil {
			return errors.Join(err, p.End())
		}
	}
	return p.End()
}
