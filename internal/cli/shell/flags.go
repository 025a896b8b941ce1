package shell

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RedisFlag is the flag with which every command names its database.
func RedisFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("redis", "embedded:",
		"the `URL` of the database: embedded:[DIR], redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
}

// FromEnv lets every flag of a command be set by a variable too: --admin-addr
// by RETWIS_ADMIN_ADDR. A flag on the command line wins. Left out are those that
// make another command of it.
func FromEnv(cmd *cobra.Command, getenv func(string) string, except ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			f.Usage += fmt.Sprintf(" [%s]", Variable(f.Name))
		}
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return setFromEnv(cmd.Flags(), getenv, except...) }
}

// setFromEnv sets each flag that was not given, and whose variable is not
// empty.
func setFromEnv(flags *pflag.FlagSet, getenv func(string) string, except ...string) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(Variable(f.Name))
		if wrong != nil || value == "" || f.Changed || f.Name == "help" || slices.Contains(except, f.Name) {
			return
		}
		if err := f.Value.Set(value); err != nil {
			wrong = Usage(fmt.Errorf("invalid value %q of the variable %s: %w", value, Variable(f.Name), err))
		}
	})
	return wrong
}

// Variable returns the variable that sets a flag.
func Variable(flag string) string {
	return "RETWIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Choice is the value of a flag that is one of a few words.
type Choice struct {
	Value string
	words []string
}

// AddChoice adds a flag whose default is the first word.
func AddChoice(cmd *cobra.Command, name, usage string, words ...string) *Choice {
	c := &Choice{Value: words[0], words: words}
	cmd.Flags().Var(c, name, usage+": "+strings.Join(words, ", "))
	// It fails only where a flag has completions already.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *Choice) String() string { return c.Value }

func (c *Choice) Type() string { return "word" }

func (c *Choice) Set(value string) error {
	if !slices.Contains(c.words, value) {
		return fmt.Errorf("use one of %s", strings.Join(c.words, ", "))
	}
	c.Value = value
	return nil
}

// Address is the value of a flag that says where to listen.
type Address string

func (a *Address) String() string { return string(*a) }

func (a *Address) Type() string { return "host:port" }

func (a *Address) Set(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("use host:port, or :port for every interface")
	}
	*a = Address(value)
	return nil
}

// OptionalAddress may also be empty, which is nowhere: so a flag can take back
// what its variable says.
type OptionalAddress struct{ Address }

func (a *OptionalAddress) Set(value string) error {
	if value == "" {
		a.Address = ""
		return nil
	}
	return a.Address.Set(value)
}

// LogFlags say how to log.
type LogFlags struct{ format, level *Choice }

func AddLogFlags(cmd *cobra.Command) LogFlags {
	return LogFlags{
		format: AddChoice(cmd, "log-format", "what a line of the log looks like", "text", "json"),
		level:  AddChoice(cmd, "log-level", "the least that is logged", "info", "debug", "warn", "error"),
	}
}

func (l LogFlags) Logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level.Value)); err != nil {
		return nil, err
	}
	opt := &slog.HandlerOptions{Level: level}
	if l.format.Value == "json" {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), opt)), nil
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), opt)), nil
}

// Quiet is the log of a command that speaks to a person: warnings only.
func Quiet(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// ByteSize is the value of a flag that says how many bytes: 4MB, 512KB, 65536.
type ByteSize int64

func (b *ByteSize) Type() string { return "bytes" }

func (b *ByteSize) String() string {
	switch n := int64(*b); {
	case n > 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	default:
		return strconv.FormatInt(n, 10)
	}
}

func (b *ByteSize) Set(text string) error {
	digits := strings.ToUpper(text)
	unit := int64(1)
	for _, u := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if rest, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("use a number of bytes, with KB, MB or GB behind it")
	}
	*b = ByteSize(n * unit)
	return nil
}
