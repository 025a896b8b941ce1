package user

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/auth"
)

func newResetPassword(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "reset-password [flags] NAME",
		Short: "Print a link by which a user sets a new password, once",
		Long: `Prints a link for a user who has forgotten the password. It works once, within a day, and
replaces the one before; the old password works until then. Make sure that you give it to
the owner of the account: the link alone opens it.`,
		Example: `  retwis user reset-password ada --base-url https://retwis.example.com
  retwis user reset-password ada --no-second-factor`,
		Args: shell.Arguments(1, 1, ""),
	})
	var base string
	var factor bool
	f := c.Flags()
	f.StringVar(&base, "base-url", "", "the `URL` of the site, to print a full link")
	f.BoolVar(&factor, "no-second-factor", false, "turn the second factor off, too: the user has lost the device")
	c.AddJSON("print the link as JSON")
	c.AddRedis()
	return ofUser(c, func(ctx context.Context, db *site.Database, u social.User) (err error) {
		token, expires, err := db.Social.Auth.IssueReset(ctx, social.Operator, u.ID)
		if err != nil {
			return err
		}
		if factor {
			if err := db.Social.Auth.RemoveSecondFactor(ctx, social.Operator, u.ID); err != nil {
				return err
			}
		}
		link := strings.TrimSuffix(base, "/") + "/reset/" + token
		if c.JSON {
			return shell.NewEncoder(c.Stdout).Encode(shell.Object{{Name: "name", Value: u.Name}, {Name: "link", Value: link}, {Name: "expires", Value: expires.UTC().Format(time.RFC3339)}})
		}
		_, err = fmt.Fprintf(c.Stdout, "%s\n", link)
		if err == nil {
			fmt.Fprintf(c.Stderr, "It works once, until %s, for %s.\n", expires.UTC().Format("2006-01-02 15:04 UTC"), u.Name)
		}
		return err
	})
}

func newSessions(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "sessions [flags] NAME",
		Short: "List the open sessions of a user, or end them",
		Long: `Lists the open sessions of a user, with the device, when each began and when it was last
used. --end ends all of them, in every process: the user has to log in again.`,
		Example: `  retwis user sessions ada
  retwis user sessions ada --end`,
		Args: shell.Arguments(1, 1, ""),
	})
	var end bool
	c.Flags().BoolVar(&end, "end", false, "end all of them")
	c.AddJSON("print each session as a line of JSON")
	c.AddRedis()
	return ofUser(c, func(ctx context.Context, db *site.Database, u social.User) (err error) {
		open, err := db.Social.Sessions.OpenSessions(ctx, u.ID, "")
		if err != nil {
			return err
		}
		if end {
			if err := db.Social.Audit.Add(ctx, audit.Entry{Actor: social.Operator, Action: "end-sessions", Target: audit.UserTarget(u.ID)}); err != nil {
				return err
			}
			if err := db.Social.Sessions.LogoutEverywhere(ctx, u.ID); err != nil {
				return err
			}
			return c.PrintNumber("ended", int64(len(open)))
		}
		return printSessions(c, open)
	})
}

func printSessions(c *shell.Command, open []auth.OpenSession) error {
	p := c.NewPrinter()
	if err := p.Row("DEVICE", "CREATED", "USED"); err != nil {
		return err
	}
	for _, s := range open {
		device := s.Device
		if device == "" {
			device = "unknown"
		}
		v := shell.Object{{Name: "device", Value: s.Device}, {Name: "created", Value: text(s.Created)}, {Name: "used", Value: text(s.Used)}}
		if err := p.Print(v, device, day(s.Created), day(s.Used)); err != nil {
			return err
		}
	}
	return p.End()
}

func newExport(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "export [flags] NAME FILE",
		Short: "Write what a user has written and done to an archive",
		Long: `Writes the archive that the user can download too, with posts, follows and likes as JSON
and CSV, to a new file, - for standard output.`,
		Example: `  retwis user export ada ada.zip
  retwis user export ada - > ada.zip`,
		Args: shell.Arguments(2, 2, ""),
	})
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			u, err := find(ctx, db, args[0])
			if err != nil {
				return err
			}
			return export(ctx, c, db, u, args[1])
		})
	})
}

func export(ctx context.Context, c *shell.Command, db *site.Database, u social.User, name string) error {
	var out io.Writer = c.Stdout
	var file *os.File
	if name != "-" {
		var err error
		if file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return err
		}
		out = file
	}
	err := db.Social.Leaving.Export(ctx, u.ID, out)
	if file == nil {
		return err
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func newDelete(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "delete [flags] NAME",
		Short: "Delete an account and all that it has left",
		Long: `Deletes an account for good: it is closed at once, and everything that it has written and
done is removed. That takes ten seconds or more, and goes on in the background if it is
interrupted. The name stays reserved. It needs --yes.`,
		Example: `  retwis user delete ada --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "delete all of it")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	return ofUser(c, func(ctx context.Context, db *site.Database, u social.User) (err error) {
		if !yes {
			return shell.Usage(fmt.Errorf("this deletes %s (user %d) for good; add --yes if you mean it", u.Name, u.ID))
		}
		if err := db.Social.Audit.Add(ctx, audit.Entry{Actor: social.Operator, Action: "delete-account", Target: audit.UserTarget(u.ID)}); err != nil {
			return err
		}
		if err := db.Social.Leaving.DeleteAccount(ctx, u.ID); err != nil {
			return err
		}
		if err := db.Social.Leaving.FinishRemoval(ctx, u.ID); err != nil {
			return shell.Hint(err, "The account is closed. What is left is removed in the background while the site is served.")
		}
		if c.JSON {
			return shell.NewEncoder(c.Stdout).Encode(shell.Object{{Name: "deleted", Value: u.Name}, {Name: "id", Value: u.ID}})
		}
		_, err = fmt.Fprintf(c.Stdout, "deleted %s (user %d)\n", u.Name, u.ID)
		return err
	})
}
