package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/social"
)

func newCheck(env Env) *cobra.Command {
	var asJSON bool
	var url *string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the keys of a database agree with each other",
		Long: `Walks the whole database in short steps and reports each place where two keys
that must agree do not. Leftovers are what a crash in the middle of a write
leaves: seen by nobody, or mended by itself. The exit code is 1 if there is
any other problem. It changes nothing, and may be run while the site is in use:
what is written in that very moment can then be reported too.`,
		Example: `  retwis check
  retwis check --redis redis://localhost --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			problems, err := runCheck(cmd, env, *url, asJSON)
			if err == nil && problems > 0 {
				return errTold
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each problem and the summary as a line of JSON")
	url = redisFlag(cmd)
	fromEnv(cmd, env.Getenv)
	return cmd
}

// runCheck prints what it finds, and returns how many problems there are.
func runCheck(cmd *cobra.Command, env Env, url string, asJSON bool) (problems int64, err error) {
	db, err := open(cmd, env, url, "", quiet(cmd))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	out := json.NewEncoder(cmd.OutOrStdout())
	result, err := db.social.Check(cmd.Context(), func(p social.Problem) {
		if asJSON {
			_ = out.Encode(checkProblem(p))
			return
		}
		fmt.Fprintln(cmd.OutOrStdout(), p)
	})
	if err != nil {
		return 0, err
	}
	if asJSON {
		err = out.Encode(checkSummary(result))
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(),
			"%d users, %d sessions, %d follows, %d posts, %d timelines: %d problems, %d leftovers\n",
			result.Users, result.Sessions, result.Follows, result.Posts, result.Timelines, result.Problems, result.Leftovers)
	}
	return result.Problems, err
}

// checkProblem is a problem as --json prints it.
type checkProblem struct {
	Key      string `json:"key"`
	Detail   string `json:"detail"`
	Leftover bool   `json:"leftover"`
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
}
