package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
)

func newJobs(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Show the background jobs of a site, and retry failed ones",
		Long: `Shows the queues of background jobs, and the jobs that were given up after failing for half
an hour, even while the site is served. "retwis work" runs the jobs.`,
		Example: `  retwis jobs show
  retwis jobs retry`,
	}, newJobsShow(env), newJobsRetry(env))
}

// queueLine is a queue as --json prints it.
type queueLine struct {
	Queue   string  `json:"queue"`
	Waiting int64   `json:"waiting"`
	Age     float64 `json:"oldest_seconds"`
}

// deadLine is a dead job as --json prints it.
type deadLine struct {
	Job   string `json:"job"`
	Time  string `json:"time"`
	Tries int64  `json:"tries"`
	Error string `json:"error"`
}

func newJobsShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show",
		Short: "Show waiting jobs and jobs that were given up",
		Long: `Shows how many jobs in each queue are waiting or in progress, and for how long the oldest
has waited; then each job that was given up, with its last error.`,
		Example: `  retwis jobs show
  retwis jobs show --json`,
		Args: shell.NoArguments,
	})
	c.AddJSON("print each queue, and each job that was given up, as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			queues, err := db.Social.Jobs(ctx)
			if err != nil {
				return err
			}
			dead, err := db.Social.ListDeadJobs(ctx)
			if err != nil {
				return err
			}
			e := shell.NewEncoder(c.Stdout)
			for _, q := range queues {
				if c.JSON {
					err = e.Encode(queueLine{q.Queue, q.Unfinished, q.Oldest.Seconds()})
				} else {
					_, err = fmt.Fprintln(c.Stdout, queueText(q.Queue, q.Unfinished, q.Oldest))
				}
				if err != nil {
					return err
				}
			}
			for _, d := range dead {
				at := d.At.UTC().Format(time.RFC3339)
				if c.JSON {
					err = e.Encode(deadLine{d.Task, at, d.Tries, d.Error})
				} else {
					_, err = fmt.Fprintf(c.Stdout, "given up: %s, at %s, after %s: %s\n",
						shell.ForTerminal(d.Task), at, shell.Plural(d.Tries, "try", "tries"), shell.ForTerminal(d.Error))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func queueText(name string, waiting int64, oldest time.Duration) string {
	text := fmt.Sprintf("%s: %s", name, shell.Plural(waiting, "job", "jobs"))
	if oldest > 0 {
		text += fmt.Sprintf(", the oldest has waited for %v", oldest.Round(time.Second))
	}
	return text
}

func newJobsRetry(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "retry",
		Short: "Retry the jobs that were given up",
		Long: `Puts the jobs that were given up back into their queues. Remove the cause first: "retwis
jobs show" shows the errors, and "retwis check --repair" repairs damaged keys. Damaged
entries that name no job are removed.`,
		Example: `  retwis jobs retry`,
		Args:    shell.NoArguments,
	})
	c.AddJSON("print the numbers of jobs as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			queued, removed, err := db.Social.RetryDeadJobs(ctx)
			if err != nil {
				return err
			}
			if c.JSON {
				return shell.NewEncoder(c.Stdout).Encode(struct {
					Retried int `json:"retried"`
					Removed int `json:"removed"`
				}{queued, removed})
			}
			text := shell.Plural(int64(queued), "job", "jobs") + " queued again"
			if removed > 0 {
				text += fmt.Sprintf(", %d removed that named no job", removed)
			}
			_, err = fmt.Fprintln(c.Stdout, text)
			return err
		})
	})
}
