package serve

import (
	"fmt"
	"log/slog"
	"net"

	"retwis/internal/cli/shell"
)

// address is the value of a flag that takes an address to listen on.
type address string

func (a *address) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *address) Type() string { return "host:port" }

// Set implements pflag.Value.
func (a *address) Set(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("use host:port, or :port for every interface")
	}
	*a = address(value)
	return nil
}

// optionalAddress may also be empty, so that a flag can override its variable with
// nothing.
type optionalAddress struct{ address }

// Set implements pflag.Value.
func (a *optionalAddress) Set(value string) error {
	if value == "" {
		a.address = ""
		return nil
	}
	return a.address.Set(value)
}

// logFlags are the flags for logging.
type logFlags struct{ format, level *shell.Choice }

func (l *logFlags) add(c *shell.Command) {
	l.format = c.AddChoice("log-format", "the format of the log", "text", "json")
	l.level = c.AddChoice("log-level", "the lowest level that is logged", "info", "debug", "warn", "error")
}

func (l *logFlags) logger(c *shell.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level.Value)); err != nil {
		return nil, err
	}
	opt := &slog.HandlerOptions{Level: level}
	if l.format.Value == "json" {
		return slog.New(slog.NewJSONHandler(c.Stderr, opt)), nil
	}
	return slog.New(slog.NewTextHandler(c.Stderr, opt)), nil
}
