package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"retwis/internal/cli/shell"
	"retwis/internal/logfile"
)

// logFlags are the flags for logging.
type logFlags struct {
	format, level *shell.Choice
	access        *shell.Choice
	accessFile    string
	accessRate    int
	security      string
}

// addMain adds the flags of a process that serves no pages.
func (l *logFlags) addMain(c *shell.Command) {
	l.format = c.AddChoice("log-format", "the format of the log", "text", "json")
	l.level = c.AddChoice("log-level", "the lowest level that is logged", "info", "debug", "warn", "error")
	l.access = &shell.Choice{Value: "off"}
}

func (l *logFlags) add(c *shell.Command) {
	l.addMain(c)
	l.access = c.AddChoice("access-log", "log each request", "off", "text", "json")
	f := c.Flags()
	f.StringVar(&l.accessFile, "access-log-file", "-", "the `FILE` of the access log; - for standard output")
	f.IntVar(&l.accessRate, "access-log-rate", 1000, "log at most this `NUMBER` of requests a second, and count the others; 0 for no limit")
	f.StringVar(&l.security, "security-log", "", "the `FILE` for log-ins, sign-ups, password changes and moderator decisions; - for standard output (default: the log)")
}

// logs are the logs of a site. Writing to them never blocks.
type logs struct {
	main     *slog.Logger
	access   *slog.Logger // nil for none
	security *slog.Logger
	rate     int // maximum number of access log lines per second

	writers map[string]*logfile.Writer // by file; "-" and "" are standard output and error
}

// open opens the logs.
func (l *logFlags) open(c *shell.Command) (_ *logs, err error) {
	if l.accessRate < 0 {
		return nil, shell.Usage(fmt.Errorf("--access-log-rate: %d is negative", l.accessRate))
	}
	all := &logs{rate: l.accessRate, writers: map[string]*logfile.Writer{}}
	if l.accessRate == 0 {
		all.rate = -1
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level.Value)); err != nil {
		return nil, err
	}
	json := l.format.Value == "json"
	if all.main, err = all.logger(c, "", json, level); err != nil {
		return nil, err
	}
	// A security log is complete, whatever the level of the main log.
	if all.security, err = all.logger(c, l.security, json, slog.LevelInfo); err != nil {
		return nil, fmt.Errorf("--security-log: %w", err)
	}
	if l.access.Value == "off" {
		return all, nil
	}
	if all.access, err = all.logger(c, l.accessFile, l.access.Value == "json", slog.LevelInfo); err != nil {
		return nil, fmt.Errorf("--access-log-file: %w", err)
	}
	return all, nil
}

// logger returns a logger that writes to a file, or to a stream of the command.
func (l *logs) logger(c *shell.Command, path string, json bool, level slog.Level) (*slog.Logger, error) {
	w := l.writers[path]
	if w == nil {
		var err error
		switch path {
		case "":
			w = logfile.New(c.Stderr)
		case "-":
			w = logfile.New(c.Stdout)
		default:
			w, err = logfile.Open(path)
		}
		if err != nil {
			return nil, err
		}
		l.writers[path] = w
	}
	return w.Logger(json, level), nil
}

// reopenOnHangup reopens the files on each SIGHUP, for logrotate, until ctx ends. Without files,
// SIGHUP ends retwis, as it ends other programs whose terminal is closed, unless retwis is a
// systemd service, which has no terminal.
func (l *logs) reopenOnHangup(ctx context.Context, getenv func(string) string) (stop func()) {
	if !l.hasFiles() && getenv("INVOCATION_ID") == "" {
		return func() {}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hangups:
				l.reopen()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		cancel()
		<-done
	}
}

func (l *logs) hasFiles() bool {
	for path := range l.writers {
		if path != "" && path != "-" {
			return true
		}
	}
	return false
}

func (l *logs) reopen() {
	for path, w := range l.writers {
		if err := w.Reopen(); err != nil {
			l.main.Error("cannot reopen a log file; logging continues to the old file", "file", path, "error", err)
		}
	}
}

// dropped returns the number of dropped lines of each log.
func (l *logs) dropped() map[string]uint64 {
	all := map[string]uint64{}
	for path, w := range l.writers {
		name := path
		switch path {
		case "":
			name = "stderr"
		case "-":
			name = "stdout"
		}
		all[name] = w.Dropped()
	}
	return all
}

// Close writes the remaining lines and closes the logs.
func (l *logs) Close() error {
	var all []error
	for _, w := range l.writers {
		all = append(all, w.Close())
	}
	return errors.Join(all...)
}
