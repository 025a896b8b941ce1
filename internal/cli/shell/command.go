package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/store"
	"retwis/internal/social/adopt"
)

// Command is a retwis command: the cobra command, its environment, and the values of the flags that
// most commands have.
type Command struct {
	*cobra.Command
	Env
	Redis string   // --redis
	Media string   // --media
	Quota ByteSize // --media-quota
	SMTP  string   // --smtp
	Base  string   // --base-url
	JSON  bool     // --json
	// Creates is set for commands that fill a database: they may create the directory of an
	// embedded database. All other commands refuse a directory without a database.
	Creates bool
	// Check validates arguments and flags before the database is opened. Check may be nil.
	Check func(args []string) error

	variables func(flag string) bool // reports whether a flag can be set by a variable
	server    *ownServer
	allowSite bool // --allow-site
}

// New returns a command without flags. The help lists flags in the order in which they are added.
func New(env Env, cmd *cobra.Command) *Command {
	cmd.Flags().SortFlags = false
	return &Command{
		Command: cmd, Env: env, server: newOwnServer(),
		variables: func(flag string) bool { return flag == "redis" },
	}
}

// AddRedis adds --redis, and --allow-site for toolkit commands.
func (c *Command) AddRedis() {
	c.Flags().StringVar(&c.Redis, "redis", "embedded:",
		"the `URL` of the database: embedded:[DIR], redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
	if c.Toolkit {
		c.Flags().BoolVar(&c.allowSite, "allow-site", false, "use a database that holds a site")
	}
}

// AddJSON adds --json.
func (c *Command) AddJSON(usage string) { c.Flags().BoolVar(&c.JSON, "json", false, usage) }

// FromEnv lets variables set all flags but those in except: RETWIS_ADMIN_ADDR sets --admin-addr.
// A flag on the command line takes precedence. Without FromEnv only --redis has a variable. Flags
// that change what the command does must be in except.
func (c *Command) FromEnv(except ...string) {
	except = append(except, "help", "allow-site")
	c.variables = func(flag string) bool { return !slices.Contains(except, flag) }
}

// Variable returns the name of the variable that sets a flag. Toolkit commands have their own
// variables, so the settings of a site do not affect them.
func (c *Command) Variable(flag string) string {
	if c.Toolkit {
		flag = "toolkit-" + flag
	}
	return Variable(flag)
}

// Build returns the cobra command, which calls run.
func (c *Command) Build(run func(ctx context.Context, args []string) error) *cobra.Command {
	c.nameVariables()
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.setFromEnv(cmd.Flags(), c.variables); err != nil {
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

// checkRedis validates the database URL and the variables for an embedded server. The error of
// checkRedis does not reveal the password in the URL.
func (c *Command) checkRedis() error {
	flag := c.Flags().Lookup("redis")
	if flag == nil {
		return nil
	}
	if err := c.setFromEnv(c.server.flags, func(string) bool { return true }); err != nil {
		return err
	}
	_, err := store.Parse(c.Redis)
	if err == nil {
		return nil
	}
	from := "--redis"
	if !flag.Changed {
		from = "the variable " + c.Variable(flag.Name)
	}
	return Usage(fmt.Errorf("%s: %s", from, OneLine(err)))
}

// WithStore opens the database, calls do and closes the database again. Errors that the user can
// correct become usage errors.
func (c *Command) WithStore(ctx context.Context, do func(db *store.Store) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := c.OpenStore(ctx, Configure(c, store.Options{}))
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

// OpenStore opens the database given by --redis.
func (c *Command) OpenStore(ctx context.Context, opt store.Options) (*store.Store, error) {
	url, err := c.database()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, url, opt)
	switch {
	case errors.Is(err, store.ErrNoDatabase):
		return nil, Hint(err, "Name the database with --redis or "+c.Variable("redis")+".")
	case err != nil:
		return nil, err
	}
	if err := c.RefuseSite(ctx, db.Client(), ""); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// database returns the URL of the database. The toolkit's embedded database has a directory of its
// own, next to that of the site.
func (c *Command) database() (string, error) {
	config, err := store.Parse(c.Redis)
	if err != nil || !c.Toolkit || config.Kind != store.Embedded || config.Dir != "" {
		return c.Redis, err
	}
	dir, err := store.DefaultDir(c.Getenv)
	return "embedded:" + dir + "-toolkit", err
}

// RefuseSite returns an error if a toolkit command would use a database that holds a site and
// --allow-site is not set: its writes and deletions would hit the site's keys. where names the
// database in the error, if it is not the database of --redis. RefuseSite takes one round trip.
func (c *Command) RefuseSite(ctx context.Context, client rueidis.Client, where string) error {
	if !c.Toolkit || c.allowSite {
		return nil
	}
	hasSite, err := adopt.Exists(ctx, client)
	if errors.Is(err, adopt.Err2009) {
		hasSite, err = true, nil
	}
	switch {
	case rediserr.Of(err) == rediserr.Denied: // a user without read access to these keys cannot change them
		return nil
	case err != nil || !hasSite:
		return err
	}
	return Usage(fmt.Errorf("%s holds a site, whose keys this command could change: use another database, or --allow-site to proceed",
		cmp.Or(where, "the database")))
}

// Log returns the logger of an interactive command, which prints only warnings and errors.
func (c *Command) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// PrintNumber prints "removed: 2", or {"removed":2} with --json.
func (c *Command) PrintNumber(name string, n int64) (err error) {
	if c.JSON {
		_, err = fmt.Fprintf(c.Stdout, "{%q:%d}\n", name, n)
	} else {
		_, err = fmt.Fprintf(c.Stdout, "%s: %d\n", name, n)
	}
	return err
}

// PrintCount prints a bare number, or {"count":2} with --json.
func (c *Command) PrintCount(n int64) (err error) {
	if c.JSON {
		return c.PrintNumber("count", n)
	}
	_, err = fmt.Fprintln(c.Stdout, n)
	return err
}

// ShowEach calls show for each ID and reports IDs that are not found.
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

// Group returns a command that only groups subcommands.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// Arguments checks the number of arguments; maxArgs is -1 for no limit. The error shows the usage
// line followed by note.
func Arguments(minArgs, maxArgs int, note string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.Replace(cmd.UseLine(), " [flags]", "", 1) + note
		switch {
		case len(args) < minArgs:
			return fmt.Errorf("missing argument: %s", usage)
		case maxArgs >= 0 && len(args) > maxArgs:
			return fmt.Errorf("unexpected argument %q: %s", args[maxArgs], usage)
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

// otherNames maps commands to their names in other tools.
var otherNames = map[string][]string{
	"select": {"query", "match", "find", "search", "scan"},
	"put":    {"set", "insert", "create", "import"},
	"remove": {"del", "delete", "rm"},
	"drop":   {"del", "delete", "rm"},
	"list":   {"ls", "all"},
	"verify": {"check"},
}

// UnknownCommand rejects an argument that is not a command, and suggests a command.
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
