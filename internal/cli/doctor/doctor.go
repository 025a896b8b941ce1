// Package doctor implements the retwis doctor command, which checks whether a database is suitable
// for a site and reports what to change.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/internal/app"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/store"
	"retwis/internal/social/adopt"
	"retwis/internal/social/backup"
)

// Status is the severity of a finding.
type Status string

const (
	OK      Status = "ok"
	Advice  Status = "advice"  // should be changed
	Problem Status = "problem" // data or service can be lost
	Hidden  Status = "hidden"  // this user lacks the permission to see it
)

// finding is the result of one check.
type finding struct {
	Status Status `json:"status"`
	Server string `json:"server,omitempty"` // set on a Cluster
	What   string `json:"what"`
	Found  string `json:"found"`
	Why    string `json:"why,omitempty"`
	Do     string `json:"do,omitempty"` // commands that make a lasting change, one per line
}

// New returns the retwis doctor command.
func New(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "doctor",
		Short: "Examine the database: version, rights, memory, persistence, replication, Cluster",
		Long: `Examines the database of the site and reports what should be changed, why, and how. It
changes nothing, except that it writes, reads and deletes a file in the media store, and
logs in to the mail server (--smtp). It needs no more permissions than the site, and lists
what it lacks permission to see. If the server runs on the same machine, system settings are
checked, too. The exit code is 1 if there is a problem; advice is not a problem.`,
		Example: `  retwis doctor
  retwis doctor --redis redis://db.example.com --json`,
		Args: shell.NoArguments,
	})
	c.AddJSON("print each finding as a line of JSON")
	c.AddRedis()
	site.AddMedia(c)
	site.AddMail(c)
	return c.Build(func(ctx context.Context, _ []string) (err error) {
		db, err := site.Open(ctx, c, store.Options{}, app.Options{NoJobs: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		// A server may be checked before its first site exists; an embedded database must
		// have a site.
		if db.Embedded() {
			if err := db.Require(ctx); err != nil && !errors.Is(err, backup.ErrRestoring) {
				return err
			}
		}
		return examine(ctx, c, db)
	})
}

func examine(ctx context.Context, c *shell.Command, db *site.Database) error {
	found := checkSite(ctx, db.Client())
	if exists, err := adopt.Exists(ctx, db.Client()); err == nil && exists {
		found = append(found, lastBackup(db.Social.LastBackup(ctx)))
	}
	found = append(found, checkMediaStore(ctx, db.Media))
	if db.Mail != nil {
		found = append(found, checkMail(ctx, db.Mail))
	}
	shards, err := checkCluster(ctx, db.Client())
	if err != nil {
		return fmt.Errorf("%s: %w", db, err)
	}
	found = append(found, shards...)
	masters, err := nodes.Masters(ctx, db.Client())
	if err != nil {
		return err
	}
	for _, m := range masters {
		name := m.Address
		if name == "-" {
			name = ""
		}
		serverFindings, err := checkServer(ctx, m.Client, db.Embedded())
		if err != nil {
			return fmt.Errorf("%s: %w", db, err)
		}
		for _, f := range serverFindings {
			f.Server = name
			found = append(found, f)
		}
	}
	return report(c, found)
}

// report prints the findings. If one of them is a problem, report returns an error.
func report(c *shell.Command, found []finding) error {
	problems, advice := 0, 0
	p := c.NewPrinter()
	for _, f := range found {
		switch f.Status {
		case Problem:
			problems++
		case Advice:
			advice++
		}
		what := f.What
		if f.Server != "" {
			what = f.Server + ": " + what
		}
		if err := p.Print(f, string(f.Status), what, f.Found); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	if !c.JSON {
		for _, f := range found {
			if f.Status != Problem && f.Status != Advice {
				continue
			}
			fmt.Fprintf(c.Stdout, "\n%s: %s: %s\n", f.Status, f.What, f.Why)
			for line := range strings.Lines(f.Do) {
				fmt.Fprintf(c.Stdout, "    %s\n", strings.TrimSuffix(line, "\n"))
			}
		}
		fmt.Fprintf(c.Stdout, "\n%s, %s\n", shell.Plural(problems, "problem", "problems"), shell.Plural(advice, "piece of advice", "pieces of advice"))
	}
	if problems > 0 {
		return shell.ErrReported
	}
	return nil
}

// latencyProbes is the number of timed round trips; a median above slow makes pages slow.
const (
	latencyProbes = 15
	slow          = 5 * time.Millisecond
)

// config returns a setting of a server, and whether this user may see it.
func config(ctx context.Context, node rueidis.Client, name string) (value string, seen bool, err error) {
	settings, err := node.Do(ctx, node.B().ConfigGet().Parameter(name).Build()).AsStrMap()
	var refused *rueidis.RedisError
	if errors.As(err, &refused) {
		return "", false, nil
	}
	return settings[name], err == nil, err
}
