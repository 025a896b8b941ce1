package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/collection"
	"retwis/internal/cli/shell"
)

var recentHelp = map[string]shell.Help{
	"put": {
		Short: "Put items on a capped list",
		Long: `Puts each line of files, or of standard input, on a list as one item, the newest last. The
list keeps the newest --max items. A list that does not exist is created, with --max; later
--max can be left out.

A line of more than 65,536 bytes is reported with its file and number, and the other lines
are put; the exit code is then 1. Putting an item again adds it as the newest, and keeps the
older one.`,
		Example: `  retwis recent put orders --max 100 orders.txt
  printf 'order 7\n' | retwis recent put orders`,
	},
	"list": {
		Short: "List the newest items, newest first",
		Long: `Lists the items, newest first: all of them or the newest -n. An item may be listed twice if
others are put meanwhile and the list has more than a hundred.`,
		Example: `  retwis recent list orders -n 10
  retwis recent list orders --json | jq -r .item`,
	},
	"count": {
		Short:   "Count the items of a list",
		Long:    `Counts the items of a list: at most --max.`,
		Example: `  retwis recent count orders`,
	},
	"remove": {
		Short: "Remove items from a capped list",
		Long: `Removes the given items, or each line of standard input, as often as they are on the list.
Removing an item takes time proportional to the length of the list.`,
		Example: `  retwis recent remove orders 'order 7'`,
	},
	"adopt": {
		Short: "Turn a list made by hand into a capped list",
		Long: `Declares that a Redis list that other programs made, newest first with LPUSH, keeps the
newest --max items. No item is changed; the next "recent put" cuts the list to --max.`,
		Example: `  retwis recent adopt orders --max 100`,
	},
}

func newRecent(env shell.Env) *cobra.Command {
	n := noun[*collection.Recent]{
		unit: "items", maxBytes: collection.MaxItem, help: recentHelp, Noun: openNoun(openRecent), declare: declareRecent,
	}
	return shell.Group(&cobra.Command{
		Use:   "recent",
		Short: "Keep the newest items only",
		Long: `Keeps the newest items of a list, up to a maximum: the last hundred orders, the posts on a
front page. The list is never longer.

On a Cluster the key needs a hash tag, such as {orders}.`,
		Example: `  retwis recent put orders --max 100 orders.txt
  retwis recent list orders -n 10`,
	}, n.put(env),
		list(n.command(env, "list [flags] KEY", 1, 1), n, func(ctx context.Context, r *collection.Recent) iter.Seq2[row, error] { return rows(r.All(ctx)) }),
		n.count(env), n.remove(env), newAdopt(env, n))
}

func openRecent(ctx context.Context, client rueidis.Client, key string) (*collection.Recent, error) {
	r, err := collection.OpenRecent(ctx, client, key)
	if errors.Is(err, collection.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q.", "retwis recent put "+key+" --max NUMBER"))
	}
	return r, err
}

func addMax(c *shell.Command) *int {
	return c.Flags().Int("max", 0, "keep this many items, up to 1,000,000")
}

// declareRecent adds --max and returns an opener for a list that need not exist.
func declareRecent(c *shell.Command) shell.Opener[*collection.Recent] {
	max := addMax(c)
	return func(ctx context.Context, client rueidis.Client, key string) (*collection.Recent, error) {
		if !c.Flags().Changed("max") {
			return openRecent(ctx, client, key)
		}
		r, err := collection.NewRecent(client, key, *max)
		return shell.CheckDeclared(ctx, r, err)
	}
}

func newAdopt(env shell.Env, n noun[*collection.Recent]) *cobra.Command {
	c := n.command(env, "adopt [flags] KEY", 1, 1)
	max := addMax(c)
	return openNoun(func(_ context.Context, client rueidis.Client, key string) (*collection.Recent, error) {
		r, err := collection.NewRecent(client, key, *max)
		return r, wrongKey(err)
	}).Build(c, "", func(ctx context.Context, r *collection.Recent, _ []string) error { return r.Adopt(ctx) })
}
