// Package user is the command retwis user: the accounts of the site.
package user

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

// New returns retwis user.
func New(env shell.Env) *cobra.Command {
	group := shell.Group(&cobra.Command{
		Use:   "user",
		Short: "List, create and help users",
		Long: `Lists, creates and helps the users of the site, also while it is served. A user is named
by username, in any case.`,
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

// entry is a user as --json prints it.
type entry struct {
	ID        int64   `json:"id"`
	Name      string  `json:"name"`
	Display   string  `json:"display_name,omitempty"`
	Joined    *string `json:"joined"`
	Role      string  `json:"role"`
	Standing  string  `json:"standing"`
	Followers *int64  `json:"followers,omitempty"`
	Following *int64  `json:"following,omitempty"`
	Sessions  *int    `json:"sessions,omitempty"`
	Factor    *bool   `json:"second_factor,omitempty"`
	Email     string  `json:"email,omitempty"` // whether there is an address
}

func newEntry(u social.User) entry {
	return entry{ID: u.ID, Name: u.Name, Display: u.DisplayName, Joined: text(u.Joined), Role: u.Role.String(), Standing: standingOf(u)}
}

// text formats a time, nil for one that is not known.
func text(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339)
	return &s
}

// day formats a time for people.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

// ofUser builds a command that does something with the user whose name is its first argument.
func ofUser(c *shell.Command, do func(ctx context.Context, db *site.Database, u social.User) error) *cobra.Command {
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			u, err := find(ctx, db, args[0])
			if err != nil {
				return err
			}
			return do(ctx, db, u)
		})
	})
}

// find returns the user of a name. The error names those that are spelled alike.
func find(ctx context.Context, db *site.Database, name string) (social.User, error) {
	name = strings.TrimPrefix(name, "@")
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
	// shownNames is how many names an error suggests.
	shownNames = 3
	// suggested is among how many it chooses.
	suggested = 50
)

// similar returns names that differ in a few letters, as the completion of names knows
// them.
func similar(ctx context.Context, db *site.Database, name string) []string {
	var near []string
	for _, prefix := range []string{name, name[:min(len(name), 2)], name[:min(len(name), 1)]} {
		users, err := db.Social.Completions.CompleteNames(ctx, &social.Viewer{}, prefix, suggested)
		if err != nil {
			return nil // the name is unknown all the same
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

// distance is how many letters of a word have to be added, removed or replaced to get
// another one (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Show a user",
		Long: `Shows a user: id, names, role and standing, followers, open sessions, and whether logging
in takes a second factor; and of an e-mail address whether it is confirmed.`,
		Example: `  retwis user show ada
  retwis user show ada --json`,
		Args: shell.Arguments(1, 1, ""),
	})
	c.AddJSON("print the user as JSON")
	c.AddRedis()
	return ofUser(c, func(ctx context.Context, db *site.Database, u social.User) (err error) {
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
		e := newEntry(u)
		e.Email = emailState(address)
		open := len(sessions)
		e.Followers, e.Following, e.Sessions, e.Factor = &counts.Followers, &counts.Following, &open, &factor.On
		p := c.NewPrinter()
		if c.JSON {
			if err := p.Print(e); err != nil {
				return err
			}
			return p.End()
		}
		for _, row := range [][2]string{
			{"id", strconv.FormatInt(u.ID, 10)},
			{"name", u.Name},
			{"display name", u.DisplayName},
			{"joined", day(u.Joined)},
			{"role", u.Role.String()},
			{"standing", standingOf(u)},
			{"followers", strconv.FormatInt(counts.Followers, 10)},
			{"following", strconv.FormatInt(counts.Following, 10)},
			{"sessions", strconv.Itoa(open)},
			{"second factor", onOff(factor.On)},
			{"e-mail", e.Email},
		} {
			if row[1] == "" {
				continue
			}
			if err := p.Row(row[0], row[1]); err != nil {
				return err
			}
		}
		return p.End()
	})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
