package serve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/social/check"
)

func NewCheck(env shell.Env) *cobra.Command {
	var flags checkFlags
	var legacy legacyFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the keys of a database agree with each other, and repair them",
		Long: `Passes over the whole database in short steps and reports each place where two
keys that must agree do not, where a key is of the wrong type, and where a
timeline lacks a post that belongs there. Timelines are sampled: for each author
some followers, for the latest three posts. Leftovers are what a crash in the
middle of a write leaves: seen by nobody, or repaired by itself.

Without --repair nothing is changed, and each line says what a repair would do.
Both may run while the site is in use: what is written in that very moment can
be reported, but is never repaired. What a repair cannot decide is left for you.
What it cannot read it renames to damaged:{KEY}.

Exit codes: 0 when nothing is wrong any more, leftovers aside; 1 when a problem
remains, or the check could not be done.`,
		Example: `  retwis check
  retwis check --repair
  retwis check --remove-legacy
  retwis check --redis redis://localhost --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if legacy.given() {
				return legacy.run(cmd, env, flags)
			}
			remaining, err := runCheck(cmd, env, flags)
			if err == nil && remaining > 0 {
				return shell.ErrReported
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.asJSON, "json", false, "print each problem and the summary as a line of JSON")
	f.BoolVar(&flags.repair, "repair", false, "repair what can be repaired")
	f.IntVar(&flags.sample, "sample", 100, "how many followers of each author to look at, 0 for none")
	legacy.add(cmd)
	flags.url = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, checkActions...)
	return cmd
}

// checkActions are the flags that change the database, or make another command of
// it. No variable sets them.
var checkActions = []string{"repair", "remove-legacy", "yes"}

type checkFlags struct {
	asJSON, repair bool
	sample         int
	url            *string
}

// runCheck prints what it finds, and returns how many problems remain.
func runCheck(cmd *cobra.Command, env shell.Env, flags checkFlags) (remaining int64, err error) {
	if flags.sample < 0 {
		return 0, shell.Usage(fmt.Errorf("--sample: %d is negative", flags.sample))
	}
	if flags.sample == 0 {
		flags.sample = -1
	}
	db, err := open(cmd, env, *flags.url, "", shell.Quiet(cmd))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := refuseNotConverted(cmd, db, flags.repair); err != nil {
		return 0, err
	}
	draw, wipe := shell.Progress(cmd.ErrOrStderr(), "checking")
	out := json.NewEncoder(cmd.OutOrStdout())
	opt := check.Options{Repair: flags.repair, Followers: flags.sample}
	if draw != nil {
		opt.Progress = func(done, total int64) { draw(int(done), int(total)) }
	}
	opt.Report = func(p check.Problem) {
		wipe()
		if flags.asJSON {
			_ = out.Encode(checkProblem(p))
			return
		}
		fmt.Fprintln(cmd.OutOrStdout(), p)
	}
	result, err := check.Run(cmd.Context(), db.social, opt)
	wipe()
	if err != nil {
		return 0, err
	}
	if flags.asJSON {
		return result.Remaining, out.Encode(checkSummary(result))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(),
		"%d users, %d sessions, %d follows, %d posts, %d timelines: %d problems, %d leftovers%s\n",
		result.Users, result.Sessions, result.Follows, result.Posts, result.Timelines, result.Problems, result.Leftovers,
		repairedText(flags.repair, result))
	return result.Remaining, err
}

func repairedText(repair bool, result check.Result) string {
	if !repair {
		return ""
	}
	return fmt.Sprintf(", %d repaired, %d problems remain", result.Repaired, result.Remaining)
}

// checkProblem is a problem as --json prints it.
type checkProblem struct {
	Key      string `json:"key"`
	Detail   string `json:"detail"`
	Leftover bool   `json:"leftover"`
	Repair   string `json:"repair"`
	Repaired bool   `json:"repaired"`
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
}
