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

func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "suggest",
		Short: "Complete what people type with what is searched most",
		Long: `Counts terms in an index, and completes the beginning of a term with the most
frequent ones, quickly, however many there are. Case, accents and punctuation do
not matter in what is typed; terms that are spelled differently are counted apart.`,
		Example: `  retwis suggest add words /usr/share/dict/words
  cut -f2 searches.tsv | retwis suggest add words
  retwis suggest complete words ban -n 5`,
	}, newAdd(env), newComplete(env), newList(env), newRemove(env), newAdopt(env),
		newVerify(env, false), newVerify(env, true), newRebuild(env))
}

// commonFlags are those that every command of an index has.
type commonFlags struct {
	redis *string
	json  bool
}

// add adds the flags. json says what --json prints; empty: there is nothing.
func (flags *commonFlags) add(cmd *cobra.Command, env shell.Env, json string) {
	cmd.Flags().SortFlags = false
	if json != "" {
		cmd.Flags().BoolVar(&flags.json, "json", false, json)
	}
	flags.redis = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, "json", "limit", "offset", "reverse", "cursor", "after", "fuzzy", "blocked", "partitions", "punctuation", "half-life", "block", "unblock", "rate", "examples")
}

// open runs do with the index at a key, which has to be there.
func (flags *commonFlags) open(cmd *cobra.Command, env shell.Env, key string, do func(context.Context, *suggest.Index) error) error {
	return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
		x, err := suggest.Open(ctx, db.Client(), key)
		if errors.Is(err, index.ErrNotFound) {
			return shell.Hint(err, fmt.Sprintf("Make it with %q.", "retwis suggest add "+key))
		}
		if err != nil {
			return err
		}
		return do(ctx, x)
	})
}

// newTerms are the flags that say how a new index is made.
type newTerms struct {
	partitions  int
	punctuation *shell.Choice
	halfLife    time.Duration
}

func (n *newTerms) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&n.partitions, "partitions", 1, "of a new index: over how many slots of a Cluster it is spread")
	n.punctuation = shell.AddChoice(cmd, "punctuation", "of a new index: what stands for punctuation", "space", "drop", "keep")
	cmd.Flags().DurationVar(&n.halfLife, "half-life", 0, "of a new index: after how long what was counted counts half; 0: always in full")
}

// make returns the index at a key, which need not be there. What was said of it
// must be so: the first write tells.
func (n *newTerms) make(ctx context.Context, client rueidis.Client, key string, given func(string) bool) (*suggest.Index, error) {
	x, err := suggest.Open(ctx, client, key)
	said := given("partitions") || given("punctuation") || given("half-life")
	if !errors.Is(err, index.ErrNotFound) && (err != nil || !said) {
		return x, err
	}
	x, err = suggest.New(client, key, n.options())
	return shell.AsDeclared(ctx, x, err)
}

func (n *newTerms) options() suggest.Options {
	opt := suggest.Options{Partitions: n.partitions, HalfLife: n.halfLife}
	if n.punctuation.Value != "space" {
		opt.Punctuation = suggest.Punctuation(n.punctuation.Value)
	}
	return opt
}

func newComplete(env shell.Env) *cobra.Command {
	var flags commonFlags
	var n int
	var fuzzy bool
	cmd := &cobra.Command{
		Use:   "complete [flags] KEY PREFIX",
		Short: "Show the most frequent terms that begin with a prefix",
		Long: `Shows the most frequent terms that begin with a prefix, and how often each was
counted, the most frequent first. An empty prefix, '', is that of every term. With
--fuzzy terms follow that begin with something one typo away: a letter too many,
one too few, another one, or two swapped.`,
		Example: `  retwis suggest complete words ban
  retwis suggest complete words bnana --fuzzy -n 3
  retwis suggest complete words ban --json | jq -r .term`,
		Args: shell.Arguments(2, 2, "retwis suggest complete KEY PREFIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *suggest.Index) error {
				ask := x.Complete
				if fuzzy {
					ask = x.CompleteFuzzy
				}
				found, err := ask(ctx, args[1], n)
				if err != nil {
					return err
				}
				return flags.print(cmd, found)
			})
		},
	}
	cmd.Flags().IntVarP(&n, "limit", "n", 10, "how many terms to show, up to 1000")
	cmd.Flags().BoolVar(&fuzzy, "fuzzy", false, "forgive one typo")
	flags.add(cmd, env, "print each term as a line of JSON")
	return cmd
}

// print prints terms and their counts.
func (flags *commonFlags) print(cmd *cobra.Command, found []suggest.Suggestion) error {
	out := shell.Table{Out: cmd.OutOrStdout(), Right: []bool{false, true}}
	e := shell.NewEncoder(cmd.OutOrStdout())
	for _, s := range found {
		var err error
		if flags.json {
			err = e.Encode(s)
		} else {
			err = out.Add(s.Term, shell.Thousands(s.Count))
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func newRemove(env shell.Env) *cobra.Command {
	var flags commonFlags
	var block, unblock bool
	cmd := &cobra.Command{
		Use:   "remove [flags] KEY TERM...",
		Short: "Remove terms, and keep them out with --block",
		Long: `Removes terms, each in the spelling that it has. With --block they are neither
counted nor shown from then on, in whatever spelling, with accents and punctuation
or without, until they are named with --unblock.`,
		Example: `  retwis suggest remove words banaooo
  retwis suggest remove words --block damn`,
		Args: shell.Arguments(2, -1, "retwis suggest remove KEY TERM..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			if block && unblock {
				return shell.Usage(errors.New("--block and --unblock contradict each other: use one"))
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *suggest.Index) error {
				switch terms := args[1:]; {
				case block:
					return x.Block(ctx, terms...)
				case unblock:
					return x.Unblock(ctx, terms...)
				default:
					n, err := x.Remove(ctx, terms...)
					if err == nil {
						_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed: %d\n", n)
					}
					return err
				}
			})
		},
	}
	cmd.Flags().BoolVar(&block, "block", false, "keep them out")
	cmd.Flags().BoolVar(&unblock, "unblock", false, "let them in again; they begin at nothing")
	flags.add(cmd, env, "")
	return cmd
}
