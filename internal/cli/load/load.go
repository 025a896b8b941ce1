// Package load is the command retwis load.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/bulk"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

// exitLost is the exit code when the connection was lost for good.
const exitLost = 3

// loadFlags are the flags of retwis load.
type loadFlags struct {
	errorsTo       string
	format, resend *shell.Choice
	do             []string
	inflight       shell.ByteSize
	dryRun, emit   bool
	opt            bulk.Options
}

// New returns retwis load.
func New(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "load [flags] [FILE]",
		Short: "Load millions of commands or records into the database, fast",
		Long: `Reads commands or records from a file, or from standard input, and sends them as fast as
the server takes them, as "redis-cli --pipe" does. Each command is checked before it is
sent, an error names its command, a lost connection is opened again, and on a Cluster
each command goes to the server that has its slot.

The input may be compressed with gzip or zstd, and is one of
  resp       the protocol, as "redis-cli --pipe" takes it, and append-only files
  commands   one command a line, as typed into redis-cli
  csv, tsv   records with a header, or with --columns
  ndjson     one JSON object a line
For records --do says which command to send; it can be given several times:
  {name} is a field, {#} the number of the record, {{ and }} are braces;
  {name|lower} {name|upper} {name|trim} {age|int} {score|float} {city|default:none}
In ndjson {address.city} is a field of an object in the record.

The exit code is
    0  everything was loaded
    1  some commands failed, or the load was stopped, as it is by a SELECT that fails
    2  the flags or the input are wrong; the message names the line or byte, and
       everything before it was loaded
    3  the connection was lost for good`,
		Example: `  retwis load dump.resp
  retwis load users.csv --do 'HSET user:{id} name {name} age {age|int}' --do 'ZADD users.by.age {age} {id}'
  zcat events.ndjson.gz | retwis load --format ndjson --do 'XADD events * type {type} at {at}'
  retwis load --emit users.csv --do 'SADD users {id}' | redis-cli --pipe
  retwis load big.resp.zst --redis redis://db --coalesce --checkpoint big.progress --errors-to failed.resp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%q is one file too many: load one file at a time", args[1])
			}
			return nil
		},
	})
	flags := loadFlags{inflight: 4 << 20}
	flags.add(c)
	return c.Build(func(ctx context.Context, args []string) error {
		name := "-"
		if len(args) > 0 {
			name = args[0]
		}
		if err := flags.resolve(c, name); err != nil {
			return shell.Usage(err)
		}
		return flags.run(ctx, c, name)
	})
}

func (flags *loadFlags) add(c *shell.Command) {
	f := c.Flags()
	flags.format = c.AddChoice("format", "the format of the input", "auto", "resp", "commands", "csv", "tsv", "ndjson")
	f.StringArrayVar(&flags.do, "do", nil, "the `COMMAND` to send for each record, with {fields}; repeat it for more commands")
	f.StringSliceVar(&flags.opt.Columns, "columns", nil, "the `NAMES` of the columns of csv and tsv, separated by commas (default: the first line)")
	f.StringArrayVar(&flags.opt.SkipIfMissing, "skip-if-missing", nil, "skip records without this `FIELD`")
	f.BoolVar(&flags.dryRun, "dry-run", false, "check the whole input and send nothing")
	f.BoolVar(&flags.emit, "emit", false, "write the protocol to standard output and send nothing")
	f.IntVar(&flags.opt.ShowErrors, "show-errors", 20, "how many failed commands to show")
	f.StringVar(&flags.errorsTo, "errors-to", "", "write every failed command to this `FILE`, to be loaded again")
	f.BoolVar(&flags.opt.FailFast, "fail-fast", false, "stop at the first command that fails")
	f.BoolVar(&flags.opt.Coalesce, "coalesce", false, "send consecutive SETs as one MSET")
	f.IntVar(&flags.opt.Connections, "connections", 1, "connections to a single server; commands on the same key stay in order")
	f.IntVar(&flags.opt.Rate, "rate", 0, "send at most this `NUMBER` of commands a second; 0 for no limit")
	f.Var(&flags.inflight, "max-inflight", "how many bytes may wait for an answer; fewer slow other clients less")
	f.DurationVar(&flags.opt.RetryFor, "retry-for", 30*time.Second, "how long to try to reconnect; 0 to fail at once")
	flags.resend = c.AddChoice("resend", "which unanswered commands to send again after that", "harmless", "always", "never")
	f.StringVar(&flags.opt.Checkpoint, "checkpoint", "", "record the progress in this `FILE`, and continue from there next time")
	c.AddJSON("print a report as JSON")
	c.AddRedis()
	c.FromEnv("do", "emit", "dry-run", "columns", "skip-if-missing", "format", "checkpoint", "errors-to")
}

// resolve checks the flags and sets the options of the load.
func (flags *loadFlags) resolve(c *shell.Command, name string) error {
	for i, text := range flags.do {
		t, err := bulk.ParseTemplate(text)
		if err != nil {
			return fmt.Errorf("--do %d: %s", i+1, shell.OneLine(err))
		}
		flags.opt.Do = append(flags.opt.Do, t)
	}
	switch {
	case flags.dryRun && flags.emit:
		return errors.New("--dry-run and --emit cannot be combined: use one at a time")
	case flags.emit && c.JSON:
		return errors.New("--emit and --json both write to standard output: use one at a time")
	case (flags.emit || flags.dryRun) && (flags.opt.Checkpoint != "" || flags.errorsTo != ""):
		return errors.New("--checkpoint and --errors-to need commands to be sent: leave out --emit and --dry-run")
	case flags.opt.ShowErrors < 0:
		return fmt.Errorf("--show-errors is %d: it cannot be negative", flags.opt.ShowErrors)
	case flags.opt.Connections < 1 || flags.opt.Connections > 64:
		return fmt.Errorf("--connections is %d: it must be from 1 to 64", flags.opt.Connections)
	case flags.opt.Rate < 0:
		return fmt.Errorf("--rate is %d: it cannot be negative", flags.opt.Rate)
	case flags.opt.RetryFor < 0:
		return fmt.Errorf("--retry-for is %v: it cannot be negative", flags.opt.RetryFor)
	case flags.inflight < 64<<10 || flags.inflight > 1<<30:
		return fmt.Errorf("--max-inflight is %s: it must be from 64KB to 1GB", flags.inflight.String())
	}
	if flags.opt.ShowErrors == 0 {
		flags.opt.ShowErrors = -1
	}
	if flags.opt.RetryFor == 0 {
		flags.opt.RetryFor = -1
	}
	flags.opt.MaxInflight = int(flags.inflight)
	flags.opt.Resend = map[string]bulk.Resend{
		"harmless": bulk.ResendHarmless, "always": bulk.ResendAlways, "never": bulk.ResendNever,
	}[flags.resend.Value]
	flags.opt.Format = bulk.Format(flags.format.Value)
	if flags.format.Value == "auto" {
		flags.opt.Format = formatOf(name)
	}
	return nil
}

// formatOf returns the format that the name of a file implies, or bulk.Auto.
func formatOf(name string) bulk.Format {
	ext := strings.ToLower(filepath.Ext(name))
	if ext == ".gz" || ext == ".zst" || ext == ".zstd" {
		ext = strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ext)))
	}
	switch ext {
	case ".resp", ".aof":
		return bulk.RESP
	case ".csv":
		return bulk.CSV
	case ".tsv", ".tab":
		return bulk.TSV
	case ".ndjson", ".jsonl":
		return bulk.NDJSON
	}
	return bulk.Auto
}

// run loads, checks or emits the input, and prints the result.
func (flags *loadFlags) run(ctx context.Context, c *shell.Command, name string) (err error) {
	in, size, err := shell.OpenFile(c.Stdin, name)
	if err != nil {
		return err
	}
	defer in.Close()
	var wipe func()
	flags.opt.OnProgress, wipe = progress(c.Stderr, size, flags.emit)
	var report bulk.Report
	switch {
	case flags.emit:
		report, err = bulk.Emit(ctx, c.Stdout, in, flags.opt)
	case flags.dryRun:
		flags.opt.Cluster = strings.HasPrefix(c.Redis, "redis+cluster:") || strings.HasPrefix(c.Redis, "rediss+cluster:")
		report, err = bulk.Emit(ctx, io.Discard, in, flags.opt)
	default:
		report, err = flags.load(ctx, c, in)
	}
	wipe()
	return flags.finish(c, report, err)
}

// load sends the input to the database.
func (flags *loadFlags) load(ctx context.Context, c *shell.Command, in io.Reader) (report bulk.Report, err error) {
	server, end, err := server(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if flags.errorsTo != "" {
		f, err := os.Create(flags.errorsTo)
		if err != nil {
			return report, shell.Usage(fmt.Errorf("--errors-to: %w", err))
		}
		flags.opt.ErrorsTo = f
		defer func() {
			err = errors.Join(err, f.Close())
			if err == nil && report.Errors == 0 { // nothing to load again
				err = os.Remove(flags.errorsTo)
			}
		}()
	}
	return bulk.LoadInto(ctx, server, in, flags.opt)
}

// server returns how to connect to the database. It starts an embedded one, which end
// stops.
func server(ctx context.Context, c *shell.Command) (opt rueidis.ClientOption, end func() error, err error) {
	none := func() error { return nil }
	config, err := store.Parse(c.Redis)
	if err != nil {
		return opt, none, shell.Usage(errors.New(shell.OneLine(err)))
	}
	if config.Kind != store.Embedded {
		opt, err := config.ClientOption()
		return opt, none, err
	}
	db, err := store.Open(ctx, c.Redis, store.Options{Logger: c.Log(), Getenv: c.Getenv})
	if err != nil {
		return opt, none, err
	}
	return db.ClientOption(), db.Close, nil
}

// finish prints the report, and returns the error for the exit code.
func (flags *loadFlags) finish(c *shell.Command, report bulk.Report, failed error) error {
	stopped := errors.Is(failed, context.Canceled)
	began := report.Commands > 0 || failed == nil
	switch {
	case flags.emit:
	case c.JSON && (began || flags.dryRun):
		if err := printReport(c.Stdout, report, failed); err != nil {
			return err
		}
	case flags.dryRun && failed == nil:
		if _, err := fmt.Fprintf(c.Stdout, "checked: %s, %d bytes of protocol; nothing was sent\n",
			shell.Plural(report.Commands, "command", "commands"), report.Bytes); err != nil {
			return err
		}
	case !flags.dryRun && began:
		if err := printCounts(c, report, failed == nil); err != nil {
			return err
		}
	}
	var input *bulk.InputError
	switch {
	case stopped:
		return shell.Exit(shell.ExitFailure, shell.ErrStopped)
	case errors.Is(failed, bulk.ErrOptions):
		return shell.Usage(errors.New(shell.OneLine(failed)))
	case errors.As(failed, &input):
		return shell.Exit(shell.ExitUsage, failed)
	case errors.Is(failed, bulk.ErrLost):
		return shell.Exit(exitLost, failed)
	case errors.Is(failed, bulk.ErrFailed):
		if failed.Error() == bulk.ErrFailed.Error() { // of --fail-fast; the command was shown
			failed = errors.New("stopped at the first command that failed")
		}
		return shell.Exit(shell.ExitFailure, failed)
	case failed != nil:
		return failed
	case report.Errors > 0:
		return shell.ErrReported
	}
	return nil
}

// printReport prints the report as JSON.
func printReport(w io.Writer, report bulk.Report, failed error) error {
	all := struct {
		bulk.Report
		Error string `json:"error,omitempty"`
	}{Report: report}
	if failed != nil {
		all.Error = shell.OneLine(failed)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(all)
}

// printCounts prints the lines that redis-cli --pipe prints, and on standard error the
// commands that failed.
func printCounts(c *shell.Command, report bulk.Report, all bool) error {
	to := c.Stderr
	for _, f := range report.Failures {
		where := fmt.Sprintf("byte %d", f.Offset)
		if f.Line > 0 {
			where = fmt.Sprintf("line %d", f.Line)
		}
		if len(report.Nodes) > 1 {
			where += ", " + f.Node
		}
		fmt.Fprintf(to, "command %d (%s): %s: %s\n", f.Command, where, f.Text, f.Error)
	}
	if len(report.Failures) > 0 && report.Errors > int64(len(report.Failures)) {
		fmt.Fprintf(to, "… and %d more\n", report.Errors-int64(len(report.Failures)))
	}
	for _, kind := range slices.Sorted(maps.Keys(report.Kinds)) {
		fmt.Fprintf(to, "%s: %d\n", kind, report.Kinds[kind])
	}
	if report.Skipped > 0 {
		fmt.Fprintf(to, "records skipped: %d\n", report.Skipped)
	}
	out := c.Stdout
	if all {
		fmt.Fprint(out, "All data transferred. Waiting for the last reply...\nLast reply received from server.\n")
	}
	_, err := fmt.Fprintf(out, "errors: %d, replies: %d\n", report.Errors, report.Replies)
	return err
}
