// Package invite implements the retwis invite commands, which control who can sign up and manage
// invitations.
package invite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
)

// New returns the retwis invite command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "invite",
		Short: "Decide who can sign up, and invite people",
		Long: `Decide who can sign up, and invite people.

The site is open, open once a moderator approves, open to people with an invitation, or
closed: see "retwis invite mode". The mode is stored in the database, and a change takes
effect at once. An invitation is a sign-up link with a use limit and an expiry. Only a
hash of the link is stored, so it is printed only when it is created.

An operator can create accounts in every mode: retwis user create.`,
		Example: `  retwis invite mode invite
  retwis invite create --uses 5 --base-url https://social.example.com
  retwis invite list
  retwis invite revoke 6f1c2a90`,
	}, newCreate(env), newList(env), newRevoke(env), newMode(env))
}

// line is a printed invitation.
type line struct {
	ID      string    `json:"id"`
	Path    string    `json:"path,omitempty"`
	URL     string    `json:"url,omitempty"`
	Uses    int64     `json:"uses"`
	Left    int64     `json:"left"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	By      int64     `json:"by"`
	Paused  bool      `json:"paused"`
	Note    string    `json:"note"`
}

func lineOf(i accounts.Invite) line {
	return line{ID: i.ID, Uses: i.Uses, Left: i.Left, Created: i.Created, Expires: i.Expires, By: i.By, Paused: i.Paused, Note: i.Note}
}

// Cells implements [site.Row].
func (l line) Cells() []any {
	expires := l.Expires.Format(time.RFC3339)
	if l.Paused {
		expires += ", paused"
	}
	return []any{l.ID, fmt.Sprintf("%d of %d", l.Left, l.Uses), expires, l.Note}
}

// created is a new invitation; only its link is printed.
type created struct{ line }

func (c created) String() string { return cmp.Or(c.URL, c.Path) }

// revoked is a revoked invitation.
type revoked struct{ line }

func (r revoked) String() string {
	return fmt.Sprintf("revoked %s, with %s left", r.ID, shell.Plural(r.Left, "use", "uses"))
}

func newCreate(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "create",
		Short: "Create an invitation and print its link",
		Long: `Creates an invitation and prints its link. The link is shown only once: the database stores
a hash of it. People with the link can sign up, even in the mode "invite".`,
		Example: `  retwis invite create --base-url https://social.example.com
  retwis invite create --uses 30 --expires 72h --note "the workshop"`,
		Args: shell.NoArguments,
	})
	var uses int64
	var expires time.Duration
	var note, base string
	c.Flags().Int64Var(&uses, "uses", 1, "how many people can sign up with the invitation")
	c.Flags().DurationVar(&expires, "expires", 7*24*time.Hour, "how long the invitation is valid")
	c.Flags().StringVar(&note, "note", "", "why, for the audit log")
	c.Flags().StringVar(&base, "base-url", "", "the `URL` of the site, to print a full link")
	c.Check = func([]string) error {
		if u, err := url.Parse(base); base != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return shell.Usage(fmt.Errorf("--base-url: %q is not an address such as https://social.example.com", base))
		}
		return nil
	}
	return site.Act(c, "print the invitation as JSON", func(ctx context.Context, db *site.Database, _ []string) (created, error) {
		token, invite, err := db.Social.SignUps.CreateInvite(ctx, accounts.NewInvite{Uses: uses, For: expires, Note: note})
		l := lineOf(invite)
		if l.Path = "/invite/" + token; base != "" {
			l.URL = strings.TrimRight(base, "/") + l.Path
		}
		return created{l}, err
	})
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List the invitations",
		Long: `Lists the invitations with their ids, remaining uses and expiry. Ended invitations are
listed for a month. Their links cannot be shown again. An invitation is paused while the
moderator who created it is suspended or no longer a moderator.`,
		Example: `  retwis invite list
  retwis invite list --json`,
		Args: shell.NoArguments,
	})
	table := site.Table{
		JSON: "print each invitation as a line of JSON", Header: []string{"ID", "LEFT", "EXPIRES", "NOTE"},
		Empty: "there are no invitations",
	}
	return site.List(c, table, func(ctx context.Context, db *site.Database, _ []string, print func(line) error) error {
		all, err := db.Social.SignUps.Invites(ctx)
		for _, i := range all {
			err = errors.Join(err, print(lineOf(i)))
		}
		return err
	})
}

func newRevoke(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an invitation",
		Long: `Revokes an invitation: nobody can sign up with its link from now on. Accounts that were
created with it stay.`,
		Example: `  retwis invite revoke 6f1c2a90`,
		Args:    shell.Arguments(1, 1, ", with the ID of an invitation; see retwis invite list"),
	})
	return site.Act(c, "print the invitation as JSON", func(ctx context.Context, db *site.Database, args []string) (revoked, error) {
		invite, err := db.Social.SignUps.RevokeInvite(ctx, social.Operator, args[0])
		if errors.Is(err, social.ErrNotFound) {
			err = shell.Hint(fmt.Errorf("there is no invitation %q", args[0]), "List them with: retwis invite list")
		}
		return revoked{lineOf(invite)}, err
	})
}

func newMode(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "mode [open|approval|invite|closed]",
		Short: "Show or change who can sign up",
		Long: `Shows or changes who can sign up, for all processes of the site at once: everybody (open),
everybody, once a moderator has approved the account (approval), people with an invitation
(invite), or nobody (closed). With approval, people with an invitation need not wait.
Approval turns on automatically when twenty people sign up within ten minutes on an open
site: see "sign-ups" of retwis serve --limit.`,
		Example: `  retwis invite mode
  retwis invite mode invite`,
		Args:              shell.Arguments(0, 1, ", with a mode: "+accounts.ModeNames),
		ValidArgsFunction: shell.CompleteArgument(0, string(accounts.SignUpOpen), string(accounts.SignUpApproval), string(accounts.SignUpInvite), string(accounts.SignUpClosed)),
	})
	c.Check = func(args []string) error {
		if len(args) == 0 {
			return nil
		}
		c.Creates = true // the mode may be set before the site is served for the first time
		if _, ok := accounts.ParseSignUpMode(args[0]); !ok {
			return shell.Usage(fmt.Errorf("%q is not a mode: use %s", args[0], accounts.ModeNames))
		}
		return nil
	}
	return site.Act(c, "print the mode as JSON", func(ctx context.Context, db *site.Database, args []string) (result mode, err error) {
		if len(args) == 1 {
			if err := db.Social.SignUps.SetSignUpMode(ctx, social.Operator, accounts.SignUpMode(args[0])); err != nil {
				return mode{}, err
			}
		}
		result.Mode, err = db.Social.SignUps.SignUpMode(ctx)
		return result, err
	})
}

// mode is a printed sign-up mode.
type mode struct {
	Mode accounts.SignUpMode `json:"mode"`
}

func (m mode) String() string { return string(m.Mode) }
