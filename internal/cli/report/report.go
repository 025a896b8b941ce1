// Package report implements the retwis report and retwis audit commands, for user reports and for
// the log of decisions.
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

// Commands returns the report and audit commands.
func Commands(env shell.Env) []*cobra.Command {
	return []*cobra.Command{
		shell.Group(&cobra.Command{
			Use:   "report",
			Short: "Decide about reported posts and people",
			Long: `Lists what people have reported, and decides about the reports as an operator. Moderators do
the same on the pages below /moderation. A report is named by its target: user:ID or
post:ID.

"report take" leases the next report for 15 minutes, during which no moderator gets it.
"report decide" also works without "report take", unless a moderator has the report.`,
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
have reported it, since when, who is deciding about it, and the text of the post. For a
deleted post, the reported text is shown.`,
		Example: `  retwis report list
  retwis report list --json`,
	})
	return site.List(c, site.Table{JSON: "print each report as a line of JSON"}, func(ctx context.Context, db *site.Database, _ []string, print func(waiting) error) error {
		for from, more := 0, true; more; from += social.MaxPage {
			page, next, err := db.Social.Reports.OpenReports(ctx, social.Operator, from, social.MaxPage)
			if err != nil {
				return err
			}
			for _, r := range page {
				w, err := waitingOf(ctx, db, r)
				if err == nil {
					err = print(w)
				}
				if err != nil {
					return err
				}
			}
			more = next
		}
		return nil
	})
}

// waiting is an open report as printed.
type waiting struct {
	Target  string    `json:"target"`
	Person  string    `json:"person"`
	Reports int64     `json:"reports"`
	Since   site.Time `json:"since"`
	Text    string    `json:"text,omitempty"`
	Deleted *deletion `json:"deleted,omitempty"`
	Holder  string    `json:"holder,omitempty"`
	Until   site.Time `json:"until,omitzero"`
}

func waitingOf(ctx context.Context, db *site.Database, r moderation.WaitingReport) (w waiting, err error) {
	w = waiting{Target: r.Target, Person: r.Person.Name, Reports: r.Reporters, Since: site.Time{Time: r.Since}}
	w.Text, w.Deleted = textOf(r.Subject, r.Texts)
	if r.Holder != 0 {
		w.Until = site.Time{Time: r.Until}
		w.Holder, err = actorName(ctx, db, r.Holder)
	}
	return w, err
}

// Cells implements [site.Row].
func (w waiting) Cells() []any {
	held := ""
	if w.Holder != "" {
		held = "held by " + w.Holder
	}
	return []any{w.Target, w.Person, w.Reports, w.Since, held, deletedText(w.Text, w.Deleted)}
}

// deletion describes how a reported post was deleted.
type deletion struct {
	Time site.Time `json:"time"`
	By   string    `json:"by"` // author or moderator
}

// textOf returns the text of a reported post, or, if the post is deleted, the last reported text.
func textOf(s moderation.Subject, kept []moderation.ReportedText) (string, *deletion) {
	switch {
	case s.Post != nil:
		return s.Post.Body, nil
	case s.Deleted.IsZero():
		return "", nil
	}
	d, text := &deletion{Time: site.Time{Time: s.Deleted}, By: "moderator"}, ""
	if s.ByAuthor() {
		d.By = "author"
	}
	if len(kept) > 0 {
		text = kept[len(kept)-1].Text
	}
	return text, d
}

// deletedText returns a shortened text for a table. If the post was deleted, a note says so first.
func deletedText(text string, d *deletion) string {
	switch {
	case d == nil:
		return shorten(text)
	case d.By == "author":
		return "deleted by its author at " + d.Time.String() + ": " + shorten(text)
	}
	return "deleted by a moderator at " + d.Time.String() + ": " + shorten(text)
}

// actorName returns the name of an actor in the log.
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

// shorten returns the beginning of a text on one line.
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
	return site.Build(c, "print one JSON object", func(ctx context.Context, db *site.Database, args []string) error {
		found, err := db.Social.Reports.ReportOf(ctx, social.Operator, args[0])
		if err != nil {
			return explain(err, args[0])
		}
		return printCase(c, found)
	})
}

// report is the report of one person as printed.
type report struct {
	By   string    `json:"by"`
	Time site.Time `json:"time"`
	Kind string    `json:"kind"`
	Rule string    `json:"rule,omitempty"` // the broken rule, with its number
	Text string    `json:"text"`
}

// keptText is the text of a post when it was reported.
type keptText struct {
	Since site.Time `json:"since"`
	Text  string    `json:"text"`
}

// printCase prints all reports about a target.
func printCase(c *shell.Command, found moderation.ReportCase) error {
	var reports []report
	for _, r := range found.Reports {
		reports = append(reports, report{r.By.Name, site.Time{Time: r.Time}, r.Kind, r.Rule.String(), r.Text})
	}
	object := shell.Object{{Name: "target", Value: found.Target}, {Name: "person", Value: found.Person.Name}}
	text, deleted := textOf(found.Subject, found.Texts)
	if text != "" {
		object = append(object, shell.Field{Name: "text", Value: text})
	}
	if deleted != nil {
		object = append(object, shell.Field{Name: "deleted", Value: deleted})
	}
	if len(found.Texts) > 0 {
		var texts []keptText
		for _, kept := range found.Texts {
			texts = append(texts, keptText{site.Time{Time: kept.Time}, kept.Text})
		}
		object = append(object, shell.Field{Name: "reported_texts", Value: texts})
	}
	standing := found.Person.Standing.String()
	object = append(object, shell.Field{Name: "standing", Value: standing}, shell.Field{Name: "reports", Value: reports})
	p := c.NewPrinter()
	err := p.Print(object, found.Target, found.Person.Name, standing, deletedText(text, deleted))
	for _, r := range reports {
		err = errors.Join(err, p.Row("  "+r.Kind, r.By, r.Time.String(), strings.TrimSpace(r.Rule+" "+r.Text)))
	}
	return errors.Join(err, p.End())
}

// explain rewords an error about a target and adds a hint.
func explain(err error, target string) error {
	switch {
	case errors.Is(err, moderation.ErrNoReport):
		return fmt.Errorf("no open report about %s", target)
	case errors.Is(err, moderation.ErrReportHeld):
		return shell.Hint(fmt.Errorf("a moderator has the report about %s", target), "Wait until the moderator has decided, or for 15 minutes after the moderator has left.")
	case errors.Is(err, moderation.ErrReportNotHeld):
		return fmt.Errorf("you don't have the report about %s", target)
	}
	return err
}

func newTake(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "take [flags] [TARGET]", Short: "Take the next report, or the report about a target, for 15 minutes", Args: shell.Arguments(0, 1, ""),
		Long: `Takes the next report, or the report about TARGET, for 15 minutes, during which no moderator
gets it. If operators already have a report, that report is the next one. The exit code is 1
if there are no open reports.`,
		Example: `  retwis report take
  retwis report take post:12`,
	})
	return site.Build(c, "print one JSON object", func(ctx context.Context, db *site.Database, args []string) (err error) {
		var found moderation.ReportCase
		if len(args) == 1 {
			found, err = db.Social.Reports.TakeReportOf(ctx, social.Operator, args[0])
			err = explain(err, args[0])
		} else if found, err = db.Social.Reports.TakeReport(ctx, social.Operator); errors.Is(err, moderation.ErrNoReport) {
			err = errors.New("there are no open reports")
		}
		if err != nil {
			return err
		}
		return printCase(c, found)
	})
}

func newReturn(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "return [flags] TARGET", Short: "Give back a report that was taken", Args: shell.Arguments(1, 1, ""),
		Long: `Gives back a report taken with "retwis report take", at once instead of after 15 minutes.
Nothing is decided.`,
		Example: `  retwis report return post:12`,
	})
	return site.Build(c, "", func(ctx context.Context, db *site.Database, args []string) error {
		return explain(db.Social.Reports.ReturnReport(ctx, social.Operator, args[0]), args[0])
	})
}

func newDecide(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use: "decide [flags] TARGET ACTION", Short: "Decide about a report, and close it", Args: shell.Arguments(2, 2, ""),
		Long: `Decides about the report about TARGET, and closes it. ACTION is one of

  dismiss   nothing is wrong; or, for an appeal, the decision stands
  hide      hide the post from everybody except its author and moderators
  unhide    show the post again
  delete    delete the post
  limit     public lists no longer show the person
  suspend   the person cannot log in, and only moderators see what they wrote
  restore   end the limit or the suspension

If a post was reported, limit, suspend and restore are about its author. The kind of a
report by which a person appeals against a decision is "appeal".`,
		Example: `  retwis report decide post:12 hide --message 'No advertising, please.'
  retwis report decide user:7 suspend --for 168h --note 'the third time'`,
		ValidArgsFunction: shell.CompleteArgument(1, moderation.ReportActions...),
	})
	d := moderation.ReportDecision{}
	c.Flags().StringVar(&d.Message, "message", "", "the reason that the user sees")
	c.Flags().StringVar(&d.Note, "note", "", "why, for the audit log")
	duration := c.Flags().Duration("for", 0, "how long, as in 72h; 0 for no expiry")
	c.Check = func(args []string) error {
		d.Action = args[1]
		switch {
		case *duration < 0:
			return shell.Usage(errors.New("--for cannot be negative"))
		case *duration > 0 && d.Action != "limit" && d.Action != "suspend":
			return shell.Usage(errors.New("--for needs limit or suspend"))
		case *duration > 0:
			d.Until = time.Now().Add(*duration)
		}
		return nil
	}
	return site.Build(c, "", func(ctx context.Context, db *site.Database, args []string) error {
		err := db.Social.Reports.DecideReport(ctx, social.Operator, args[0], d)
		var invalid *social.InvalidError
		if errors.As(err, &invalid) && invalid.Field == "action" {
			return shell.Usage(fmt.Errorf("%s: %s Actions: %s", d.Action, invalid.Reason, strings.Join(moderation.ReportActions, ", ")))
		}
		return explain(err, args[0])
	})
}
