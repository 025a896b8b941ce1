package user

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

func newCreate(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "create [flags] NAME",
		Short: "Create a user",
		Long: `Creates a user, whether or not people can sign up by themselves. It prints a random
password, or reads one from the first line of standard input: a password on the command
line could be seen by others.`,
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
		// The session that a registration opens belongs to nobody here.
		return result, db.Social.Sessions.LogoutEverywhere(ctx, session.User.ID)
	})
}

// created is a new user as it is printed.
type created struct {
	entry
	Password string `json:"password,omitempty"` // empty where it was given
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
