package cli

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"retwis/internal/store"
)

// fromEnv lets every flag of a command be set by a variable too: --admin-addr
// by RETWIS_ADMIN_ADDR. A flag on the command line wins.
func fromEnv(cmd *cobra.Command, getenv func(string) string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage += fmt.Sprintf(" [%s]", variable(f.Name))
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var wrong error
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			value := getenv(variable(f.Name))
			if wrong != nil || value == "" || f.Changed || f.Name == "help" {
				return
			}
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				wrong = &usageError{cmd.CommandPath(), fmt.Errorf("%s: %q: %w", variable(f.Name), value, err)}
			}
		})
		return wrong
	}
}

func variable(flag string) string {
	return "RETWIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// redisFlag is the flag with which every command names its database.
func redisFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("redis", "embedded:",
		"the database: embedded:[DIR], redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
}

// logFlags say how to log.
type logFlags struct{ format, level string }

func (l *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.format, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
}

func (l *logFlags) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, &usageError{cmd.CommandPath(), fmt.Errorf("--log-level: %q is none of debug, info, warn, error", l.level)}
	}
	opt := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), opt)), nil
	}
	return nil, &usageError{cmd.CommandPath(), fmt.Errorf("--log-format: %q is neither text nor json", l.format)}
}

// openStore opens the database of a command.
func openStore(cmd *cobra.Command, url string, log *slog.Logger, getenv func(string) string) (*store.Store, error) {
	return store.Open(cmd.Context(), url, store.Options{Logger: log, Getenv: getenv})
}
