package user

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/email"
)

// emailState says whether there is an address, empty for none. The address itself is the user's.
func emailState(r email.Record) string {
	switch {
	case r.Confirmed() != "":
		return "confirmed"
	case r.Pending != "":
		return "unconfirmed"
	}
	return ""
}

func newRemoveEmail(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove-email [flags] NAME",
		Short: "Remove the e-mail address of a user",
		Long: `Removes the e-mail address of a user who cannot, such as one that somebody else owns by now.
The address is not warned.`,
		Example: `  retwis user remove-email ada`,
		Args:    shell.Arguments(1, 1, ""),
	})
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	return ofUser(c, func(ctx context.Context, db *site.Database, u social.User) (err error) {
		address, err := db.Social.Email.Get(ctx, u.ID)
		if err != nil {
			return err
		}
		had := emailState(address) != ""
		if had {
			if err := db.Social.Email.RemoveFor(ctx, social.Operator, u.ID); err != nil {
				return err
			}
		}
		if c.JSON {
			return shell.NewEncoder(c.Stdout).Encode(shell.Object{{Name: "name", Value: u.Name}, {Name: "removed", Value: had}})
		}
		text := u.Name + " has no e-mail address"
		if had {
			text = "removed the e-mail address of " + u.Name
		}
		_, err = fmt.Fprintln(c.Stdout, text)
		return err
	})
}
