// Package tag implements the retwis tag commands, which block and pin tags in trends.
package tag

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/social/text"
)

// New returns the retwis tag command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "tag",
		Short: "Block and pin tags in trends",
		Long: `Blocks and pins tags in trends. A change takes effect at once, even while the site is
served. A tag can be given in any spelling, with or without #. Moderators do the same in
the browser, at /moderation/tags. The audit log records every change: retwis audit.

A blocked tag is never a trend, and is not suggested while writing or searching. The page
of the tag and its posts stay.`,
		Example: `  retwis tag block crypto --note "spam"
  retwis tag pin '#election'
  retwis tag list
  retwis tag unpin '#election'`,
	}, newSet(env, change{
		verb: "block", short: "Keep a tag out of trends and suggestions", to: search.Blocked,
		long: `Keeps a tag out of trends, and out of suggestions while writing or searching, until it is
unblocked.`,
	}), newSet(env, change{
		verb: "unblock", short: "Unblock a tag", from: search.Blocked,
		long: `Unblocks a tag, so that it can be a trend again.`,
	}), newSet(env, change{
		verb: "pin", short: "Put a tag first in trends", to: search.Pinned,
		long: `Puts a tag first in trends, marked as pinned, until it is unpinned. Several pinned tags
appear in the order in which they were pinned.`,
	}), newSet(env, change{
		verb: "unpin", short: "Unpin a tag", from: search.Pinned,
		long: `Unpins a tag.`,
	}), newList(env))
}

// change describes a command that changes the state of a tag.
type change struct {
	verb, short, long string
	from              search.State // required state of the tag, Usual for any
	to                search.State
}

// line is a tag as printed.
type line struct {
	Tag   string    `json:"tag"`
	State string    `json:"state"`
	Since site.Time `json:"since,omitzero"`
}

func lineOf(d search.Decision) line {
	return line{Tag: d.Tag, State: cmp.Or(string(d.State), "usual"), Since: site.Time{Time: d.Since}}
}

func (l line) String() string { return fmt.Sprintf("#%s: %s", l.Tag, l.State) }

// Cells implements [site.Row].
func (l line) Cells() []any { return []any{"#" + l.Tag, l.State, l.Since} }

func newSet(env shell.Env, do change) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     do.verb + " [flags] TAG",
		Short:   do.short,
		Long:    do.long,
		Example: "  retwis tag " + do.verb + " golang",
		Args:    shell.Arguments(1, 1, ""),
	})
	note := c.Flags().String("note", "", "why, for the audit log")
	c.Check = func(args []string) error {
		if _, ok := text.FoldTag(args[0]); !ok {
			return shell.Usage(fmt.Errorf("%q is not a tag: use a word with at least one letter", args[0]))
		}
		return nil
	}
	return site.Act(c, "print the tag as JSON", func(ctx context.Context, db *site.Database, args []string) (line, error) {
		tag, _ := text.FoldTag(args[0])
		if do.from != search.Usual {
			all, err := db.Social.TrendRules.All(ctx)
			if err != nil {
				return line{}, err
			}
			if all.Of(tag) != do.from {
				return line{}, shell.Hint(fmt.Errorf("#%s is not %s", tag, do.from), "List them with: retwis tag list")
			}
		}
		_, err := db.Social.TrendRules.Set(ctx, social.Operator, tag, do.to, *note)
		return lineOf(search.Decision{Tag: tag, State: do.to}), err
	})
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List the tags that are blocked or pinned",
		Long:  `Lists the pinned tags, in order, and the blocked tags, each with the time of the decision.`,
		Example: `  retwis tag list
  retwis tag list --json`,
		Args: shell.NoArguments,
	})
	return site.List(c, site.Table{JSON: "print each tag as a line of JSON"}, func(ctx context.Context, db *site.Database, _ []string, print func(line) error) error {
		all, err := db.Social.TrendRules.All(ctx)
		for _, d := range all {
			err = errors.Join(err, print(lineOf(d)))
		}
		return err
	})
}
