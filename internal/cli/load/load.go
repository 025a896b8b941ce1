// Package load implements the retwis load command.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/bulk"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/redisurl"
	"retwis/internal/redis/store"
	"retwis/internal/sleep"
)

// exitLost is the exit code if the connection was lost and could not be opened again.
const exitLost = 3

// reconnectPause is the pause between attempts to reach an unavailable server.
const reconnectPause = 250 * time.Millisecond

// loadFlags are the flags of retwis load.
type loadFlags struct {
	errorsTo       string
	skipBad        string
	format, resend *shell.Choice
	inflight       shell.ByteSize
	dryRun, emit   bool
	opt            bulk.Options
}

// New returns the retwis load command.
func New(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "load [flags] [FILE]...",
		Short: "Load millions of commands or records into the database, fast",
		Long: `Reads commands or records from files, or from standard input, and sends them as fast as
the server takes them, as "redis-cli --pipe" does. Each command is checked before it is
sent, an error names its command, a lost connection is opened again, and on a Cluster
each command goes to the server that has its slot.

A file may be compressed with gzip or zstd, and is one of
  rdb        a snapshot of a server: each of its keys replaces the key of that name
  resp       the protocol, as "redis-cli --pipe" takes it, and append-only files, also
             those that begin with a snapshot
  commands   one command per line, as typed into redis-cli
  csv        records with a header, or with --columns
  tsv        the same with tabs and without quotes, as mysql --batch writes it
  ndjson     one JSON object per line
  json       one JSON array of objects
A directory is the append-only file of a server (appendonlydir): its base and its
increments are loaded in the order of its manifest.

For records, --do is the command to send; it can be given several times:
  {name} is a field, {#} the number of the record, {{ and }} are braces;
  {name|lower} {name|upper} {name|trim} {age|int} {score|float} {city|default:none}
In json and ndjson {address.city} is a field of an object in the record.

The exit code is
    0  everything was loaded
    1  some commands failed, bad records were skipped, or the load was stopped, for
       example by a SELECT that failed
    2  the flags or the input are wrong; the message names the line or byte, and
       everything before it was loaded
    3  the connection was lost for good`,
		Example: `  retwis load dump.rdb
  retwis load /var/lib/redis/appendonlydir
  retwis load users.csv --do 'HSET user:{id} name {name} age {age|int}' --do 'ZADD users.by.age {age} {id}'
  retwis load 2026-*.ndjson.gz --do 'XADD events * type {type} at {at}' --skip-bad bad.ndjson
  retwis load --emit users.csv --do 'SADD users {id}' | redis-cli --pipe
  retwis load big.resp.zst --redis redis://db --coalesce --checkpoint big.progress --errors-to failed.resp`,
	})
	flags := loadFlags{inflight: 4 << 20}
	flags.add(c)
	return c.Build(func(ctx context.Context, args []string) error {
		if err := flags.resolve(c); err != nil {
			return shell.Usage(err)
		}
		return flags.run(ctx, c, args)
	})
}

func (flags *loadFlags) add(c *shell.Command) {
	f := c.Flags()
	flags.format = c.AddChoice("format", "the format of the input", "auto", "rdb", "resp", "commands", "csv", "tsv", "ndjson", "json")
	f.StringArrayVar(&flags.opt.Do, "do", nil, "the `COMMAND` to send for each record, with {fields}; repeat it for more commands")
	f.StringSliceVar(&flags.opt.Columns, "columns", nil, "the `NAMES` of the columns of csv and tsv, separated by commas (default: the first line)")
	f.StringArrayVar(&flags.opt.SkipIfMissing, "skip-if-missing", nil, "skip records without this `FIELD`")
	f.BoolVar(&flags.dryRun, "dry-run", false, "check the whole input and send nothing")
	f.BoolVar(&flags.emit, "emit", false, "write the protocol to standard output and send nothing")
	f.IntVar(&flags.opt.ShowErrors, "show-errors", 20, "how many failed commands to show")
	f.StringVar(&flags.errorsTo, "errors-to", "", "write every failed command to this `FILE`, to be loaded again")
	f.StringVar(&flags.skipBad, "skip-bad", "", "write records that cannot be loaded to this `FILE`, with the reason, and go on")
	f.IntVar(&flags.opt.MaxBad, "max-bad", 10_000, "skip at most this `NUMBER` of bad records; one more ends the load")
	f.BoolVar(&flags.opt.FailFast, "fail-fast", false, "stop at the first command that fails")
	f.BoolVar(&flags.opt.Coalesce, "coalesce", false, "send consecutive SETs as one MSET")
	f.IntVar(&flags.opt.Connections, "connections", 1, "connections to a single server; commands on the same key stay in order")
	f.IntVar(&flags.opt.Rate, "rate", 0, "send at most this `NUMBER` of commands a second; 0 for no limit")
	f.Var(&flags.inflight, "max-inflight", "how many bytes may await replies; a smaller value slows other clients less")
	f.DurationVar(&flags.opt.RetryFor, "retry-for", 30*time.Second, "how long to try to reconnect; 0 to fail at once")
	flags.resend = c.AddChoice("resend", "which unanswered commands to send again after a reconnect", "harmless", "always", "never")
	f.StringVar(&flags.opt.Checkpoint, "checkpoint", "", "record the progress in this `FILE`, and continue from there next time")
	c.AddJSON("print a report as JSON")
	c.AddRedis()
	c.Creates = true
	c.FromEnv("do", "emit", "dry-run", "columns", "skip-if-missing", "format", "checkpoint", "errors-to", "skip-bad")
}

// resolve checks the flags and sets the options of the load.
func (flags *loadFlags) resolve(c *shell.Command) error {
	switch {
	case flags.dryRun && flags.emit:
		return errors.New("--dry-run and --emit cannot be combined: use one at a time")
	case flags.emit && c.JSON:
		return errors.New("--emit and --json both write to standard output: use one at a time")
	case (flags.emit || flags.dryRun) && (flags.opt.Checkpoint != "" || flags.errorsTo != ""):
		return errors.New("--checkpoint and --errors-to need commands to be sent: leave out --emit and --dry-run")
	case flags.opt.MaxBad < 1:
		return fmt.Errorf("--max-bad is %d: it must be 1 or more", flags.opt.MaxBad)
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
		flags.opt.Format = bulk.Auto
	}
	if err := flags.opt.Check(); err != nil {
		return errors.New(strings.Replace(shell.OneLine(err), "Options.Do: ", "--do ", 1))
	}
	return nil
}

// run loads, checks or emits the files and prints the result.
func (flags *loadFlags) run(ctx context.Context, c *shell.Command, names []string) (err error) {
	files, size, err := flags.files(c, names)
	if err != nil {
		return err
	}
	if err := flags.refuseUsed(c, files); err != nil {
		return err
	}
	if flags.dryRun {
		config, err := store.Parse(c.Redis)
		if err != nil {
			return shell.Usage(err)
		}
		flags.opt.Cluster = config.Kind == redisurl.Cluster
	}
	bad, err := flags.output("--skip-bad", flags.skipBad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bad.close()) }()
	if bad != nil {
		flags.opt.BadTo = bad.file
	}
	var erase func()
	flags.opt.OnProgress, erase = progress(c.Stderr, size, flags.emit)
	var report bulk.Report
	switch {
	case flags.emit:
		report, err = bulk.Emit(ctx, c.Stdout, flags.opt, files...)
	case flags.dryRun:
		report, err = bulk.Emit(ctx, io.Discard, flags.opt, files...)
	default:
		report, err = flags.load(ctx, c, files)
	}
	erase()
	return flags.finish(c, report, err)
}

// load sends the files to the database.
func (flags *loadFlags) load(ctx context.Context, c *shell.Command, files []bulk.File) (report bulk.Report, err error) {
	server, end, err := flags.server(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, end()) }()
	failed, err := flags.output("--errors-to", flags.errorsTo)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, failed.close()) }()
	if failed != nil {
		flags.opt.ErrorsTo = failed.file
	}
	return bulk.Load(ctx, server, flags.opt, files...)
}

// server returns the connection options of the database. If server starts an embedded database, end
// stops that database.
func (flags *loadFlags) server(ctx context.Context, c *shell.Command) (opt rueidis.ClientOption, end func() error, err error) {
	noop := func() error { return nil }
	config, err := store.Parse(c.Redis)
	if err != nil {
		return opt, noop, shell.Usage(errors.New(shell.OneLine(err)))
	}
	if config.Kind != store.Embedded {
		opt, err := config.ClientOption()
		if err == nil {
			err = flags.refuseSite(ctx, c, opt)
		}
		return opt, noop, err
	}
	db, err := c.OpenStore(ctx, shell.Configure(c, store.Options{}))
	if err != nil {
		return opt, noop, err
	}
	return db.ClientOption(), db.Close, nil
}

// refuseSite returns an error if the server holds a site. Like a load, it waits for a server that
// is loading its data, and uses only features that old servers and proxies support.
func (flags *loadFlags) refuseSite(ctx context.Context, c *shell.Command, opt rueidis.ClientOption) error {
	opt.AlwaysRESP2, opt.DisableCache = true, true
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return nil // the load fails with the same error at once
	}
	defer client.Close()
	for start := time.Now(); ; {
		err := c.RefuseSite(ctx, client, "")
		switch {
		case rediserr.Of(err) != rediserr.Unavailable:
			return err
		case time.Since(start) >= flags.opt.RetryFor:
			return shell.Exit(exitLost, err)
		}
		if !sleep.For(ctx, reconnectPause) {
			return ctx.Err()
		}
	}
}

// finish prints the report and returns the error that sets the exit code.
func (flags *loadFlags) finish(c *shell.Command, report bulk.Report, failed error) error {
	stopped := errors.Is(failed, context.Canceled)
	started := report.Commands > 0 || failed == nil
	switch {
	case flags.emit:
		flags.printSkipped(c, report)
	case c.JSON && (started || flags.dryRun):
		if err := printReport(c.Stdout, report, failed); err != nil {
			return err
		}
	case flags.dryRun && failed == nil:
		flags.printSkipped(c, report)
		if _, err := fmt.Fprintf(c.Stdout, "checked: %s, %d bytes of protocol; nothing was sent\n",
			shell.Plural(report.Commands, "command", "commands"), report.Bytes); err != nil {
			return err
		}
	case !flags.dryRun && started:
		if err := flags.printCounts(c, report, failed == nil); err != nil {
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
		if failed.Error() == bulk.ErrFailed.Error() { // because of --fail-fast; the command was shown
			failed = errors.New("stopped at the first command that failed")
		}
		return shell.Exit(shell.ExitFailure, failed)
	case failed != nil:
		return failed
	case report.Errors > 0 || report.Bad > 0:
		return shell.ErrReported
	}
	return nil
}
