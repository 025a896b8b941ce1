package collection

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/collection"
	"retwis/internal/cli/shell"
)

var ringHelp = map[string]shell.Help{
	"put": {
		Short: "Put items into a ring",
		Long: `Puts each line of files, or of standard input, at the end of a ring as one item. Items that
are already in the ring stay where they are. A ring that does not exist is created.

A line of more than 4,096 bytes is reported with its file and number, and the other lines
are put; the exit code is then 1.`,
		Example: `  retwis ring put feeds feeds.txt
  printf 'https://go.dev/blog\n' | retwis ring put feeds`,
	},
	"next": {
		Short: "Show the next item, and move it to the end",
		Long: `Shows the next item of a ring, and moves it to the end. The item stays in the ring, so no
crash can lose it. A second worker can get the same item while the first still works on it;
"ring take" prevents that. The exit code is 75 if no item is available.`,
		Example: `  retwis ring next feeds
  curl -s "$(retwis ring next feeds)"`,
	},
	"take": {
		Short: "Lease the next item to one worker",
		Long: `Leases the next item of a ring, and shows the id of the lease and the item. No other
worker gets the item until "ring return" or the end of the lease, so the item of a crashed
worker is handed out again.

A worker that needs more time extends the lease with "ring extend". The exit code is 75 if
all items are leased, or there are none; if all are leased, the error says how long to wait.`,
		Example: `  retwis ring take feeds --lease 5m
  while read -r lease feed < <(retwis ring take feeds); do
    curl -sO "$feed" && retwis ring return feeds "$lease" "$feed"
  done`,
	},
	"extend": {
		Short: "Extend the lease of an item",
		Long: `Extends a lease from "ring take" to --lease from now. The exit code is 1 if the lease is
over: stop working on the item, because another worker may have it.`,
		Example: `  retwis ring extend feeds "$lease" "$feed" --lease 5m`,
	},
	"return": {
		Short: "Return an item that was leased",
		Long: `Ends a lease from "ring take", and puts the item at the end of the ring. The exit code is 1
if the lease is over.`,
		Example: `  retwis ring return feeds "$lease" "$feed"`,
	},
	"list": {
		Short: "List the items of a ring",
		Long: `Lists the items of a ring, leased or not, one per line and in no particular order. An item
that is in the ring all the time is listed, and may be listed twice in a ring of thousands.

--leased lists only the leased items, each with the id of its lease and the end of the lease
in UTC. An item whose lease is over returns to the ring when a worker takes the next item.`,
		Example: `  retwis ring list feeds > feeds.txt
  retwis ring list feeds --leased
  retwis ring list feeds --json | jq -r 'select(.leased_until) | .item'`,
	},
	"count": {
		Short:   "Count the items of a ring",
		Long:    `Counts the items of a ring, leased or not.`,
		Example: `  retwis ring count feeds`,
	},
	"remove": {
		Short: "Remove items from a ring",
		Long:  `Removes the given items, or each line of standard input, from a ring, leased or not.`,
		Example: `  retwis ring remove feeds https://example.com/gone
  grep example.com feeds.txt | retwis ring remove feeds`,
	},
}

func newRing(env shell.Env) *cobra.Command {
	n := noun[*collection.Ring]{
		unit: "items", maxBytes: collection.MaxID, help: ringHelp,
		Noun: openNoun(func(_ context.Context, client rueidis.Client, key string) (*collection.Ring, error) {
			r, err := collection.NewRing(client, key)
			return r, wrongKey(err)
		}),
	}
	return shell.Group(&cobra.Command{
		Use:   "ring",
		Short: "Hand out items in rotation, optionally to one worker at a time",
		Long: `Keeps distinct items in a ring, and hands them out one after another: feeds to fetch,
servers to check. "ring next" only rotates; "ring take" leases the item, so that no other
worker gets it until it is returned or the lease is over.

On a Cluster the key needs a hash tag, such as {feeds}.`,
		Example: `  retwis ring put feeds feeds.txt
  retwis ring next feeds
  retwis ring take feeds --lease 5m`,
	}, n.put(env), newNext(env, n), newTake(env, n), newExtend(env, n), newReturn(env, n), newRingList(env, n), n.count(env), n.remove(env))
}

func newNext(env shell.Env, n noun[*collection.Ring]) *cobra.Command {
	c := n.command(env, "next [flags] KEY", 1, 1)
	return n.Build(c, "print the item as JSON", func(ctx context.Context, r *collection.Ring, _ []string) error {
		item, err := r.Next(ctx)
		if err != nil {
			return withExitCode(err)
		}
		return printItems(c, item)
	})
}

func addLease(c *shell.Command) *time.Duration {
	return c.Flags().Duration("lease", time.Minute, "how long the lease lasts from now")
}

func newTake(env shell.Env, n noun[*collection.Ring]) *cobra.Command {
	c := n.command(env, "take [flags] KEY", 1, 1)
	lease := addLease(c)
	return n.Build(c, "print the lease as JSON", func(ctx context.Context, r *collection.Ring, _ []string) error {
		l, err := r.Take(ctx, *lease)
		if err != nil {
			return withExitCode(err)
		}
		p := c.NewPrinter()
		err = p.Print(shell.Object{{Name: "lease", Value: l.ID}, {Name: "item", Value: l.Item}}, l.ID, l.Item)
		return errors.Join(err, p.End())
	})
}

func newExtend(env shell.Env, n noun[*collection.Ring]) *cobra.Command {
	c := n.command(env, "extend [flags] KEY LEASE ITEM", 3, 3)
	lease := addLease(c)
	return n.Build(c, "", func(ctx context.Context, r *collection.Ring, args []string) error {
		return r.Lease(args[1], args[0]).Extend(ctx, *lease)
	})
}

func newReturn(env shell.Env, n noun[*collection.Ring]) *cobra.Command {
	c := n.command(env, "return [flags] KEY LEASE ITEM", 3, 3)
	return n.Build(c, "", func(ctx context.Context, r *collection.Ring, args []string) error {
		return r.Lease(args[1], args[0]).Return(ctx)
	})
}

func newRingList(env shell.Env, n noun[*collection.Ring]) *cobra.Command {
	c := n.command(env, "list [flags] KEY", 1, 1)
	leased := c.Flags().Bool("leased", false, "list the leased items only, with their leases")
	return list(c, n, func(ctx context.Context, r *collection.Ring) iter.Seq2[row, error] {
		return func(yield func(row, error) bool) {
			for item, err := range r.All(ctx) {
				if *leased && err == nil && item.LeaseID == "" {
					continue
				}
				if !yield(ringRow(item, *leased), err) {
					return
				}
			}
		}
	})
}

func ringRow(item collection.RingItem, leased bool) row {
	r := row{shell.Object{{Name: "item", Value: item.Item}}, []string{item.Item}}
	if item.LeaseID == "" {
		return r
	}
	until := item.LeasedUntil.UTC().Format(time.RFC3339)
	r.json = shell.Object{{Name: "item", Value: item.Item}, {Name: "lease", Value: item.LeaseID}, {Name: "leased_until", Value: until}}
	if leased {
		r.cells = []string{item.LeaseID, until, item.Item}
	}
	return r
}
