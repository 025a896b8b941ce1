package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/store"
	"retwis/internal/social/import2009"
)

func newImport2009(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "import-2009 --from URL",
		Short: "Copy a database of the Retwis of 2009 into an empty one",
		Long: `Reads a database of the case study of 2009, with keys such as uid:1000:username and
post:10343, and copies its users, follows and posts into the database of --redis, which must
be empty. The old database is not changed. Stop the old program first: its writes during the
import may be missing.

Users and posts keep their ids, posts their times, and users their passwords, which become
hashes at the next login. Sessions are not imported. Timelines are rebuilt from the latest
posts of the followed users. Entries that cannot be read are reported and skipped.

An interrupted import is completed by running the same command again. Until then no site is
served on the new database. A database of the Retwis of 2014 needs no import: serve it.

If there is only a dump.rdb of an old server, load it into a new directory with
"retwis load dump.rdb --redis embedded:DIR", and import --from embedded:DIR.`,
		Example: `  retwis import-2009 --from redis://old.example.com
  retwis import-2009 --from redis://localhost/1 --redis redis://localhost/2 --json
  retwis import-2009 --from embedded:old --redis embedded:new`,
		Args: shell.NoArguments,
	})
	var from string
	c.Flags().StringVar(&from, "from", "", "the `URL` of the old database, as for --redis")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	c.Creates = true
	c.FromEnv("from")
	return c.Build(func(ctx context.Context, _ []string) error {
		if from == "" {
			return shell.Usage(errors.New("--from is missing: set it to the URL of the old database"))
		}
		if _, err := store.Parse(from); err != nil {
			return shell.Usage(fmt.Errorf("--from: %s", shell.OneLine(err)))
		}
		return importFrom(ctx, c, from)
	})
}

// importFrom imports a database. The old database is opened first and never created, so that a
// mistyped name is an error.
func importFrom(ctx context.Context, c *shell.Command, from string) (err error) {
	opt := shell.Configure(c, store.Options{})
	opt.Create = false
	old, err := store.Open(ctx, from, opt)
	if err != nil {
		return shell.Hint(fmt.Errorf("--from: %s", shell.OneLine(err)), "Nothing was changed. Set --from to the URL of the old database.")
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	if err := import2009.Check(ctx, old.Client()); err != nil {
		return explainImport(old, old, err)
	}
	// Look runs no jobs: a job that ran before the import is complete would miss data.
	return site.Look(ctx, c, func(db *site.Database) error { return runImport2009(ctx, c, db, old) })
}

func runImport2009(ctx context.Context, c *shell.Command, db *site.Database, old *store.Store) error {
	i := import2009.Import{Source: old.Client(), Name: old.String(), Target: db.Client(), App: db.Social, Log: c.Log()}
	draw, erase := shell.Bar(c.Stderr, "importing")
	if draw != nil {
		i.Progress = func(done, total int64) { draw(int(done), int(total)) }
	}
	start := time.Now()
	result, err := i.Run(ctx)
	erase()
	if err != nil {
		return explainImport(old, db.Store, err)
	}
	elapsed := time.Since(start)
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(struct {
			import2009.Result
			Seconds float64 `json:"seconds"`
		}{result, elapsed.Seconds()})
	}
	_, err = fmt.Fprintf(c.Stdout, "imported %s, %s and %s from %s into %s in %.1f s; %s skipped\n",
		shell.Plural(result.Users, "user", "users"), shell.Plural(result.Follows, "follow", "follows"),
		shell.Plural(result.Posts, "post", "posts"), old, db, elapsed.Seconds(), shell.Plural(result.Skipped, "entry", "entries"))
	return err
}

// explainImport adds a hint to an error.
func explainImport(old, target *store.Store, err error) error {
	switch {
	case errors.Is(err, import2009.ErrNot2009):
		return shell.Hint(fmt.Errorf("%s: %w", old, err), "--from must be a database with keys such as uid:1000:username. A database of the Retwis of 2014 can be served directly.")
	case errors.Is(err, import2009.ErrNotEmpty):
		return shell.Hint(fmt.Errorf("%s: %w", target, err), "Nothing was changed. Import into an empty database, such as --redis embedded:DIR.")
	case store.IsLoading(err), rediserr.Of(err) == rediserr.Unavailable:
		return shell.Hint(err, "The import is not finished. Run the same command again to complete it.")
	}
	return err
}
