package report

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/audit"
)

func newAudit(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "audit [flags]", Short: "Print the decisions of operators and moderators", Args: shell.NoArguments,
		Long: `Prints the decisions of operators and moderators, the latest first: the time, who decided,
the action, its target, the person concerned, and the note. The log keeps about the latest
100,000.`,
		Example: `  retwis audit --limit 20
  retwis audit --by ada
  retwis audit --about bob --json`,
	})
	by := c.Flags().String("by", "", "print only decisions of this `NAME`: a username, operator or automatic")
	about := c.Flags().String("about", "", "print only decisions about the person with this `NAME` and their posts")
	target := c.Flags().String("target", "", "print only decisions about this `TARGET`, such as post:12")
	limit := c.Flags().Int("limit", 100, "how many to print; 0 for all")
	c.Check = func([]string) error {
		if *limit < 0 {
			return shell.Usage(errors.New("--limit cannot be negative"))
		}
		return nil
	}
	return site.List(c, site.Table{JSON: "print each decision as a line of JSON"}, func(ctx context.Context, db *site.Database, _ []string, print func(entry) error) error {
		filter, err := filterOf(ctx, db, *by, *about, *target)
		if err != nil {
			return err
		}
		for cursor, n := "", 0; ; {
			page, err := db.Social.Audit.Read(ctx, filter, cursor, social.MaxPage)
			if err != nil {
				return err
			}
			for _, e := range page.Entries {
				if *limit > 0 && n == *limit {
					return nil
				}
				line, err := entryOf(ctx, db, e)
				if err == nil {
					err = print(line)
				}
				if err != nil {
					return err
				}
				n++
			}
			if cursor = page.Next; cursor == "" {
				return nil
			}
		}
	})
}

func filterOf(ctx context.Context, db *site.Database, by, about, target string) (audit.Filter, error) {
	f := audit.Filter{Target: target}
	switch by {
	case "":
	case social.Operator.String():
		f.Actor = social.Operator
	case social.Automatic.String():
		f.Actor = social.Automatic
	default:
		user, err := userByName(ctx, db, by)
		if err != nil {
			return f, err
		}
		f.Actor = user.Actor()
	}
	if about == "" {
		return f, nil
	}
	user, err := userByName(ctx, db, about)
	f.Person = user.ID
	return f, err
}

func userByName(ctx context.Context, db *site.Database, name string) (social.User, error) {
	user, err := db.Social.Users.UserByName(ctx, social.TypedName(name))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, fmt.Errorf("no user is called %q", name)
	}
	return user, err
}

// entry is an entry of the log as printed.
type entry struct {
	Time   site.Time `json:"time"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Target string    `json:"target"`
	Person string    `json:"person,omitempty"`
	Note   string    `json:"note,omitempty"`
}

func entryOf(ctx context.Context, db *site.Database, e audit.Entry) (entry, error) {
	by, err := actorName(ctx, db, e.Actor)
	person := ""
	if err == nil && e.Person != 0 {
		person, err = userName(ctx, db, e.Person)
	}
	return entry{site.Time{Time: e.Time}, by, e.Action, e.Target, person, e.Note}, err
}

// Cells implements [site.Row].
func (e entry) Cells() []any {
	return []any{e.Time, e.Actor, e.Action, e.Target, e.Person, strings.Join(strings.Fields(e.Note), " ")}
}
