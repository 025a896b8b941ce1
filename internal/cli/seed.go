package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"retwis/internal/seed"
)

func newSeed(env Env) *cobra.Command {
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
	url = redisFlag(cmd)
	shareFlag(cmd, &share)
	fromEnv(cmd, env.Getenv)
	return cmd
}

func runSeed(cmd *cobra.Command, env Env, url string, opt seed.Options, asJSON, share bool) (err error) {
	db, err := open(cmd, env, url, "", quiet(cmd))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := adopt(cmd.Context(), db, share, quiet(cmd)); err != nil {
		return err
	}
	var wipe func()
	opt.Progress, wipe = progress(cmd.ErrOrStderr(), "seeding")
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

// progress draws a bar on a terminal, and nothing elsewhere. The bar stays when
// the work was cut short, until it is wiped away.
func progress(to io.Writer, what string) (draw func(done, total int), wipe func()) {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	draw = func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(to), progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
				progressbar.OptionThrottle(50*time.Millisecond))
		}
		_ = bar.Set(done)
	}
	wipe = func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
	return draw, wipe
}
