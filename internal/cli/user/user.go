// Package user implements the retwis user commands, which manage the accounts of the site.
package user

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

// New returns the retwis user command.
func New(env shell.Env) *cobra.Command {
	group := shell.Group(&cobra.Command{
		Use:   "user",
		Short: "List, create and manage users",
		Long: `Lists, creates and manages the users of the site, even while the site is served. A user is
named by username, in any case.`,
		Example: `  retwis user list --limit 20
  retwis user show ada
  retwis user create ada
  retwis user reset-password ada --base-url https://retwis.example.com
  retwis user sessions ada --end`,
	}, newList(env), newShow(env), newCreate(env), newResetPassword(env), newSessions(env), newExport(env), newDelete(env), newRole(env), newRemoveEmail(env))
	group.AddCommand(standings(env)...)
	group.AddCommand(approvals(env)...)
	return group
}

// entry is a user as printed.
type entry struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Display   string    `json:"display_name,omitempty"`
	Joined    site.Time `json:"joined"`
	Role      string    `json:"role"`
	Standing  string    `json:"standing"`
	Followers *int64    `json:"followers,omitempty"`
	Following *int64    `json:"following,omitempty"`
	Sessions  *int      `json:"sessions,omitempty"`
	Factor    *bool     `json:"second_factor,omitempty"`
	Email     string    `json:"email,omitempty"` // state of the email address, if there is one
}

func newEntry(u social.User) entry {
	return entry{ID: u.ID, Name: u.Name, Display: u.DisplayName, Joined: site.Time{Time: u.Joined}, Role: u.Role.String(), Standing: standingOf(u)}
}

func (e entry) String() string {
	return fmt.Sprintf("%s: role %s, standing %s", e.Name, e.Role, e.Standing)
}

// Cells implements [site.Row].
func (e entry) Cells() []any { return []any{e.ID, e.Name, day(e.Joined), e.Role, e.Standing} }

// day formats a time as a date.
func day(t site.Time) string {
	date, _, _ := strings.Cut(t.String(), "T")
	return date
}

// ofUser adapts do to a command whose first argument is a username.
func ofUser[T any](do func(ctx context.Context, db *site.Database, u social.User) (T, error)) func(context.Context, *site.Database, []string) (T, error) {
	return func(ctx context.Context, db *site.Database, args []string) (result T, err error) {
		u, err := find(ctx, db, args[0])
		if err != nil {
			return result, err
		}
		return do(ctx, db, u)
	}
}

// find returns the user with a name. If there is none, the error suggests similar names.
func find(ctx context.Context, db *site.Database, name string) (social.User, error) {
	name = social.TypedName(name)
	user, err := db.Social.Users.UserByName(ctx, name)
	if !errors.Is(err, social.ErrNotFound) {
		return user, err
	}
	unknown := fmt.Errorf("there is no user %q", name)
	if near := similar(ctx, db, name); len(near) > 0 {
		return user, shell.Hint(unknown, "Did you mean "+strings.Join(near, " or ")+"?")
	}
	return user, unknown
}

const (
	// shownNames limits the names that an error suggests.
	shownNames = 3
	// maxCompletions is the number of completions from which these names are chosen.
	maxCompletions = 50
)

// similar returns usernames that differ from name in a few letters, found by completing prefixes of
// name.
func similar(ctx context.Context, db *site.Database, name string) []string {
	var near []string
	for _, prefix := range []string{name, name[:min(len(name), 2)], name[:min(len(name), 1)]} {
		users, err := db.Social.Completions.CompleteNames(ctx, &social.Viewer{}, prefix, maxCompletions)
		if err != nil {
			return nil // the name is unknown in any case
		}
		for _, u := range users {
			if len(near) < shownNames && distance(strings.ToLower(u.Name), strings.ToLower(name)) <= 2 {
				near = append(near, u.Name)
			}
		}
		if len(near) > 0 {
			return near
		}
	}
	return nil
}

// distance returns the Levenshtein distance of two words: the minimum number of letters to add,
// remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list",
		Short: "List the users, the newest first",
		Long: `Lists the users, the newest first, in short steps: a million users take no more memory
than a few. --role and --standing filter the users.`,
		Example: `  retwis user list --limit 20
  retwis user list --standing suspended
  retwis user list --json | jq -r .name`,
		Args: shell.NoArguments,
	})
	limit := c.Flags().IntP("limit", "n", 0, "show at most this many users; 0 for all")
	role := c.AddChoice("role", "show only users with this role", append([]string{"any"}, social.RoleNames()...)...)
	standing := c.AddChoice("standing", "show only users with this standing", "any", social.Good.String(), social.Limited.String(), social.Suspended.String(), pending)
	c.Check = func([]string) error {
		if *limit < 0 {
			return shell.Usage(errors.New("--limit cannot be negative"))
		}
		return nil
	}
	hides := func(u social.User) bool {
		return role.Value != "any" && role.Value != u.Role.String() || standing.Value != "any" && standing.Value != standingOf(u)
	}
	table := site.Table{
		JSON: "print each user as a line of JSON", Header: []string{"ID", "NAME", "JOINED", "ROLE", "STANDING"},
		None: "no such users",
	}
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
		return nil
	})
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Show a user",
		Long: `Shows a user: id, names, role and standing, followers, open sessions, whether logging in
takes a second factor, and whether the e-mail address is confirmed.`,
		Example: `  retwis user show ada
  retwis user show ada --json`,
		Args: shell.Arguments(1, 1, ""),
	})
	return site.Build(c, "print the user as JSON", func(ctx context.Context, db *site.Database, args []string) error {
		u, err := find(ctx, db, args[0])
		if err != nil {
			return err
		}
		counts, err := db.Social.Follows.Counts(ctx, u.ID)
		if err != nil {
			return err
		}
		sessions, err := db.Social.Sessions.OpenSessions(ctx, u.ID, "")
		if err != nil {
			return err
		}
		factor, err := db.Social.Auth.SecondFactor(ctx, u.ID)
		if err != nil {
			return err
		}
		address, err := db.Social.Email.Get(ctx, u.ID)
		if err != nil {
			return err
		}
		e, open := newEntry(u), len(sessions)
		e.Followers, e.Following, e.Sessions, e.Factor, e.Email = &counts.Followers, &counts.Following, &open, &factor.On, emailState(address)
		if c.JSON {
			return site.Print(c, e)
		}
		return e.printRows(c)
	})
}

// printRows prints the details of a user, one per line.
func (e entry) printRows(c *shell.Command) error {
	p, factor := c.NewPrinter(), "off"
	if *e.Factor {
		factor = "on"
	}
	for _, row := range []struct {
		name  string
		value any
	}{
		{"id", e.ID},
		{"name", e.Name},
		{"display name", e.Display},
		{"joined", day(e.Joined)},
		{"role", e.Role},
		{"standing", e.Standing},
		{"followers", *e.Followers},
		{"following", *e.Following},
		{"sessions", *e.Sessions},
		{"second factor", factor},
		{"e-mail", e.Email},
	} {
		if row.value == "" {
			continue
		}
		if err := p.Row(row.name, fmt.Sprint(row.value)); err != nil {
			return err
		}
	}
	return p.End()
}
