package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

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
			return runCheck(cmd, env, *url, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each problem and the summary as a line of JSON")
	url = redisFlag(cmd)
	fromEnv(cmd, env.Getenv)
	return cmd
}

func runCheck(cmd *cobra.Command, env Env, url string, asJSON bool) (err error) {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := openStore(cmd, url, log, env.Getenv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	service, err := social.New(db.Client(), social.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	out := json.NewEncoder(cmd.OutOrStdout())
	result, err := service.Check(cmd.Context(), func(p social.Problem) {
		if asJSON {
			_ = out.Encode(p)
		} else {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = out.Encode(result)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(),
			"%d users, %d sessions, %d follows, %d posts, %d timelines: %d problems, %d leftovers\n",
			result.Users, result.Sessions, result.Follows, result.Posts, result.Timelines, result.Problems, result.Leftovers)
	}
	if err == nil && result.Problems > 0 {
		return errSilent
	}
	return err
}
