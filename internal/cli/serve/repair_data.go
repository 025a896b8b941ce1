package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/store"
)

type repairFlags struct {
	yes    bool
	copyTo string
}

func newRepairData(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "repair-data [flags] [DIR]",
		Short: "Repair a data directory that the server refuses to load",
		Long: `Checks the data directory of a server that retwis runs itself, with the server's own
tools: DIR, or that of RETWIS_REDIS, or $XDG_DATA_HOME/retwis or ~/.local/share/retwis. It
shows what is damaged or missing, and what a repair would cut off; it changes nothing. The
exit code is 1 if there is something to repair.

With --yes it copies the data first, to a directory next to DIR or to --copy-to. Then it
keeps the longest intact beginning of the data, which is an earlier state of the
database, cuts off the rest, and starts a server to check that the result loads. A
snapshot (dump.rdb) without an append-only file becomes one. No server may run on the
directory meanwhile.`,
		Example: `  retwis repair-data
  retwis repair-data /var/lib/retwis --yes
  retwis repair-data /var/lib/retwis --yes --copy-to /mnt/copy --json`,
		Args: shell.Arguments(0, 1, ""),
	})
	var flags repairFlags
	c.Flags().BoolVar(&flags.yes, "yes", false, "copy the data, then repair it")
	c.Flags().StringVar(&flags.copyTo, "copy-to", "", "the `DIRECTORY` of the copy, which must not exist yet")
	c.AddJSON("print each finding and the summary as a line of JSON")
	return c.Build(func(ctx context.Context, args []string) error {
		url := cmp.Or(c.Getenv(shell.Variable("redis")), "embedded:")
		if len(args) > 0 {
			url = "embedded:" + args[0]
		}
		dir, err := store.DataDir(url, c.Getenv)
		if err != nil {
			return err
		}
		return flags.run(ctx, c, dir)
	})
}

// repairSummary is the last line that --json prints.
type repairSummary struct {
	Dir      string `json:"dir"`
	Server   string `json:"server"`
	Problems int    `json:"problems"`
	Repaired bool   `json:"repaired"`
	Whole    bool   `json:"whole"` // nothing had to be cut off
	Copy     string `json:"copy,omitempty"`
	Keys     *int64 `json:"keys,omitempty"`
}

func (flags *repairFlags) run(ctx context.Context, c *shell.Command, dir string) (err error) {
	// Before the lock, which is a file in the directory.
	if exists, err := redisserver.HasDatabase(dir); err != nil || !exists {
		return cmp.Or(err, fmt.Errorf("%s is not a data directory: it has no files of a server", dir))
	}
	lock, err := store.Exclusive(dir)
	if errors.Is(err, store.ErrInUse) {
		return shell.Hint(err, "Stop the retwis that runs on it first.")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	d, err := redisserver.Diagnose(ctx, c.Getenv, dir)
	if d != nil {
		if printed := printFindings(c, d); printed != nil {
			return printed
		}
	}
	if err != nil {
		return err
	}
	summary := repairSummary{Dir: d.Dir, Server: d.Server, Problems: len(d.Findings)}
	if d.Healthy() || !flags.yes {
		if err := summary.print(c); err != nil || d.Healthy() {
			return err
		}
		return shell.ErrReported
	}
	if summary.Copy = flags.copyTo; summary.Copy == "" {
		summary.Copy = filepath.Clean(dir) + ".before-repair-" + time.Now().UTC().Format("20060102T150405Z")
	}
	if summary.Copy, err = filepath.Abs(summary.Copy); err != nil {
		return err
	}
	if _, err := d.Copy(summary.Copy); err != nil {
		return err
	}
	keys, whole, err := d.Repair(ctx, c.Log())
	if err != nil {
		return shell.Hint(err, "The data from before the repair is in "+summary.Copy+".")
	}
	summary.Repaired, summary.Whole, summary.Keys = true, whole, &keys
	return summary.print(c)
}

func printFindings(c *shell.Command, d *redisserver.Diagnosis) error {
	for _, f := range d.Findings {
		if c.JSON {
			if err := json.NewEncoder(c.Stdout).Encode(f); err != nil {
				return err
			}
			continue
		}
		line := shell.ForTerminal(f.File) + ": " + shell.ForTerminal(f.Problem)
		if f.Cut > 0 {
			line += fmt.Sprintf("; to cut off: %s of %s bytes, %s", shell.Thousands(f.Cut), shell.Thousands(f.Size), shell.Plural(int64(f.Commands), "command", "commands"))
		}
		if _, err := fmt.Fprintln(c.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func (s repairSummary) print(c *shell.Command) error {
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(s)
	}
	var err error
	switch {
	case s.Whole:
		_, err = fmt.Fprintf(c.Stdout, "the server loads %s with %s, and has rewritten it: nothing was cut off; the data from before is in %s\n", s.Dir, shell.Plural(*s.Keys, "key", "keys"), s.Copy)
	case s.Repaired:
		_, err = fmt.Fprintf(c.Stdout, "repaired %s, which loads with %s; the data from before is in %s\n", s.Dir, shell.Plural(*s.Keys, "key", "keys"), s.Copy)
	case s.Problems == 0:
		_, err = fmt.Fprintf(c.Stdout, "%s finds nothing wrong in %s\n", s.Server, s.Dir)
	default:
		_, err = fmt.Fprintf(c.Stdout, "%s; nothing was changed: --yes copies the data and repairs it\n", shell.Plural(s.Problems, "problem", "problems"))
	}
	return err
}
