// Package serve has the commands that serve and operate the site.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/seed"
	"retwis/internal/social"
	"retwis/internal/web"
)

type serveFlags struct {
	addr         shell.Address
	adminAddr    shell.OptionalAddress
	redis        *string
	fsync        *shell.Choice
	demo, secure bool
	share        bool
	log          shell.LogFlags
}

func New(env shell.Env) *cobra.Command {
	flags := serveFlags{addr: "127.0.0.1:8080"}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the site",
		Long: `Serves Retwis until it is told to stop (Ctrl-C, or SIGTERM); requests that are
being answered are finished first. Every flag can also be set by the variable
in brackets; a flag wins.

The data is in $XDG_DATA_HOME/retwis or ~/.local/share/retwis, where retwis runs
a server of its own, unless --redis names another place. The first line of the
output says where it listens and where the data is.

A database that cannot be reached at the start is tried again for ten seconds,
and for as long as it says that it is loading its data.`,
		Example: `  retwis serve --demo
  retwis serve --addr :80 --redis redis://:secret@db.example.com --admin-addr 127.0.0.1:9090
  RETWIS_ADDR=:8080 RETWIS_LOG_FORMAT=json retwis serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := flags.log.Logger(cmd)
			if err != nil {
				return err
			}
			return serve(cmd, env, flags, log)
		},
	}
	f := cmd.Flags()
	f.Var(&flags.addr, "addr", "where to listen")
	f.Var(&flags.adminAddr, "admin-addr", "where to serve /metrics, /healthz and /readyz for operators; nowhere when empty")
	flags.redis = shell.RedisFlag(cmd)
	flags.fsync = shell.AddChoice(cmd, "fsync", "when a server of our own forces writes to the disk", "everysec", "always")
	f.BoolVar(&flags.demo, "demo", false, "fill an empty database with a made-up network, and say with whom to log in")
	f.BoolVar(&flags.secure, "secure-cookies", false, "behind a proxy that speaks TLS: mark cookies Secure")
	shareFlag(cmd, &flags.share)
	flags.log = shell.AddLogFlags(cmd)
	shell.FromEnv(cmd, env.Getenv)
	return cmd
}

// serve opens what it needs, the ports first: that one is taken is told before
// a server is started for nothing.
func serve(cmd *cobra.Command, env shell.Env, flags serveFlags, log *slog.Logger) (err error) {
	ctx := cmd.Context()
	listeners, err := listen(ctx, place{"--addr", flags.addr}, place{"--admin-addr", flags.adminAddr.Address})
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	db, err := openPatiently(cmd, env, *flags.redis, flags.fsync.Value, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	warn(ctx, db.Store, log)
	if err := adoptDatabase(ctx, db, flags.share, log); err != nil {
		return err
	}
	login, err := demo(ctx, db, flags.demo)
	if err != nil {
		return err
	}
	site, err := newSite(db.social, flags.secure, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "retwis: listening on http://%s, data in %s\n", listeners[0].Addr(), db)
	if login.Name != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "retwis: log in as %q with the password %q\n", login.Name, login.Password)
	}
	servers := []serving{{listeners[0], web.HTTPServer(site.Handler(), log)}}
	if len(listeners) > 1 {
		log.Info("serving the operators' pages", "url", "http://"+listeners[1].Addr().String())
		servers = append(servers, serving{listeners[1], web.HTTPServer(site.AdminHandler(), log)})
	}
	return serveUntilTold(ctx, log, db.social, servers)
}

// place is where to listen, and the flag that says so.
type place struct {
	flag string
	addr shell.Address
}

// listen listens at each place whose address is not empty.
func listen(ctx context.Context, places ...place) ([]net.Listener, error) {
	var all []net.Listener
	for _, p := range places {
		if p.addr == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", string(p.addr))
		if err != nil {
			closeAll(all)
			return nil, p.cannotListen(err)
		}
		all = append(all, listener)
	}
	return all, nil
}

// cannotListen says what the system said, without what is said already.
func (p place) cannotListen(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	switch wrapped := fmt.Errorf("listen on %s: %w", p.addr, err); {
	case errors.Is(err, syscall.EADDRINUSE):
		return shell.Hint(wrapped, "Another program has this port, another retwis perhaps: choose a port with "+p.flag+", 0 for any that is free.")
	case errors.Is(err, syscall.EACCES):
		return shell.Hint(wrapped, "Ports below 1024 are not for everybody: choose a higher one with "+p.flag+".")
	default:
		return wrapped
	}
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		listener.Close()
	}
}

// demo fills an empty database. One that people use is left alone, and not
// served either: whoever asks for a demo would take it for one.
func demo(ctx context.Context, db *database, wanted bool) (seed.Login, error) {
	if !wanted {
		return seed.Login{}, nil
	}
	login, err := seed.Demo(ctx, db.social)
	if errors.Is(err, seed.ErrNotEmpty) {
		return login, shell.Hint(
			fmt.Errorf("no demo goes into %s, which has users already", db),
			"Serve it without --demo and RETWIS_DEMO, or give the demo a place of its own: --redis embedded:DIR.",
		)
	}
	return login, err
}

func newSite(service *social.Service, secure bool, log *slog.Logger) (*web.Server, error) {
	return web.New(service, web.Options{Logger: log, SecureCookies: secure})
}
