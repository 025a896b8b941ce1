package user

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

// listFlags are the flags of retwis user list.
type listFlags struct {
	limit    int
	role     *shell.Choice
	standing *shell.Choice
}

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
	var flags listFlags
	c.Flags().IntVarP(&flags.limit, "limit", "n", 0, "show this many at most; 0 for all")
	flags.role = c.AddChoice("role", "only users of this role", append([]string{"any"}, social.RoleNames()...)...)
	flags.standing = c.AddChoice("standing", "only users of this standing", "any", social.Good.String(), social.Limited.String(), social.Suspended.String(), pending)
	c.AddJSON("print each user as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		if flags.limit < 0 {
			return shell.Usage(errors.New("--limit cannot be negative"))
		}
		return site.Operate(ctx, c, func(db *site.Database) error { return flags.list(ctx, c, db) })
	})
}

// list prints the users. It stops reading when it has printed enough.
func (flags *listFlags) list(ctx context.Context, c *shell.Command, db *site.Database) error {
	p := c.NewPrinter(true)
	if err := p.Row("ID", "NAME", "JOINED", "ROLE", "STANDING"); err != nil {
		return err
	}
	shown := 0
	for users, err := range db.Social.Users.AllUsers(ctx) {
		if err != nil {
			return errors.Join(p.End(), err)
		}
		for _, u := range slices.DeleteFunc(users, flags.hides) {
			if err := p.Print(newEntry(u), strconv.FormatInt(u.ID, 10), u.Name, day(u.Joined), u.Role.String(), standingOf(u)); err != nil {
				return err
			}
			if shown++; shown == flags.limit {
				return p.End()
			}
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	if shown == 0 && !c.JSON {
		fmt.Fprintln(c.Stderr, "retwis: no such users")
	}
	return nil
}

func (flags *listFlags) hides(u social.User) bool {
	return flags.role.Value != "any" && flags.role.Value != u.Role.String() ||
		flags.standing.Value != "any" && flags.standing.Value != standingOf(u)
}
