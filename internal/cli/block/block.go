// Package block is the command retwis block: what must not sign up or post.
package block

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
)

// New returns retwis block.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "block",
		Short: "Block words, domains and addresses",
		Long: `Blocks what must not sign up or post, also while the site is served: it counts at once.
Moderators do the same in the browser, at /moderation/blocks; the log of decisions has both:
retwis audit.

  word     a word, or up to five in a row, in any case and with any accents
  domain   of a link, with all below it
  address  of a person, or a network such as 192.0.2.0/24

What has been posted stays. An operator's commands are not blocked.`,
		Example: `  retwis block add word casino
  retwis block add domain spam.example --for 720h
  retwis block add address 192.0.2.0/24 --for 24h
  retwis block list
  retwis block remove word casino`,
	}, newAdd(env), newRemove(env), newList(env))
}

// line is a block as --json prints it.
type line struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	Since string `json:"since"`
	Until string `json:"until,omitempty"`
}

func lineOf(b blocklist.Block) line {
	l := line{Kind: string(b.Kind), Value: b.Value, Since: b.Since.UTC().Format(time.RFC3339)}
	if !b.Until.IsZero() {
		l.Until = b.Until.UTC().Format(time.RFC3339)
	}
	return l
}

func kindNames() []string {
	names := make([]string, len(blocklist.Kinds))
	for i, kind := range blocklist.Kinds {
		names[i] = string(kind)
	}
	return names
}

// usage makes wrong usage of what was refused.
func usage(err error) error {
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	switch invalid.Field {
	case "for":
		return shell.Usage(fmt.Errorf("--for: %s", invalid.Reason))
	case "kind":
		return shell.Usage(errors.New("give a kind: word, domain or address"))
	}
	return shell.Usage(site.InvalidInput(err))
}

func newAdd(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:               "add [flags] word|domain|address VALUE",
		Short:             "Block a word, a domain or an address",
		Long:              `Blocks a word, a domain or an address from now on. What is blocked already gets the new end.`,
		Example:           "  retwis block add word casino\n  retwis block add address 2001:db8::/32 --for 24h",
		Args:              shell.Arguments(2, 2, "give a kind and a value"),
		ValidArgsFunction: shell.CompleteArgument(0, kindNames()...),
	})
	lasts := c.Flags().Duration("for", 0, "how long, as in 72h; 0 for no end")
	c.AddJSON("print the block as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		b := blocklist.Block{Kind: blocklist.Kind(args[0]), Value: args[1]}
		if _, err := blocklist.Clean(b.Kind, b.Value); err != nil {
			return usage(err)
		}
		return site.Operate(ctx, c, func(db *site.Database) error {
			b, err := db.Social.Blocklist.Add(ctx, social.Operator, b, *lasts)
			if err != nil {
				return usage(err)
			}
			if c.JSON {
				return shell.NewEncoder(c.Stdout).Encode(lineOf(b))
			}
			_, err = fmt.Fprintf(c.Stdout, "blocked the %s %s\n", b.Kind, shell.ForTerminal(b.Value))
			return err
		})
	})
}

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:               "remove [flags] word|domain|address VALUE",
		Short:             "End a block",
		Long:              `Ends a block: what was blocked can sign up and post again.`,
		Example:           "  retwis block remove word casino",
		Args:              shell.Arguments(2, 2, "give a kind and a value"),
		ValidArgsFunction: shell.CompleteArgument(0, kindNames()...),
	})
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		value, err := blocklist.Clean(blocklist.Kind(args[0]), args[1])
		if err != nil {
			return usage(err)
		}
		return site.Operate(ctx, c, func(db *site.Database) error {
			err := db.Social.Blocklist.Remove(ctx, social.Operator, blocklist.Kind(args[0]), value)
			if errors.Is(err, social.ErrNotFound) {
				return shell.Hint(fmt.Errorf("the %s %q is not blocked", args[0], value), "See what is blocked: retwis block list")
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Stdout, "unblocked the %s %s\n", args[0], shell.ForTerminal(value))
			return err
		})
	})
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List what is blocked",
		Long:  `Lists what is blocked, by kind, each with the time since when, and its end.`,
		Example: `  retwis block list
  retwis block list --json`,
		Args: shell.NoArguments,
	})
	c.AddJSON("print each block as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.Operate(ctx, c, func(db *site.Database) (err error) {
			all, err := db.Social.Blocklist.All(ctx)
			if err != nil {
				return err
			}
			p := c.NewPrinter()
			defer func() { err = errors.Join(err, p.End()) }()
			for _, b := range all {
				l := lineOf(b)
				until := l.Until
				if until == "" {
					until = "-"
				}
				if err := p.Print(l, l.Kind, shell.ForTerminal(l.Value), l.Since, until); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
