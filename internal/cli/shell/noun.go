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

// Opener opens the index, graph or model at a key.
type Opener[X any] func(ctx context.Context, client rueidis.Client, key string) (X, error)

// Noun describes the kind of object (an index, graph or model) that a group of commands works on.
// The first argument of each command is the key of the object.
type Noun[X any] struct {
	Open Opener[X]
	// CheckKey validates keys before the database is opened. If nil, any key is valid.
	CheckKey func(key string) error
}

// With opens the key and calls do.
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

// Build adds --redis and, unless json is empty, --json with the usage json. Build returns the cobra
// command, which opens the key and calls run with X and the remaining arguments.
func (n Noun[X]) Build(c *Command, json string, run func(ctx context.Context, x X, args []string) error) *cobra.Command {
	return n.BuildChecked(c, json, func([]string) error { return nil }, run)
}

// BuildChecked is like Build for a command that checks its remaining arguments and its flags before
// the database is opened.
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

// Feed is a command that reads files and writes their contents to X.
type Feed[X, E any] struct {
	Noun  Noun[X]
	Unit  string // what is read, such as "entries"
	Read  func(in *Inputs, x X) iter.Seq2[E, error]
	Write func(x X, ctx context.Context, all iter.Seq[E]) (int, error)
}

// BuildPut returns the put command, which may create the database.
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

// OpenDeclared opens X, and creates it if it does not exist. declared reports whether flags declare
// X. In that case OpenDeclared returns an error if the existing X was declared differently.
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

// PrintAll prints all values and flushes the printer.
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
