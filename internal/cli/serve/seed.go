package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/seed"
)

func newSeed(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "seed",
		Short: "Add sample users, follows and posts to a database",
		Long: `Adds users, follows and posts that look realistic: a few users with very many followers,
times spread over the last month, readable texts. The same seed gives the same network on
the same day. All users have the same password, so use "retwis
seed" only on a test database.`,
		Example: `  retwis seed --users 1000 --follows 20000 --posts 10000
  retwis seed --users 50 --follows 300 --posts 200 --redis redis://localhost --json`,
		Args: shell.NoArguments,
	})
	var opt seed.Options
	var share bool
	f := c.Flags()
	f.IntVar(&opt.Users, "users", 100, "how many users to add")
	f.IntVar(&opt.Follows, "follows", 0, "how many follows to add among them; 15 for each user if not given")
	f.IntVar(&opt.Posts, "posts", 0, "how many posts to add; 10 for each user if not given")
	f.Uint64Var(&opt.Seed, "seed", 1, "the seed of the random numbers")
	f.StringVar(&opt.Password, "password", "", "the password of all users; random if empty")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	c.Creates = true
	site.AddShare(c, &share)
	c.FromEnv()
	return c.Build(func(ctx context.Context, _ []string) error {
		if !given(c, "follows") {
			opt.Follows = min(15*opt.Users, opt.Users*(opt.Users-1))
		}
		if !given(c, "posts") {
			opt.Posts = 10 * opt.Users
		}
		return site.With(ctx, c, func(db *site.Database) error {
			if err := db.Adopt(ctx, share, c.Log()); err != nil {
				return err
			}
			return runSeed(ctx, c, db, opt)
		})
	})
}

func runSeed(ctx context.Context, c *shell.Command, db *site.Database, opt seed.Options) error {
	var erase func()
	opt.Progress, erase = shell.Bar(c.Stderr, "seeding")
	start := time.Now()
	result, err := seed.Run(ctx, db.Social, opt)
	erase()
	if err != nil {
		return site.InvalidInput(err)
	}
	elapsed := time.Since(start)
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(struct {
			seed.Result
			Seconds float64 `json:"seconds"`
		}{result, elapsed.Seconds()})
	}
	_, err = fmt.Fprintf(c.Stdout, "added %s, %s and %s in %.1f s; log in as %q with the password %q\n",
		shell.Plural(result.Users, "user", "users"), shell.Plural(result.Follows, "follow", "follows"),
		shell.Plural(result.Posts, "post", "posts"), elapsed.Seconds(), result.Name, result.Password)
	return err
}
