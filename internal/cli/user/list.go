package user

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List the users, the newest first",
		Long: `Lists the users, the newest first, in short steps: a million of them take no more memory
than a few. --role and --standing show some of them only.`,
		Example: `  retwis user list --limit 20
  retwis user list --standing suspended
  retwis user list --json | jq -r .name`,
		Args: shell.NoArguments,
	})
	limit := c.Flags().IntP("limit", "n", 0, "show this many at most; 0 for all")
	role := c.AddChoice("role", "only users of this role", append([]string{"any"}, social.RoleNames()...)...)
	standing := c.AddChoice("standing", "only users of this standing", "any", social.Good.String(), social.Limited.String(), social.Suspended.String(), pending)
	c.Check = func([]string) error {
		if *limit < 0 {
			return shell.Usage(errors.New("--limit cannot be negative"))
		}
		return nil
	}
	hides := func(u social.User) bool {
		return role.Value != "any" && role.Value != u.Role.String() || standing.Value != "any" && standing.Value != standingOf(u)
	}
	table := site.Table{JSON: "print each user as a line of JSON", Header: []string{"ID", "NAME", "JOINED", "ROLE", "STANDING"}}
	return site.List(c, table, func(ctx context.Context, db *site.Database, _ []string, print func(entry) error) error {
		shown := 0
		for users, err := range db.Social.Users.AllUsers(ctx) {
			if err != nil {
				return err
			}
			for _, u := range slices.DeleteFunc(users, hides) {
				if err := print(newEntry(u)); err != nil {
					return err
				}
				if shown++; shown == *limit {
					return nil
				}
			}
		}
		if shown == 0 && !c.JSON {
			fmt.Fprintln(c.Stderr, "retwis: no such users")
		}
		return nil
	})
}
