// Package collection implements the retwis ring, retwis random and retwis recent commands.
package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"retwis/collection"
	"retwis/internal/cli/shell"
)

// Commands returns the retwis ring, retwis random and retwis recent commands.
func Commands(env shell.Env) []*cobra.Command {
	return []*cobra.Command{newRing(env), newRandom(env), newRecent(env)}
}

// items has the methods that rings, random sets and recent lists share.
type items interface {
	PutMany(ctx context.Context, items iter.Seq[string]) (int, error)
	Remove(ctx context.Context, items ...string) (int, error)
	Len(ctx context.Context) (int64, error)
}

// noun describes one of the three commands.
type noun[X items] struct {
	shell.Noun[X]
	unit     string // what the items are called, in the plural
	maxBytes int    // maximum size of an item
	// declare adds the flags with which put declares a new collection, and returns its opener. If
	// nil, Open is used.
	declare func(c *shell.Command) shell.Opener[X]
	help    map[string]shell.Help
}

// openNoun returns a noun that opens a non-empty key.
func openNoun[X any](open shell.Opener[X]) shell.Noun[X] {
	return shell.Noun[X]{Open: open, CheckKey: func(key string) error {
		if key == "" {
			return shell.Usage(errors.New("the key is empty"))
		}
		return nil
	}}
}

// command returns a command without flags. use starts with the name of the command.
func (n noun[X]) command(env shell.Env, use string, minArgs, maxArgs int) *shell.Command {
	name, _, _ := strings.Cut(use, " ")
	help := n.help[name]
	return shell.New(env, &cobra.Command{
		Use: use, Short: help.Short, Long: help.Long, Example: help.Example, Args: shell.Arguments(minArgs, maxArgs, ""),
	})
}

// lines yields the items of the input, one per line.
func (n noun[X]) lines(in *shell.Inputs) iter.Seq2[string, error] {
	return shell.Lines(in, func(line string) (string, error) {
		if len(line) > n.maxBytes {
			return "", fmt.Errorf("the item has %d bytes: at most %d are allowed", len(line), n.maxBytes)
		}
		return line, nil
	})
}

func (n noun[X]) put(env shell.Env) *cobra.Command {
	c := n.command(env, "put [flags] KEY [FILE...]", 1, -1)
	to := n.Noun
	if n.declare != nil {
		to = openNoun(n.declare(c))
	}
	return shell.Feed[X, string]{
		Noun: to, Unit: n.unit, Write: X.PutMany,
		Read: func(in *shell.Inputs, _ X) iter.Seq2[string, error] { return n.lines(in) },
	}.BuildPut(c)
}

func (n noun[X]) count(env shell.Env) *cobra.Command {
	c := n.command(env, "count [flags] KEY", 1, 1)
	return n.Build(c, "print the number as JSON", func(ctx context.Context, x X, _ []string) error {
		count, err := x.Len(ctx)
		if err != nil {
			return err
		}
		return c.PrintCount(count)
	})
}

// removeBatch is the number of input items removed at once.
const removeBatch = 500

func (n noun[X]) remove(env shell.Env) *cobra.Command {
	c := n.command(env, "remove [flags] KEY [ITEM...]", 1, -1)
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		key, named := args[0], args[1:]
		if len(named) > 0 {
			return n.With(ctx, c, key, func(x X) error {
				removed, err := x.Remove(ctx, named...)
				if err != nil {
					return err
				}
				return c.PrintNumber("removed", int64(removed))
			})
		}
		in, err := c.OpenInputs(nil, n.unit)
		if err != nil {
			return err
		}
		defer in.Close()
		return n.With(ctx, c, key, func(x X) error {
			removed, err := n.removeLines(ctx, x, in)
			if err != nil {
				return err
			}
			if err := c.PrintNumber("removed", removed); err != nil || in.Rejected == 0 {
				return err
			}
			return shell.ErrReported
		})
	})
}

func (n noun[X]) removeLines(ctx context.Context, x X, in *shell.Inputs) (total int64, err error) {
	lines, failed := shell.UntilError(n.lines(in))
	next, stop := iter.Pull(lines)
	defer stop()
	for more := true; more; {
		var batch []string
		for len(batch) < removeBatch && more {
			var line string
			if line, more = next(); more {
				batch = append(batch, line)
			}
		}
		removed, err := x.Remove(ctx, batch...)
		total += int64(removed)
		if err != nil {
			return total, err
		}
	}
	return total, failed()
}

// object returns an item as JSON.
func object(item string) shell.Object { return shell.Object{{Name: "item", Value: item}} }

// list adds the flags of a list command to c and builds c. all yields the items of a key.
func list[X items](c *shell.Command, n noun[X], all func(ctx context.Context, x X) iter.Seq2[row, error]) *cobra.Command {
	var limit int
	c.Flags().IntVarP(&limit, "limit", "n", 0, "show at most this many items; 0 for all")
	check := func([]string) error {
		if limit < 0 {
			return shell.Usage(errors.New("--limit cannot be negative"))
		}
		return nil
	}
	return n.BuildChecked(c, "print each as a line of JSON", check, func(ctx context.Context, x X, _ []string) error {
		p, shown := c.NewPrinter(), 0
		for r, err := range all(ctx, x) {
			if err == nil {
				err = p.Print(r.json, r.cells...)
			}
			if err != nil {
				return errors.Join(err, p.End())
			}
			if shown++; shown == limit {
				break
			}
		}
		return p.End()
	})
}

// row is an item of a list, as JSON and as table cells.
type row struct {
	json  any
	cells []string
}

// rows converts plain items to rows.
func rows(all iter.Seq2[string, error]) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for item, err := range all {
			if !yield(row{object(item), []string{item}}, err) {
				return
			}
		}
	}
}

// printItems prints items, one per line, or as JSON.
func printItems(c *shell.Command, items ...string) error {
	p := c.NewPrinter()
	for _, item := range items {
		if err := p.Print(object(item), item); err != nil {
			return err
		}
	}
	return p.End()
}

// wrongKey turns an error about a key into a usage error.
func wrongKey(err error) error {
	if err == nil {
		return nil
	}
	return shell.Usage(errors.New(shell.OneLine(err)))
}

// exitNothing is the exit code if no item is available at the moment: EX_TEMPFAIL, as in retwis
// lock.
const exitNothing = 75

// withExitCode gives collection.ErrNotFound the exit code exitNothing.
func withExitCode(err error) error {
	if errors.Is(err, collection.ErrNotFound) {
		return shell.Exit(exitNothing, err)
	}
	return err
}
