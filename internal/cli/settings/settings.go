// Package settings is the command retwis settings: settings of the site that change while it is
// served.
package settings

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

// New returns retwis settings.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "settings",
		Short: "Show and change settings of the site",
		Long: `Shows and changes settings of the site. They are stored in the database, and a change
counts at once, in all processes; the log of decisions has it: retwis audit.

Who can sign up is decided with: retwis invite mode.`,
		Example: `  retwis settings noindex
  retwis settings noindex on`,
	}, newNoIndex(env))
}

func newNoIndex(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "noindex [on|off]",
		Short: "Show or change whether search engines are asked to leave out the site",
		Long: `Shows or changes whether search engines are asked to leave out the whole site. While
it is on, every page asks for that, robots.txt disallows all, and there is no sitemap. A
program that ignores that can still read what is public.`,
		Example: `  retwis settings noindex
  retwis settings noindex on`,
		Args:              shell.Arguments(0, 1, "give on or off"),
		ValidArgsFunction: shell.CompleteArgument(0, "on", "off"),
	})
	c.AddRedis()
	c.AddJSON("print the setting as JSON")
	return c.Build(func(ctx context.Context, args []string) error {
		if len(args) == 1 && args[0] != "on" && args[0] != "off" {
			return shell.Usage(fmt.Errorf("%q: use on or off", args[0]))
		}
		c.Creates = len(args) == 1 // before the site is served for the first time
		return site.Operate(ctx, c, func(db *site.Database) error {
			if len(args) == 1 {
				if err := db.Social.Site.SetNoIndex(ctx, social.Operator, args[0] == "on"); err != nil {
					return err
				}
			}
			on, err := db.Social.Site.NoIndex(ctx)
			if err != nil {
				return err
			}
			if c.JSON {
				return shell.NewEncoder(c.Stdout).Encode(map[string]bool{"noindex": on})
			}
			text := "off"
			if on {
				text = "on"
			}
			_, err = fmt.Fprintln(c.Stdout, text)
			return err
		})
	})
}
