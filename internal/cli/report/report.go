// Package report holds the commands about what people have reported, and about the log of
// decisions: report and audit.
package report

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
	"retwis/internal/social/moderation"
)

// Commands returns report and audit.
func Commands(env shell.Env) []*cobra.Command {
	return []*cobra.Command{
		shell.Group(&cobra.Command{
			Use:   "report",
			Short: "Decide about posts and people that were reported",
			Long: `Lists what people have reported, and decides about it as an operator: moderators do the
same on the pages below /moderation. A report is named by its target, user:ID or post:ID.

"report take" leases the next one for 15 minutes: no moderator gets it meanwhile. "report
decide" takes it by itself, unless a moderator has it.`,
			Example: `  retwis report list
  retwis report decide post:12 hide --message 'No advertising, please.'
  retwis report decide user:7 suspend --for 168h --note 'the third time'
  retwis report decide user:8 dismiss`,
		}, newList(env), newShow(env), newTake(env), newReturn(env), newDecide(env)),
		newAudit(env),
	}
}

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "list [flags]", Short: "List open reports, the earliest first", Args: shell.NoArguments,
		Long: `Lists the open reports, the earliest first: the target, the person, how many people
have reported it, since when, and who decides about it now.`,
		Example: `  retwis report list
  retwis report list --json`,
	})
	c.AddJSON("print one JSON object a line")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.Operate(ctx, c, func(db *site.Database) (err error) {
			p := c.NewPrinter(false, false, true)
			defer func() { err = errors.Join(err, p.End()) }()
			for from, more := 0, true; more; from += social.MaxPage {
				var page []moderation.WaitingReport
				if page, more, err = db.Social.Reports.OpenReports(ctx, social.Operator, from, social.MaxPage); err != nil {
					return err
				}
				for _, one := range page {
					if err := printWaiting(ctx, db, p, one); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

func printWaiting(ctx context.Context, db *site.Database, p *shell.Printer, one moderation.WaitingReport) error {
	holder := ""
	if one.Holder != 0 {
		var err error
		if holder, err = actorName(ctx, db, one.Holder); err != nil {
			return err
		}
	}
	text := ""
	if one.Post != nil {
		text = one.Post.Body
	}
	object := shell.Object{
		{Name: "target", Value: one.Target},
		{Name: "person", Value: one.Person.Name},
		{Name: "reports", Value: one.Reporters},
		{Name: "since", Value: stamp(one.Since)},
	}
	if text != "" {
		object = append(object, shell.Field{Name: "text", Value: text})
	}
	taken := ""
	if holder != "" {
		object = append(object, shell.Field{Name: "holder", Value: holder}, shell.Field{Name: "until", Value: stamp(one.Until)})
		taken = "held by " + holder
	}
	return p.Print(object, one.Target, one.Person.Name, strconv.FormatInt(one.Reporters, 10), stamp(one.Since), taken, shorten(text))
}

// actorName is how an actor of the log is printed.
func actorName(ctx context.Context, db *site.Database, actor social.Actor) (string, error) {
	if actor == social.Operator || actor == social.Automatic {
		return actor.String(), nil
	}
	return userName(ctx, db, int64(actor))
}

func userName(ctx context.Context, db *site.Database, uid int64) (string, error) {
	users, err := db.Social.Reports.UsersOf(ctx, uid)
	if user, ok := users[uid]; ok {
		return user.Name, err
	}
	return "user:" + strconv.FormatInt(uid, 10), err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// shorten returns the beginning of a text, on one line.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return string(runes)
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "show [flags] TARGET", Short: "Show the reports about a post or a person", Args: shell.Arguments(1, 1, ""),
		Long: `Shows what people have reported about a post or a person, with their reasons. TARGET is
post:ID or user:ID, as "retwis report list" prints it.`,
		Example: `  retwis report show post:12
  retwis report show user:7 --json`,
	})
	c.AddJSON("print one JSON object")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			found, err := db.Social.Reports.ReportOf(ctx, social.Operator, args[0])
			return errors.Join(explain(err, args[0]), printCase(c, found, err))
		})
	})
}

// printCase prints a report, unless there was an error.
func printCase(c *shell.Command, found moderation.ReportCase, err error) error {
	if err != nil {
		return nil
	}
	p := c.NewPrinter()
	var reports []shell.Object
	for _, one := range found.Reports {
		reports = append(reports, shell.Object{
			{Name: "by", Value: one.By.Name}, {Name: "time", Value: stamp(one.Time)}, {Name: "kind", Value: one.Kind}, {Name: "text", Value: one.Text},
		})
	}
	object := shell.Object{{Name: "target", Value: found.Target}, {Name: "person", Value: found.Person.Name}}
	text := ""
	if found.Post != nil {
		text = found.Post.Body
		object = append(object, shell.Field{Name: "text", Value: text})
	}
	object = append(object, shell.Field{Name: "standing", Value: found.Person.Standing.String()}, shell.Field{Name: "reports", Value: reports})
	err = p.Print(object, found.Target, found.Person.Name, found.Person.Standing.String(), shorten(text))
	for _, one := range found.Reports {
		err = errors.Join(err, p.Row("  "+one.Kind, one.By.Name, stamp(one.Time), one.Text))
	}
	return errors.Join(err, p.End())
}

// explain adds what to do to an error about a target.
func explain(err error, target string) error {
	switch {
	case errors.Is(err, moderation.ErrNoReport):
		return fmt.Errorf("no open report about %s", target)
	case errors.Is(err, moderation.ErrReportHeld):
		return shell.Hint(fmt.Errorf("a moderator has the report about %s", target), "wait until they have decided, at most 15 minutes after they have left")
	case errors.Is(err, moderation.ErrReportNotHeld):
		return fmt.Errorf("you don't have the report about %s", target)
	}
	return err
}

func newTake(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "take [flags] [TARGET]", Short: "Take the next report, or that about a target, for 15 minutes", Args: shell.Arguments(0, 1, ""),
		Long: `Takes the next report, or that about a target, for 15 minutes: no moderator gets it
meanwhile. Where operators have one already, it is that one. The exit code is 1 if none
waits.`,
		Example: `  retwis report take
  retwis report take post:12`,
	})
	c.AddJSON("print one JSON object")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			if len(args) == 1 {
				found, err := db.Social.Reports.TakeReportOf(ctx, social.Operator, args[0])
				return errors.Join(explain(err, args[0]), printCase(c, found, err))
			}
			found, err := db.Social.Reports.TakeReport(ctx, social.Operator)
			if errors.Is(err, moderation.ErrNoReport) {
				return errors.New("no report waits")
			}
			return errors.Join(err, printCase(c, found, err))
		})
	})
}

func newReturn(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "return [flags] TARGET", Short: "Leave a report that was taken to others", Args: shell.Arguments(1, 1, ""),
		Long: `Leaves a report that "retwis report take" has taken to others, at once instead of after 15
minutes. Nothing is decided.`,
		Example: `  retwis report return post:12`,
	})
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			return explain(db.Social.Reports.ReturnReport(ctx, social.Operator, args[0]), args[0])
		})
	})
}

func newDecide(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "decide [flags] TARGET ACTION", Short: "Decide about a report, and close it", Args: shell.Arguments(2, 2, ""),
		Long: `Decides about the report about TARGET, and closes it. ACTION is one of

  dismiss   nothing is wrong
  hide      hide the post from everybody but its author and moderators
  delete    delete the post
  limit     public lists no longer show the person
  suspend   the person cannot log in, and nobody but moderators sees what they wrote

The last two are about the author if a post was reported.`,
		Example: `  retwis report decide post:12 hide --message 'No advertising, please.'
  retwis report decide user:7 suspend --for 168h --note 'the third time'`,
		ValidArgsFunction: shell.CompleteArgument(1, moderation.ReportActions...),
	})
	d := moderation.ReportDecision{}
	c.Flags().StringVar(&d.Message, "message", "", "the reason that the user sees")
	c.Flags().StringVar(&d.Note, "note", "", "why, for the audit log")
	lasts := c.Flags().Duration("for", 0, "how long, as in 72h; 0 for no end")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		d.Action = args[1]
		switch {
		case *lasts < 0:
			return shell.Usage(errors.New("--for: a negative duration"))
		case *lasts > 0 && d.Action != "limit" && d.Action != "suspend":
			return shell.Usage(errors.New("--for is for limit and suspend"))
		case *lasts > 0:
			d.Until = time.Now().Add(*lasts)
		}
		return site.Operate(ctx, c, func(db *site.Database) error {
			err := db.Social.Reports.DecideReport(ctx, social.Operator, args[0], d)
			var invalid *social.InvalidError
			if errors.As(err, &invalid) && invalid.Field == "action" {
				return shell.Usage(fmt.Errorf("%s: %s Actions: %s", d.Action, invalid.Reason, strings.Join(moderation.ReportActions, ", ")))
			}
			return explain(err, args[0])
		})
	})
}
