package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social/check"
	"retwis/maintain"
)

// checkFlags are the flags of retwis check.
type checkFlags struct {
	repair, deleteFiles bool
	sample              int
	rate                uint32
	part                percent
}

// checkActions are the flags that change the database. No variables set them.
var checkActions = []string{"repair", "delete-files"}

func newCheck(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "check",
		Short: "Check that the keys of a database are consistent, and repair them",
		Long: `Scans the whole database in short steps and reports keys that contradict each other, keys
of the wrong type, and timelines that lack a post. Timelines are sampled: those of some
followers of each author, for the author's last three posts. Leftovers come from a crash
in the middle of a write; users do not see them, or they are repaired when they are read.

Without --repair nothing is changed, and each line says what a repair would do. The site
can stay in use: concurrent writes may be reported, but are never repaired. Problems with
more than one solution are left to you. A key that cannot be read is renamed to
damaged:{KEY}.

If the media store is known (--media), the files of pictures are checked, too: a picture
without its files is a problem; an unused picture, and a file that belongs to no picture and
was written more than a day ago, are leftovers. --repair deletes them only with
--delete-files: another site, or a copy of this one, may use them.

On a large database, --part 1% checks a hundredth of the users and posts, chosen by their
ids, and their lists. Keys that all users share, such as the names, are checked completely,
except for the completion of names.

The exit code is 0 if no problem is left, apart from leftovers, and 1 if a problem is
left or the check failed.`,
		Example: `  retwis check
  retwis check --repair
  retwis check --redis redis://localhost --json`,
		Args: shell.NoArguments,
	})
	var flags checkFlags
	f := c.Flags()
	f.BoolVar(&flags.repair, "repair", false, "repair what can be repaired")
	f.BoolVar(&flags.deleteFiles, "delete-files", false, "with --repair: delete unused picture files; only if no other site, and no copy of this one, has its pictures in the same place")
	f.IntVar(&flags.sample, "sample", 100, "check this `NUMBER` of followers of each author; 0 for none")
	f.Uint32Var(&flags.rate, "rate", 0, "check at most this `NUMBER` of keys a second; 0 for no limit")
	flags.part = 100
	f.Var(&flags.part, "part", "check this `PERCENT` of the users and posts, the same ones each time, such as 1%")
	c.AddJSON("print each problem and the summary as a line of JSON")
	c.AddRedis()
	site.AddMedia(c)
	c.FromEnv(checkActions...)
	return c.Build(func(ctx context.Context, _ []string) error {
		if err := flags.check(); err != nil {
			return shell.Usage(err)
		}
		return site.Look(ctx, c, func(db *site.Database) error {
			return flags.run(ctx, c, db)
		})
	})
}

// percent is the value of --part.
type percent float64

// Type implements pflag.Value.
func (p *percent) Type() string { return "PERCENT" }

func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 64) + "%" }

// Set implements pflag.Value.
func (p *percent) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(n > 0 && n <= 100) {
		return errors.New("use a number above 0 and at most 100, such as 1%")
	}
	*p = percent(n)
	return nil
}

// check rejects contradictory flags.
func (flags *checkFlags) check() error {
	switch {
	case flags.deleteFiles && !flags.repair:
		return errors.New("--delete-files needs --repair")
	case flags.sample < 0:
		return fmt.Errorf("--sample: %d is negative", flags.sample)
	}
	return nil
}

// run checks the database and prints the problems. If a problem is left, run returns an error.
func (flags *checkFlags) run(ctx context.Context, c *shell.Command, db *site.Database) error {
	opt := check.Options{Options: maintain.Options{Rate: int(flags.rate), Examples: -1}, Followers: flags.sample, Part: float64(flags.part) / 100, DeleteFiles: flags.deleteFiles}
	if flags.sample == 0 {
		opt.Followers = -1
	}
	draw, erase := shell.Bar(c.Stderr, "checking")
	if draw != nil {
		opt.Progress = func(p maintain.Progress) { draw(int(min(p.Checked, p.Total)), int(p.Total)) }
	}
	out := json.NewEncoder(c.Stdout)
	opt.Report = func(p check.Problem) {
		erase()
		if c.JSON {
			_ = out.Encode(checkProblem{p.Key, p.Detail, p.Leftover, p.Repair, p.Repaired})
			return
		}
		fmt.Fprintln(c.Stdout, p)
	}
	run := check.Verify
	if flags.repair {
		run = check.Repair
	}
	result, err := run(ctx, db.Social, opt)
	erase()
	if err != nil {
		return err
	}
	if c.JSON {
		summary := summaryOf(result)
		summary.Part = opt.Part
		err = out.Encode(summary)
	} else {
		text := checkText(result, flags.repair)
		if flags.part < 100 {
			text += "; " + flags.part.String() + " of the users and posts were checked"
		}
		_, err = fmt.Fprintln(c.Stdout, text)
	}
	if err == nil && result.Remaining > 0 {
		return shell.ErrReported
	}
	return err
}

// checkText formats the summary as text.
func checkText(r check.Result, repair bool) string {
	text := strings.Join([]string{
		shell.Plural(r.Users, "user", "users"), shell.Plural(r.Sessions, "session", "sessions"),
		shell.Plural(r.Follows, "follow", "follows"), shell.Plural(r.Posts, "post", "posts"),
		shell.Plural(r.Timelines, "timeline", "timelines"),
	}, ", ") + ": " + shell.Plural(r.Problems, "problem", "problems") + ", " + shell.Plural(r.Leftovers, "leftover", "leftovers")
	if repair {
		text += fmt.Sprintf(", %d repaired, %s left", r.Repaired, shell.Plural(r.Remaining, "problem", "problems"))
	}
	return text
}

// checkProblem is a problem as --json prints it.
type checkProblem struct {
	Key      string `json:"key"`
	Detail   string `json:"detail"`
	Leftover bool   `json:"leftover"`
	Repair   string `json:"repair"`
	Repaired bool   `json:"repaired"`
}

func summaryOf(r check.Result) checkSummary {
	return checkSummary{
		Users: r.Users, Sessions: r.Sessions, Follows: r.Follows, Posts: r.Posts, Timelines: r.Timelines,
		Problems: r.Problems, Leftovers: r.Leftovers, Repaired: r.Repaired, Remaining: r.Remaining,
	}
}

// checkSummary is the last line that --json prints.
type checkSummary struct {
	Users     int64 `json:"users"`
	Sessions  int64 `json:"sessions"`
	Follows   int64 `json:"follows"`
	Posts     int64 `json:"posts"`
	Timelines int64 `json:"timelines"`
	Problems  int64 `json:"problems"`
	Leftovers int64 `json:"leftovers"`
	Repaired  int64 `json:"repaired"`
	Remaining int64 `json:"remaining"`

	Part float64 `json:"part"` // fraction of the users and posts checked
}
