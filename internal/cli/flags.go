package cli

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fromEnv lets every flag of a command be set by a variable too: --admin-addr
// by RETWIS_ADMIN_ADDR. A flag on the command line wins. Left out are those that
// make another command of it.
func fromEnv(cmd *cobra.Command, getenv func(string) string, except ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			f.Usage += fmt.Sprintf(" [%s]", variable(f.Name))
		}
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return setFromEnv(cmd.Flags(), getenv, except...) }
}

// setFromEnv sets each flag that was not given, and whose variable is not
// empty.
func setFromEnv(flags *pflag.FlagSet, getenv func(string) string, except ...string) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(variable(f.Name))
		if wrong != nil || value == "" || f.Changed || f.Name == "help" || slices.Contains(except, f.Name) {
			return
		}
		if err := f.Value.Set(value); err != nil {
			wrong = &usageError{fmt.Errorf("invalid value %q of the variable %s: %w", value, variable(f.Name), err)}
		}
	})
	return wrong
}

func variable(flag string) string {
	return "RETWIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// choice is the value of a flag that is one of a few words.
type choice struct {
	value string
	words []string
}

// addChoice adds a flag whose default is the first word.
func addChoice(cmd *cobra.Command, name, usage string, words ...string) *choice {
	c := &choice{value: words[0], words: words}
	cmd.Flags().Var(c, name, usage+": "+strings.Join(words, ", "))
	// It fails only where a flag has completions already.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "word" }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.words, value) {
		return fmt.Errorf("use one of %s", strings.Join(c.words, ", "))
	}
	c.value = value
	return nil
}

// address is the value of a flag that says where to listen.
type address string

func (a *address) String() string { return string(*a) }
func (a *address) Type() string   { return "host:port" }

func (a *address) Set(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("use host:port, or :port for every interface")
	}
	*a = address(value)
	return nil
}

// optionalAddress may also be empty, which is nowhere: so a flag can take back
// what its variable says.
type optionalAddress struct{ address }

func (a *optionalAddress) Set(value string) error {
	if value == "" {
		a.address = ""
		return nil
	}
	return a.address.Set(value)
}

// logFlags say how to log.
type logFlags struct{ format, level *choice }

func addLogFlags(cmd *cobra.Command) logFlags {
	return logFlags{
		format: addChoice(cmd, "log-format", "what a line of the log looks like", "text", "json"),
		level:  addChoice(cmd, "log-level", "the least that is logged", "info", "debug", "warn", "error"),
	}
}

func (l logFlags) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level.value)); err != nil {
		return nil, err
	}
	opt := &slog.HandlerOptions{Level: level}
	if l.format.value == "json" {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), opt)), nil
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), opt)), nil
}

// quiet is the log of a command that speaks to a person: warnings only.
func quiet(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
