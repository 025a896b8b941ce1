package collection

import (
	"cmp"
	"context"
	"iter"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/collection"
	"retwis/internal/cli/shell"
)

var randomHelp = map[string]shell.Help{
	"put": {
		Short: "Put ids into a set",
		Long: `Puts each line of files, or of standard input, into a set as one id. A set that does not
exist is created. Putting an id again changes nothing.

A line of more than 4,096 bytes is reported with its file and number, and the other lines
are put; the exit code is then 1.`,
		Example: `  retwis random put users ids.txt
  printf '1\n2\n3\n' | retwis random put users`,
	},
	"draw": {
		Short: "Draw ids at random, and leave them in the set",
		Long: `Shows one id drawn at random, or -n different ids, or all if the set has fewer. The ids
stay in the set. With --repeat each id is drawn from the whole set, so that the same id can
be drawn more than once.`,
		Example: `  retwis random draw users -n 3
  retwis random draw users -n 1000 --repeat | sort | uniq -c`,
	},
	"take": {
		Short: "Draw ids at random, and remove them",
		Long: `Shows one id drawn at random, or -n different ids, and removes them from the set in the
same step, so that no two callers get the same id.`,
		Example: `  retwis random take tickets
  retwis random take users -n 100 > winners.txt`,
	},
	"has": {
		Short:   "Show whether ids are in a set",
		Long:    `Shows for each id whether it is in the set. The exit code is 1 if any of them is not.`,
		Example: `  retwis random has users 42 43`,
	},
	"list": {
		Short: "List the ids of a set",
		Long: `Lists all ids of a set, one per line and in no particular order, in small steps. An id that
is in the set all the time is listed, and may be listed twice in a set of thousands.`,
		Example: `  retwis random list users | sort -u > ids.txt`,
	},
	"count": {
		Short:   "Count the ids of a set",
		Long:    `Counts the ids of a set, without reading them.`,
		Example: `  retwis random count users`,
	},
	"remove": {
		Short: "Remove ids from a set",
		Long:  `Removes the given ids from a set, or each line of standard input.`,
		Example: `  retwis random remove users 42 43
  retwis random remove users < banned.txt`,
	},
}

func newRandom(env shell.Env) *cobra.Command {
	n := noun[*collection.Random]{
		unit: "ids", maxBytes: collection.MaxID, help: randomHelp,
		Noun: openNoun(func(_ context.Context, client rueidis.Client, key string) (*collection.Random, error) {
			r, err := collection.NewRandom(client, key)
			return r, wrongKey(err)
		}),
	}
	return shell.Group(&cobra.Command{
		Use:   "random",
		Short: "Draw ids at random from a set",
		Long: `Keeps ids in a set, and draws some of them at random: whom to show next, what to check,
who wins. The key is a plain Redis set, which other programs can use as well.`,
		Example: `  retwis random put users ids.txt
  retwis random draw users -n 3
  retwis random take tickets`,
	}, n.put(env), newDraw(env, n), newRandomTake(env, n), newHas(env, n),
		list(n.command(env, "list [flags] KEY", 1, 1), n, func(ctx context.Context, r *collection.Random) iter.Seq2[row, error] { return rows(r.All(ctx)) }),
		n.count(env), n.remove(env))
}

func newDraw(env shell.Env, n noun[*collection.Random]) *cobra.Command {
	c := n.command(env, "draw [flags] KEY", 1, 1)
	number := addNumber(c)
	repeat := c.Flags().Bool("repeat", false, "draw each id from the whole set")
	return n.Build(c, "print each as a line of JSON", func(ctx context.Context, r *collection.Random, _ []string) error {
		draw := r.Draw
		if *repeat {
			draw = r.DrawEach
		}
		ids, err := draw(ctx, *number)
		if err != nil {
			return err
		}
		return printItems(c, ids...)
	})
}

func newRandomTake(env shell.Env, n noun[*collection.Random]) *cobra.Command {
	c := n.command(env, "take [flags] KEY", 1, 1)
	number := addNumber(c)
	return n.Build(c, "print each as a line of JSON", func(ctx context.Context, r *collection.Random, _ []string) error {
		ids, err := r.Take(ctx, *number)
		if err != nil {
			return err
		}
		return printItems(c, ids...)
	})
}

func addNumber(c *shell.Command) *int {
	return c.Flags().IntP("limit", "n", 1, "how many, up to 10,000")
}

func newHas(env shell.Env, n noun[*collection.Random]) *cobra.Command {
	c := n.command(env, "has [flags] KEY ID...", 2, -1)
	return n.Build(c, "print each as a line of JSON", func(ctx context.Context, r *collection.Random, ids []string) error {
		has, err := r.Has(ctx, ids...)
		if err != nil {
			return err
		}
		p, missing := c.NewPrinter(), error(nil)
		for i, id := range ids {
			word := "yes"
			if !has[i] {
				word, missing = "no", shell.ErrReported
			}
			if err := p.Print(shell.Object{{Name: "item", Value: id}, {Name: "has", Value: has[i]}}, id, word); err != nil {
				return err
			}
		}
		return cmp.Or(p.End(), missing)
	})
}
