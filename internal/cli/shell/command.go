package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/redis/store"
)

// Command is a command of retwis: cobra's command, its environment, and the values
// of the flags that most commands have.
type Command struct {
	*cobra.Command
	Env
	Redis string   // --redis
	Media string   // --media
	Quota ByteSize // --media-quota
	SMTP  string   // --smtp
	Base  string   // --base-url
	JSON  bool     // --json
	// Creates lets a command that fills a database make the directory of an embedded
	// one. All others refuse a directory without a database.
	Creates bool
	// Check refuses arguments and flags before a database is opened; nil: there is nothing to
	// refuse.
	Check func(args []string) error

	variables func(flag string) bool // reports whether a variable sets a flag
	server    *ownServer
}

// New returns a command without flags. Help lists the flags in the order in which
// they are added.
func New(env Env, cmd *cobra.Command) *Command {
	cmd.Flags().SortFlags = false
	return &Command{
		Command: cmd, Env: env, server: newOwnServer(),
		variables: func(flag string) bool { return flag == "redis" },
	}
}

// AddRedis adds the flag that names the database.
func (c *Command) AddRedis() {
	c.Flags().StringVar(&c.Redis, "redis", "embedded:",
		"the `URL` of the database: embedded:[DIR], redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
}

// AddJSON adds --json.
func (c *Command) AddJSON(usage string) { c.Flags().BoolVar(&c.JSON, "json", false, usage) }

// FromEnv lets a variable set every flag but those excepted: RETWIS_ADMIN_ADDR sets
// --admin-addr. A flag on the command line wins. Without FromEnv only --redis has a
// variable. Flags that make a different command of it must be excepted.
func (c *Command) FromEnv(except ...string) {
	c.variables = func(flag string) bool { return flag != "help" && !slices.Contains(except, flag) }
}

// Build returns cobra's command, which runs run.
func (c *Command) Build(run func(ctx context.Context, args []string) error) *cobra.Command {
	nameVariables(c.Flags(), c.variables)
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := setFromEnv(cmd.Flags(), c.Getenv, c.variables); err != nil {
			return err
		}
		return c.checkRedis()
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if c.Check != nil {
			if err := c.Check(args); err != nil {
				return err
			}
		}
		return run(cmd.Context(), args)
	}
	return c.Command
}

// checkRedis refuses a URL of no database, and variables that no embedded server could have.
// The error does not show the password of the URL.
func (c *Command) checkRedis() error {
	flag := c.Flags().Lookup("redis")
	if flag == nil {
		return nil
	}
	if err := setFromEnv(c.server.flags, c.Getenv, func(string) bool { return true }); err != nil {
		return err
	}
	_, err := store.Parse(c.Redis)
	if err == nil {
		return nil
	}
	from := "--redis"
	if !flag.Changed {
		from = "the variable " + Variable(flag.Name)
	}
	return Usage(fmt.Errorf("%s: %s", from, OneLine(err)))
}

// WithStore opens the database for as long as do runs. Errors that the user can
// correct become wrong usage.
func (c *Command) WithStore(ctx context.Context, do func(db *store.Store) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := store.Open(ctx, c.Redis, Configure(c, store.Options{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = do(db)
	if errors.Is(err, index.ErrValue) || errors.Is(err, index.ErrDeclared) || errors.Is(err, index.ErrForeign) {
		return Usage(errors.New(OneLine(err)))
	}
	return err
}

// Log returns the log of a command that a person runs: warnings only.
func (c *Command) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// PrintNumber prints "removed: 2", or as JSON {"removed":2}.
func (c *Command) PrintNumber(name string, n int64) (err error) {
	if c.JSON {
		_, err = fmt.Fprintf(c.Stdout, "{%q:%d}\n", name, n)
	} else {
		_, err = fmt.Fprintf(c.Stdout, "%s: %d\n", name, n)
	}
	return err
}

// PrintCount prints a number alone, or as JSON {"count":2}.
func (c *Command) PrintCount(n int64) (err error) {
	if c.JSON {
		return c.PrintNumber("count", n)
	}
	_, err = fmt.Fprintln(c.Stdout, n)
	return err
}

// ShowEach calls show for each id, and reports those that are not found.
func (c *Command) ShowEach(ids []string, show func(id string) error) error {
	var missing error
	for _, id := range ids {
		err := show(id)
		if errors.Is(err, index.ErrNotFound) {
			missing = ErrReported
			fmt.Fprintf(c.Stderr, "retwis: %s\n", OneLine(err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return missing
}

// Group returns a command that only holds other commands.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// Arguments checks the number of arguments; most may be -1 for any number. The
// error shows how the command is called, and note.
func Arguments(least, most int, note string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.Replace(cmd.UseLine(), " [flags]", "", 1) + note
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing: %s", usage)
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], usage)
		}
		return nil
	}
}

// NoArguments refuses any argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes only flags, not %q", cmd.Name(), args[0])
	}
	return nil
}

// otherNames are names that other tools have for our commands.
var otherNames = map[string][]string{
	"select": {"query", "match", "find", "search", "scan"},
	"put":    {"set", "insert", "create", "import"},
	"remove": {"del", "delete", "rm"},
	"drop":   {"del", "delete", "rm"},
	"list":   {"ls", "all"},
	"verify": {"check"},
}

// UnknownCommand refuses an argument that is not a command, and suggests one.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, known := range cmd.Commands() {
		if slices.Contains(otherNames[known.Name()], args[0]) {
			return fmt.Errorf("unknown command %q; did you mean %q?", args[0], known.Name())
		}
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], like[0])
	}
	return fmt.Errorf("unknown command %q", args[0])
}
