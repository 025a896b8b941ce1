// Package search implements the retwis search commands, which maintain the site's search indexes.
package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social/search"
)

// New returns the retwis search command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "search",
		Short: "Build and check the search index of the site",
		Long: `Builds and checks the indexes of posts and people that the site searches. They are kept up
to date automatically; a database that is older than the search needs "retwis search
rebuild" once. "retwis check" checks some of the posts.`,
		Example: `  retwis search rebuild
  retwis search verify`,
	}, newRebuild(env), newVerify(env))
}

func newRebuild(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "rebuild [flags]",
		Short: "Rebuild the search index while the site is in use",
		Long: `Rebuilds the indexes from all posts and users. The site stays in use: the old index serves
until the new one replaces it, including everything written in the meantime. A rebuild that
is stopped or killed changes nothing, and can be repeated. A million posts take a few
minutes; --rate reduces the load.`,
		Example: `  retwis search rebuild
  retwis search rebuild --rate 5000 --redis redis://db.example.com`,
		Args: shell.Arguments(0, 0, ""),
	})
	var run shell.RunFlags
	run.AddRate(c)
	return site.Act(c, "print the numbers as JSON", func(ctx context.Context, db *site.Database, _ []string) (site.Result, error) {
		opt, erase := run.Options(c, nil)
		report, err := db.Social.SearchIndex.Rebuild(ctx, opt)
		erase()
		return site.Result{
			Object: shell.Object{{Name: "posts", Value: report.Posts.Checked}, {Name: "people", Value: report.People.Checked}},
			Text:   fmt.Sprintf("posts: %d, people: %d", report.Posts.Checked, report.People.Checked),
		}, err
	})
}

func newVerify(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "verify [flags]",
		Short: "Compare the search index with all posts and users",
		Long: `Compares the indexes with all posts and users, in short steps while the site is in use,
and changes nothing; "retwis check --repair" and "retwis search rebuild" correct them. A
post that is written or deleted meanwhile can look like a problem. The exit code is 1 if
there is a problem.`,
		Example: `  retwis search verify
  retwis search verify --rate 10000 --json`,
		Args: shell.Arguments(0, 0, ""),
	})
	var run shell.RunFlags
	run.Add(c)
	return site.Build(c, "print each problem and the summary as a line of JSON", func(ctx context.Context, db *site.Database, _ []string) error {
		opt, erase := run.Options(c, nil)
		report, err := db.Social.SearchIndex.Verify(ctx, opt, false)
		erase()
		if errors.Is(err, index.ErrNotFound) {
			return shell.Hint(errors.New("the site has no search index yet"), "Create it with: retwis search rebuild")
		}
		if err != nil {
			return err
		}
		return c.PrintReport(sum(report))
	})
}

// sum combines the reports on posts and people.
func sum(r search.Report) shell.Report {
	all := r.Posts
	all.Checked += r.People.Checked
	all.Missing += r.People.Missing
	all.Stale += r.People.Stale
	all.Dangling += r.People.Dangling
	all.Invalid += r.People.Invalid
	all.Examples = append(all.Examples, r.People.Examples...)
	return all
}
