// Package suggest has the commands of retwis suggest.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/suggest"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

// New returns retwis suggest.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "suggest",
		Short: "Complete what people type with the most frequent searches",
		Long: `Counts terms in an index, and completes the beginning of a term with the most
frequent ones, quickly, however many there are. What is typed matches in any case, and
with or without accents and punctuation; terms that are spelled differently have
separate counts.`,
		Example: `  retwis suggest add words /usr/share/dict/words
  cut -f2 searches.tsv | retwis suggest add words
  retwis suggest complete words ban -n 5`,
	}, append([]*cobra.Command{newAdd(env), newComplete(env), newList(env), newRemove(env)}, maintenance.Commands(env)...)...)
}

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

func newComplete(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "complete [flags] KEY PREFIX",
		Short: "Show the most frequent terms that begin with a prefix",
		Long: `Shows the most frequent terms that begin with a prefix, and their counts, the most
frequent first. The empty prefix '' matches every term. With --fuzzy terms follow that
match after one typo: a letter too many, a letter missing, a wrong letter, or two
letters swapped.`,
		Example: `  retwis suggest complete words ban
  retwis suggest complete words bnana --fuzzy -n 3
  retwis suggest complete words ban --json | jq -r .term`,
		Args: shell.Arguments(2, 2, ""),
	})
	var limit int
	var fuzzy bool
	c.Flags().IntVarP(&limit, "limit", "n", 10, "show this many at most, up to 1000")
	c.Flags().BoolVar(&fuzzy, "fuzzy", false, "allow one typo")
	c.AddJSON("print each term as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return withIndex(ctx, c, args[0], func(x *suggest.Index) error {
			complete := x.Complete
			if fuzzy {
				complete = x.CompleteFuzzy
			}
			found, err := complete(ctx, args[1], limit)
			if err != nil {
				return err
			}
			p := c.NewPrinter(false, true)
			for _, s := range found {
				if err := p.Print(s, s.Term, shell.Thousands(s.Count)); err != nil {
					return err
				}
			}
			return p.End()
		})
	})
}

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove [flags] KEY TERM...",
		Short: "Remove terms, and block them with --block",
		Long: `Removes terms in exactly this spelling. With --block they are neither counted nor
shown from then on, in any spelling, with or without accents and punctuation, until
they are named with --unblock.`,
		Example: `  retwis suggest remove words banaooo
  retwis suggest remove words --block damn`,
		Args: shell.Arguments(2, -1, ""),
	})
	var block, unblock bool
	c.Flags().BoolVar(&block, "block", false, "block the terms, too")
	c.Flags().BoolVar(&unblock, "unblock", false, "unblock the terms instead; their counts start at 0")
	c.AddJSON("print the summary as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		if block && unblock {
			return shell.Usage(errors.New("--block and --unblock contradict each other: use one"))
		}
		return withIndex(ctx, c, args[0], func(x *suggest.Index) error {
			switch terms := args[1:]; {
			case block:
				return x.Block(ctx, terms...)
			case unblock:
				return x.Unblock(ctx, terms...)
			default:
				n, err := x.Remove(ctx, terms...)
				if err != nil {
					return err
				}
				return c.PrintNumber("removed", int64(n))
			}
		})
	})
}
