package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social/layout"
	"retwis/internal/social/task"
	"retwis/internal/social/users"
)

func newUpgrade(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "upgrade",
		Short: "Give a Cluster the layout in which no key grows with the number of users",
		Long: `Changes the layout of the keys on a Cluster from 2 to 3, while the site is in use: the
names of users are spread over 4096 keys, users_by_time keeps the latest 10,000, and
sessions are found through their users. Nobody is logged out. A Cluster that was empty
when this version was installed has this layout already; a single server keeps layout 2.

Install this version on all machines first. A process of an earlier version that still
runs after the change cannot register users or look up their names; after a restart it
refuses to serve. There is no way back to the earlier version, except for a backup.

It can be interrupted at any moment, and repeated. With --status nothing is changed.`,
		Example: `  retwis upgrade --status --redis redis+cluster://n1,n2,n3
  retwis upgrade --redis redis+cluster://n1,n2,n3`,
		Args: shell.NoArguments,
	})
	var status bool
	c.Flags().BoolVar(&status, "status", false, "print the layout and change nothing")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	c.FromEnv("status")
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.With(ctx, c, func(db *site.Database) error {
			before, err := db.Social.Layout(ctx)
			if err != nil {
				return err
			}
			if !status {
				if err := upgrade(ctx, c, db); err != nil {
					return err
				}
			}
			now, err := db.Social.Layout(ctx)
			if err != nil {
				return err
			}
			if c.JSON {
				return json.NewEncoder(c.Stdout).Encode(struct {
					users.DirectoryState
					Changed bool `json:"changed"`
				}{now, before != now})
			}
			_, err = fmt.Fprintln(c.Stdout, upgradeText(before, now))
			return err
		})
	})
}

func upgrade(ctx context.Context, c *shell.Command, db *site.Database) error {
	if err := db.Adopt(ctx, false, c.Log()); err != nil {
		return err
	}
	draw, wipe := shell.Bar(c.Stderr, "upgrading")
	var progress func(done, total int64)
	if draw != nil {
		progress = func(done, total int64) { draw(int(done), int(total)) }
	}
	err := db.Social.ChangeLayout(ctx, progress)
	wipe()
	switch {
	case errors.Is(err, users.ErrNotHere):
		return nil // a single server has the only layout that there is for it
	case errors.Is(err, users.ErrNoSite):
		return shell.Hint(err, "It gets the latest layout with its first user.")
	case errors.Is(err, task.ErrBehind):
		return shell.Hint(err, "Repeat it when they have caught up: retwis upgrade")
	}
	return err
}

// upgradeText formats the result for people.
func upgradeText(before, now users.DirectoryState) string {
	switch {
	case now.Version == "":
		return "the database holds no site yet; it gets layout " + now.Latest + " with its first user"
	case now.Left:
		return "a change to layout " + now.Latest + " was interrupted; finish it with: retwis upgrade"
	case now.Version != now.Latest:
		return "the database has layout " + now.Version + "; change it to layout " + now.Latest + " with: retwis upgrade"
	case before != now:
		return "the database has layout " + now.Version + " now"
	case now.Latest == layout.Version:
		return "the database has layout " + now.Version + ", the only one for a single server"
	}
	return "the database has layout " + now.Version + ", the latest"
}
