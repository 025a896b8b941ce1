package user

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/email"
)

func newCreate(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "create [flags] NAME",
		Short: "Create a user",
		Long: `Creates a user, whether or not people can sign up by themselves. The password is random and
printed, or read from the first line of standard input: others could see a password on the
command line.`,
		Example: `  retwis user create ada
  retwis user create ada --password-stdin < secret.txt`,
		Args: shell.Arguments(1, 1, ""),
	})
	var stdin bool
	c.Flags().BoolVar(&stdin, "password-stdin", false, "read the password from standard input")
	c.Creates = true
	var password string
	c.Check = func([]string) (err error) {
		password, err = newPassword(c, stdin)
		return err
	}
	return site.Act(c, "print the user as JSON", func(ctx context.Context, db *site.Database, args []string) (created, error) {
		session, err := db.Social.Accounts.RegisterReserved(ctx, args[0], password)
		if errors.Is(err, social.ErrTaken) {
			err = fmt.Errorf("the username %q is taken", args[0])
		}
		if err != nil {
			return created{}, err
		}
		result := created{entry: newEntry(session.User)}
		if !stdin {
			result.Password = password
		}
		// RegisterReserved opens a session, which is not needed here.
		return result, db.Social.Sessions.LogoutEverywhere(ctx, session.User.ID)
	})
}

// created is a new user as printed.
type created struct {
	entry
	Password string `json:"password,omitempty"` // empty if standard input had the password
}

func (u created) String() string {
	text := fmt.Sprintf("created %s (user %d)", u.Name, u.ID)
	if u.Password != "" {
		text += " with the password " + u.Password
	}
	return text
}

// newPassword returns a random password, or the first line of standard input.
func newPassword(c *shell.Command, stdin bool) (string, error) {
	if !stdin {
		return strings.ToLower(rand.Text()[:20]), nil
	}
	line, err := bufio.NewReader(io.LimitReader(c.Stdin, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", shell.Usage(errors.New("--password-stdin: standard input is empty"))
	}
	return line, nil
}

func newResetPassword(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "reset-password [flags] NAME",
		Short: "Print a one-time link for setting a new password",
		Long: `Prints a link for a user who has forgotten the password. The link works once, within a
day, and replaces any earlier link; until it is used, the old password works. Give the link
only to the owner of the account: whoever has the link can set the password.`,
		Example: `  retwis user reset-password ada --base-url https://retwis.example.com
  retwis user reset-password ada --no-second-factor`,
		Args: shell.Arguments(1, 1, ""),
	})
	var base string
	var removeFactor bool
	f := c.Flags()
	f.StringVar(&base, "base-url", "", "the `URL` of the site, to print a full link")
	f.BoolVar(&removeFactor, "no-second-factor", false, "also turn off the second factor, for a user who has lost the device")
	return site.Build(c, "print the link as JSON", func(ctx context.Context, db *site.Database, args []string) error {
		u, err := find(ctx, db, args[0])
		if err != nil {
			return err
		}
		token, expires, err := db.Social.Auth.IssueReset(ctx, social.Operator, u.ID)
		if err == nil && removeFactor {
			err = db.Social.Auth.RemoveSecondFactor(ctx, social.Operator, u.ID)
		}
		if err != nil {
			return err
		}
		link := strings.TrimSuffix(base, "/") + "/reset/" + token
		err = site.Print(c, site.Result{
			Object: shell.Object{{Name: "name", Value: u.Name}, {Name: "link", Value: link}, {Name: "expires", Value: site.Time{Time: expires}}},
			Text:   link,
		})
		if err == nil && !c.JSON {
			fmt.Fprintf(c.Stderr, "The link works once, until %s, for %s.\n", expires.UTC().Format("2006-01-02 15:04 UTC"), u.Name)
		}
		return err
	})
}

// session is an open session as printed.
type session struct {
	Device  string    `json:"device"`
	Created site.Time `json:"created"`
	Used    site.Time `json:"used"`
}

// Cells implements [site.Row].
func (s session) Cells() []any {
	return []any{cmp.Or(s.Device, "unknown"), day(s.Created), day(s.Used)}
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
	c.Flags().BoolVar(&end, "end", false, "end all sessions")
	return site.Build(c, "print each session as a line of JSON", func(ctx context.Context, db *site.Database, args []string) error {
		u, err := find(ctx, db, args[0])
		if err != nil {
			return err
		}
		open, err := db.Social.Sessions.OpenSessions(ctx, u.ID, "")
		if err != nil {
			return err
		}
		if !end {
			return site.PrintRows(c, site.Table{Header: []string{"DEVICE", "CREATED", "USED"}}, func(print func(session) error) (err error) {
				for _, s := range open {
					err = errors.Join(err, print(session{s.Device, site.Time{Time: s.Created}, site.Time{Time: s.Used}}))
				}
				return err
			})
		}
		err = db.Social.Audit.Add(ctx, audit.Entry{Actor: social.Operator, Action: "end-sessions", Target: audit.UserTarget(u.ID)})
		if err == nil {
			err = db.Social.Sessions.LogoutEverywhere(ctx, u.ID)
		}
		if err != nil {
			return err
		}
		return c.PrintNumber("ended", int64(len(open)))
	})
}

func newExport(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "export [flags] NAME FILE",
		Short: "Export the data of a user to an archive",
		Long: `Writes the archive that the user can also download, with posts, follows and likes as JSON
and CSV, to a new file, or to standard output if FILE is -.`,
		Example: `  retwis user export ada ada.zip
  retwis user export ada - > ada.zip`,
		Args: shell.Arguments(2, 2, ""),
	})
	return site.Build(c, "", func(ctx context.Context, db *site.Database, args []string) error {
		u, err := find(ctx, db, args[0])
		if err != nil {
			return err
		}
		return export(ctx, c, db, u, args[1])
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
	err := db.Social.Leaving.Export(ctx, u.ID, c.Base, out)
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
		Short: "Delete an account and everything in it",
		Long: `Permanently deletes an account: the account is closed at once, and everything in it is
removed. This takes ten seconds or more, and continues in the background if it is
interrupted. The name stays reserved. Without --yes nothing is deleted.`,
		Example: `  retwis user delete ada --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	return site.Act(c, "print the result as JSON", ofUser(func(ctx context.Context, db *site.Database, u social.User) (r site.Result, err error) {
		if !yes {
			return r, shell.Usage(fmt.Errorf("this permanently deletes %s (user %d); add --yes to proceed", u.Name, u.ID))
		}
		if err := db.Social.Audit.Add(ctx, audit.Entry{Actor: social.Operator, Action: "delete-account", Target: audit.UserTarget(u.ID)}); err != nil {
			return r, err
		}
		if err := db.Social.Leaving.DeleteAccount(ctx, u.ID); err != nil {
			return r, err
		}
		if err := db.Social.Leaving.FinishRemoval(ctx, u.ID); err != nil {
			return r, shell.Hint(err, "The account is closed. The rest is removed in the background while the site is served.")
		}
		return site.Result{
			Object: shell.Object{{Name: "deleted", Value: u.Name}, {Name: "id", Value: u.ID}},
			Text:   fmt.Sprintf("deleted %s (user %d)", u.Name, u.ID),
		}, nil
	}))
}

// emailState returns the state of the email address, or "" if there is none. The address itself is
// private.
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
		Long: `Removes the e-mail address of a user who cannot do so, for example because somebody else
owns the address now. No warning is sent to the address.`,
		Example: `  retwis user remove-email ada`,
		Args:    shell.Arguments(1, 1, ""),
	})
	return site.Act(c, "print the result as JSON", ofUser(func(ctx context.Context, db *site.Database, u social.User) (r site.Result, err error) {
		address, err := db.Social.Email.Get(ctx, u.ID)
		if err != nil {
			return r, err
		}
		had := emailState(address) != ""
		r = site.Result{Object: shell.Object{{Name: "name", Value: u.Name}, {Name: "removed", Value: had}}, Text: u.Name + " has no e-mail address"}
		if had {
			r.Text, err = "removed the e-mail address of "+u.Name, db.Social.Email.RemoveFor(ctx, social.Operator, u.ID)
		}
		return r, err
	}))
}
