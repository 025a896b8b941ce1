// Package block implements the retwis block commands, which block sign-ups and posts by word,
// domain or address.
package block

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
)

// New returns the retwis block command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "block",
		Short: "Block words, domains and addresses",
		Long: `Blocks sign-ups and posts by word, link or address. A block takes effect at once, even while
the site is served. Moderators do the same in the browser, at /moderation/blocks. The audit
log records every change: retwis audit.

  word     a word, or up to five in a row, in any case and with any accents
  domain   the domain of a link, including its subdomains
  address  the IP address of a person, or a network such as 192.0.2.0/24

Existing posts stay. An operator's commands are not blocked.`,
		Example: `  retwis block add word casino
  retwis block add domain spam.example --for 720h
  retwis block add address 192.0.2.0/24 --for 24h
  retwis block list
  retwis block remove word casino`,
	}, newAdd(env), newRemove(env), newList(env))
}

// line is a printed block.
type line struct {
	Kind  blocklist.Kind `json:"kind"`
	Value string         `json:"value"`
	Since site.Time      `json:"since"`
	Until site.Time      `json:"until,omitzero"`
}

func lineOf(b blocklist.Block) line {
	return line{b.Kind, b.Value, site.Time{Time: b.Since}, site.Time{Time: b.Until}}
}

func (l line) String() string {
	return fmt.Sprintf("blocked the %s %s", l.Kind, shell.ForTerminal(l.Value))
}

// Cells implements [site.Row].
func (l line) Cells() []any { return []any{l.Kind, l.Value, l.Since, l.Until} }

func kindNames() []string {
	names := make([]string, len(blocklist.Kinds))
	for i, kind := range blocklist.Kinds {
		names[i] = string(kind)
	}
	return names
}

// check rejects a kind or a value that cannot be blocked.
func check(args []string) error {
	_, err := blocklist.Clean(blocklist.Kind(args[0]), args[1])
	var invalid *social.InvalidError
	if errors.As(err, &invalid) && invalid.Field == "kind" {
		err = errors.New("give a kind: word, domain or address")
	}
	if err != nil {
		err = shell.Usage(site.InvalidInput(err))
	}
	return err
}

func newAdd(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:               "add [flags] word|domain|address VALUE",
		Short:             "Block a word, a domain or an address",
		Long:              `Blocks a word, a domain or an address from now on. An existing block gets the new expiry.`,
		Example:           "  retwis block add word casino\n  retwis block add address 2001:db8::/32 --for 24h",
		Args:              shell.Arguments(2, 2, ", with a kind and a value"),
		ValidArgsFunction: shell.CompleteArgument(0, kindNames()...),
	})
	duration := c.Flags().Duration("for", 0, "how long, as in 72h; 0 for no expiry")
	c.Check = check
	return site.Act(c, "print the block as JSON", func(ctx context.Context, db *site.Database, args []string) (line, error) {
		b, err := db.Social.Blocklist.Add(ctx, social.Operator, blocklist.Block{Kind: blocklist.Kind(args[0]), Value: args[1]}, *duration)
		return lineOf(b), err
	})
}

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:               "remove [flags] word|domain|address VALUE",
		Short:             "End a block",
		Long:              `Ends a block, so that the word, domain or address is allowed again.`,
		Example:           "  retwis block remove word casino",
		Args:              shell.Arguments(2, 2, ", with a kind and a value"),
		ValidArgsFunction: shell.CompleteArgument(0, kindNames()...),
	})
	c.Check = check
	return site.Act(c, "", func(ctx context.Context, db *site.Database, args []string) (string, error) {
		kind := blocklist.Kind(args[0])
		value, err := blocklist.Clean(kind, args[1])
		if err == nil {
			err = db.Social.Blocklist.Remove(ctx, social.Operator, kind, value)
		}
		if errors.Is(err, social.ErrNotFound) {
			err = shell.Hint(fmt.Errorf("the %s %q is not blocked", kind, value), "See what is blocked: retwis block list")
		}
		return fmt.Sprintf("unblocked the %s %s", kind, shell.ForTerminal(value)), err
	})
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List what is blocked",
		Long:  `Lists what is blocked, by kind, with the time of each block and its expiry.`,
		Example: `  retwis block list
  retwis block list --json`,
		Args: shell.NoArguments,
	})
	return site.List(c, site.Table{JSON: "print each block as a line of JSON"}, func(ctx context.Context, db *site.Database, _ []string, print func(line) error) error {
		all, err := db.Social.Blocklist.All(ctx)
		for _, b := range all {
			err = errors.Join(err, print(lineOf(b)))
		}
		return err
	})
}
