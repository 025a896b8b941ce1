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
	c.AddJSON("print the user as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error {
		password, err := newPassword(c, stdin)
		if err != nil {
			return err
		}
		return site.Operate(ctx, c, func(db *site.Database) error {
			session, err := db.Social.Accounts.RegisterReserved(ctx, args[0], password)
			switch {
			case errors.Is(err, social.ErrTaken):
				return fmt.Errorf("the username %q is taken", args[0])
			case err != nil:
				return site.InvalidInput(err)
			}
			// The session that a registration opens belongs to nobody here.
			if err := db.Social.Sessions.LogoutEverywhere(ctx, session.User.ID); err != nil {
				return err
			}
			if stdin {
				password = ""
			}
			if c.JSON {
				e := struct {
					entry
					Password string `json:"password,omitempty"`
				}{newEntry(session.User), password}
				return shell.NewEncoder(c.Stdout).Encode(e)
			}
			if password != "" {
				_, err = fmt.Fprintf(c.Stdout, "created %s (user %d) with the password %s\n", session.User.Name, session.User.ID, password)
			} else {
				_, err = fmt.Fprintf(c.Stdout, "created %s (user %d)\n", session.User.Name, session.User.ID)
			}
			return err
		})
	})
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
