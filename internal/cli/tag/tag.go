// Package tag is the command retwis tag: which tags can be trends.
package tag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/text"
	"retwis/internal/social/trends"
)

// New returns retwis tag.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "tag",
		Short: "Block and pin tags in trends",
		Long: `Blocks and pins tags in trends, also while the site is served: it counts at once. A tag is
given in any spelling, with or without #. Moderators do the same in the browser, at
/moderation/tags; the log of decisions has both: retwis audit.

A tag that is blocked is never a trend, and not suggested to those who write or search.
Its page stays, and so do its posts.`,
		Example: `  retwis tag block crypto --note "spam"
  retwis tag pin '#election'
  retwis tag list
  retwis tag unpin '#election'`,
	}, newSet(env, change{
		verb: "block", short: "Keep a tag out of trends and suggestions", to: trends.Blocked,
		long: `Keeps a tag out of trends, and out of what is suggested to those who write or search,
from now on and until it is unblocked.`,
	}), newSet(env, change{
		verb: "unblock", short: "Let a tag be a trend again", from: trends.Blocked,
		long: `Ends that a tag is blocked: it can be a trend again.`,
	}), newSet(env, change{
		verb: "pin", short: "Put a tag first in trends", to: trends.Pinned,
		long: `Puts a tag first in trends, marked as pinned, until it is unpinned. Several are in the
order in which they were pinned.`,
	}), newSet(env, change{
		verb: "unpin", short: "Treat a tag like others again", from: trends.Pinned,
		long: `Ends that a tag is pinned.`,
	}), newList(env))
}

// change is what one of the commands does with a tag.
type change struct {
	verb, short, long string
	from              trends.State // what the tag must be, Usual for anything
	to                trends.State
}

// line is a tag as --json prints it.
type line struct {
	Tag   string `json:"tag"`
	State string `json:"state"`
	Since string `json:"since,omitempty"`
}

func lineOf(d trends.Decision) line {
	l := line{Tag: d.Tag, State: string(d.State)}
	if d.State == trends.Usual {
		l.State = "usual"
	}
	if !d.Since.IsZero() {
		l.Since = d.Since.UTC().Format(time.RFC3339)
	}
	return l
}

func newSet(env shell.Env, do change) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     do.verb + " [flags] TAG",
		Short:   do.short,
		Long:    do.long,
		Example: "  retwis tag " + do.verb + " golang",
		Args:    shell.Arguments(1, 1, ""),
	})
	note := c.Flags().String("note", "", "why, for the audit log")
	c.AddJSON("print the tag as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		tag, ok := text.FoldTag(args[0])
		if !ok {
			return shell.Usage(fmt.Errorf("%q is not a tag: use a word with at least one letter", args[0]))
		}
		return site.Operate(ctx, c, func(db *site.Database) error {
			if do.from != trends.Usual {
				all, err := db.Social.TrendRules.All(ctx)
				if err != nil {
					return err
				}
				if all.Of(tag) != do.from {
					return shell.Hint(fmt.Errorf("#%s is not %s", tag, do.from), "List them with: retwis tag list")
				}
			}
			if _, err := db.Social.TrendRules.Set(ctx, social.Operator, tag, do.to, *note); err != nil {
				return usage(err)
			}
			l := lineOf(trends.Decision{Tag: tag, State: do.to})
			if c.JSON {
				return shell.NewEncoder(c.Stdout).Encode(l)
			}
			_, err := fmt.Fprintf(c.Stdout, "#%s: %s\n", l.Tag, l.State)
			return err
		})
	})
}

// usage makes wrong usage of a note that is too long, and says what else is refused.
func usage(err error) error {
	var invalid *social.InvalidError
	switch {
	case !errors.As(err, &invalid):
		return err
	case invalid.Field == "note":
		return shell.Usage(fmt.Errorf("--note: %s", invalid.Reason))
	}
	return errors.New(invalid.Reason)
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List the tags that are blocked or pinned",
		Long: `Lists the tags that are pinned, in their order, and those that are blocked, each with the
time since when.`,
		Example: `  retwis tag list
  retwis tag list --json`,
		Args: shell.NoArguments,
	})
	c.AddJSON("print each tag as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.Operate(ctx, c, func(db *site.Database) (err error) {
			all, err := db.Social.TrendRules.All(ctx)
			if err != nil {
				return err
			}
			p := c.NewPrinter()
			defer func() { err = errors.Join(err, p.End()) }()
			for _, d := range all {
				l := lineOf(d)
				object := shell.Object{{Name: "tag", Value: l.Tag}, {Name: "state", Value: l.State}, {Name: "since", Value: l.Since}}
				if err := p.Print(object, "#"+l.Tag, l.State, l.Since); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
