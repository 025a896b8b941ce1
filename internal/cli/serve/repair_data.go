package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/redisserver"
	"retwis/internal/store"
)

type repairFlags struct {
	yes, asJSON bool
	copyTo      string
}

func NewRepairData(env shell.Env) *cobra.Command {
	var flags repairFlags
	cmd := &cobra.Command{
		Use:   "repair-data [DIR]",
		Short: "Repair a data directory that a server refuses to load",
		Long: `Checks the data directory of an embedded server with the server's own checking
tools: DIR, or $XDG_DATA_HOME/retwis or ~/.local/share/retwis. It says what is
damaged or missing, and what a repair would cut off; it changes nothing. The
exit code is 1 if there is anything to repair.

With --yes it copies the data first, to a directory beside DIR or to --copy-to.
Then it keeps the longest beginning of the data that is whole, which is a state
that the database was in, cuts off the rest, and starts a server to see that the
result loads. A snapshot (dump.rdb) without an append-only file becomes one. No
server may run on the directory meanwhile.`,
		Example: `  retwis repair-data
  retwis repair-data /var/lib/retwis --yes
  retwis repair-data /var/lib/retwis --yes --copy-to /mnt/copy --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := "embedded:"
			if len(args) > 0 {
				url += args[0]
			}
			dir, err := store.DataDir(url, env.Getenv)
			if err != nil {
				return err
			}
			return repairData(cmd, env, dir, flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.yes, "yes", false, "copy the data, then repair it")
	f.StringVar(&flags.copyTo, "copy-to", "", "the `DIRECTORY` of the copy, which must not exist yet")
	f.BoolVar(&flags.asJSON, "json", false, "print each finding and the summary as a line of JSON")
	return cmd
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

func repairData(cmd *cobra.Command, env shell.Env, dir string, flags repairFlags) (err error) {
	lock, err := store.Exclusive(dir)
	if errors.Is(err, store.ErrInUse) {
		return shell.Hint(err, "Stop the retwis that runs on it first.")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	d, err := redisserver.Diagnose(cmd.Context(), env.Getenv, dir)
	if d != nil {
		if printed := printFindings(cmd, d, flags); printed != nil {
			return printed
		}
	}
	if err != nil {
		return err
	}
	summary := repairSummary{Dir: d.Dir, Server: d.Server, Problems: len(d.Findings)}
	if d.Healthy() || !flags.yes {
		if err := flags.report(cmd, summary); err != nil || d.Healthy() {
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
	keys, whole, err := d.Repair(cmd.Context(), shell.Quiet(cmd))
	if err != nil {
		return shell.Hint(err, "The data as it was before is in "+summary.Copy+".")
	}
	summary.Repaired, summary.Whole, summary.Keys = true, whole, &keys
	return flags.report(cmd, summary)
}

func printFindings(cmd *cobra.Command, d *redisserver.Diagnosis, flags repairFlags) error {
	out := cmd.OutOrStdout()
	for _, f := range d.Findings {
		if flags.asJSON {
			if err := json.NewEncoder(out).Encode(f); err != nil {
				return err
			}
			continue
		}
		line := shell.ForTerminal(f.File) + ": " + shell.ForTerminal(f.Problem)
		if f.Cut > 0 {
			line += fmt.Sprintf("; to cut off: %s of %s bytes, %s", shell.Thousands(f.Cut), shell.Thousands(f.Size), shell.Plural(int(f.Commands), "command", "commands"))
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func (r repairFlags) report(cmd *cobra.Command, s repairSummary) error {
	out := cmd.OutOrStdout()
	if r.asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	var err error
	switch {
	case s.Whole:
		_, err = fmt.Fprintf(out, "the server loads %s as it is, with %s, and has written it anew: nothing was cut off; the data as it was before is in %s\n", s.Dir, shell.Plural(int(*s.Keys), "key", "keys"), s.Copy)
	case s.Repaired:
		_, err = fmt.Fprintf(out, "repaired %s, which loads with %s; the data as it was before is in %s\n", s.Dir, shell.Plural(int(*s.Keys), "key", "keys"), s.Copy)
	case s.Problems == 0:
		_, err = fmt.Fprintf(out, "%s can find nothing wrong in %s\n", s.Server, s.Dir)
	default:
		_, err = fmt.Fprintf(out, "%s; nothing was changed: --yes copies the data and repairs it\n", shell.Plural(s.Problems, "problem", "problems"))
	}
	return err
}
