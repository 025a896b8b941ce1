package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/seed"
	"retwis/internal/social"
)

// inWords words input that the site would refuse as this program words what is
// wrong: there it is a sentence beside a field.
func inWords(err error) error {
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	first, size := utf8.DecodeRuneInString(invalid.Reason)
	reason := string(unicode.ToLower(first)) + strings.TrimSuffix(invalid.Reason[size:], ".")
	return fmt.Errorf("%s: %s", invalid.Field, reason)
}

func NewSeed(env shell.Env) *cobra.Command {
	var opt seed.Options
	var asJSON, share bool
	var url *string
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Add a made-up network to a database",
		Long: `Adds users, follows and posts that look like real ones: a few people whom very
many follow, times over the last month, texts that can be read. The same seed
gives the same network on the same day. Everybody has the same password: this
is for databases to try things with.`,
		Example: `  retwis seed --users 1000 --follows 20000 --posts 10000
  retwis seed --users 50 --follows 300 --posts 200 --redis redis://localhost --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSeed(cmd, env, *url, opt, asJSON, share)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.Users, "users", 100, "how many users to add")
	f.IntVar(&opt.Follows, "follows", 1500, "how many follows among them")
	f.IntVar(&opt.Posts, "posts", 1000, "how many posts by them")
	f.Uint64Var(&opt.Seed, "seed", 1, "the seed of what is made up")
	f.StringVar(&opt.Password, "password", "", "everybody's password; a random one when empty")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	url = shell.RedisFlag(cmd)
	shareFlag(cmd, &share)
	shell.FromEnv(cmd, env.Getenv)
	return cmd
}

func runSeed(cmd *cobra.Command, env shell.Env, url string, opt seed.Options, asJSON, share bool) (err error) {
	db, err := open(cmd, env, url, "", shell.Quiet(cmd))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := adoptDatabase(cmd.Context(), db, share, shell.Quiet(cmd)); err != nil {
		return err
	}
	var wipe func()
	opt.Progress, wipe = shell.Progress(cmd.ErrOrStderr(), "seeding")
	began := time.Now()
	result, err := seed.Run(cmd.Context(), db.social, opt)
	wipe()
	if err != nil {
		return inWords(err)
	}
	took := time.Since(began)
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			seed.Result
			Seconds float64 `json:"seconds"`
		}{result, took.Seconds()})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(),
		"added %d users, %d follows and %d posts in %.1f s; log in as %q with the password %q\n",
		result.Users, result.Follows, result.Posts, took.Seconds(), result.Name, result.Password)
	return err
}
