// Package serve has the commands that serve the site and maintain its database.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/seed"
	"retwis/internal/store"
	"retwis/internal/web"
)

// Commands returns the commands of the site.
func Commands(env shell.Env) []*cobra.Command {
	return []*cobra.Command{newServe(env), newSeed(env), newCheck(env), newRepairData(env)}
}

type serveFlags struct {
	addr         address
	adminAddr    optionalAddress
	fsync        *shell.Choice
	demo, secure bool
	proxies      networks
	share        bool
	log          logFlags
}

func newServe(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "serve",
		Short: "Serve the site",
		Long: `Serves Retwis until it is stopped with Ctrl-C or SIGTERM; requests in progress are
answered first. A variable in brackets sets a flag, too; the flag wins.

Without --redis, retwis runs its own server, with the data in $XDG_DATA_HOME/retwis or
~/.local/share/retwis. The first line of the output shows the address of the site and
where the data is.

If the database cannot be reached at the start, retwis tries for ten seconds, and
longer if the database is loading its data.`,
		Example: `  retwis serve --demo
  retwis serve --addr :80 --redis redis://:secret@db.example.com --admin-addr 127.0.0.1:9090
  RETWIS_ADDR=:8080 RETWIS_LOG_FORMAT=json retwis serve`,
		Args: shell.NoArguments,
	})
	flags := serveFlags{addr: "127.0.0.1:8080"}
	f := c.Flags()
	f.Var(&flags.addr, "addr", "the address to listen on")
	f.Var(&flags.adminAddr, "admin-addr", "the address of /metrics, /healthz and /readyz for operators; empty for none")
	c.AddRedis()
	flags.fsync = c.AddChoice("fsync", "when our own server forces writes to the disk", "everysec", "always")
	f.BoolVar(&flags.demo, "demo", false, "fill an empty database with sample users and posts, and print a login")
	f.BoolVar(&flags.secure, "secure-cookies", false, "mark cookies Secure, for a site behind a proxy that speaks TLS")
	f.Var(&flags.proxies, "trusted-proxies", "the networks of proxies whose X-Forwarded-For is believed")
	site.AddShare(c, &flags.share)
	flags.log.add(c)
	c.FromEnv()
	return c.Build(func(ctx context.Context, _ []string) error {
		logs, err := flags.log.open(c)
		if err != nil {
			return err
		}
		defer logs.reopenOnHangup(ctx, c.Getenv)()
		return errors.Join(serve(ctx, c, flags, logs), logs.Close())
	})
}

// serve listens first, so that a port in use is reported before a server is started.
func serve(ctx context.Context, c *shell.Command, flags serveFlags, logs *logs) (err error) {
	log := logs.main
	listeners, err := listen(ctx, place{"--addr", flags.addr}, place{"--admin-addr", flags.adminAddr.address})
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	db, err := site.OpenWaiting(ctx, c, store.Options{Logger: log, Fsync: flags.fsync.Value})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	site.Warn(ctx, db.Store, log)
	if err := db.Adopt(ctx, flags.share, log); err != nil {
		return err
	}
	login, err := demo(ctx, db, flags.demo)
	if err != nil {
		return err
	}
	pages, err := web.New(db.Social, web.Options{
		Logger: log, Access: logs.access, AccessRate: logs.rate, Security: logs.security,
		SecureCookies: flags.secure, TrustedProxies: flags.proxies,
	})
	if err != nil {
		return err
	}
	defer pages.Close()
	fmt.Fprintf(c.Stdout, "retwis: listening on http://%s, data in %s\n", listeners[0].Addr(), db)
	if login.Name != "" {
		fmt.Fprintf(c.Stdout, "retwis: log in as %q with the password %q\n", login.Name, login.Password)
	}
	servers := []serving{{listeners[0], web.HTTPServer(pages.Handler(), log)}}
	// Open pages come back to another process, or to this one once it serves again;
	// Close waits for the goodbye.
	servers[0].server.RegisterOnShutdown(pages.CloseEvents)
	if len(listeners) > 1 {
		log.Info("serving the pages for operators", "url", "http://"+listeners[1].Addr().String())
		servers = append(servers, serving{listeners[1], web.HTTPServer(pages.AdminHandler(), log)})
	}
	return serveUntilDone(ctx, log, db.Social, servers)
}

// place is an address to listen on, and its flag.
type place struct {
	flag string
	addr address
}

// listen listens on each address that is not empty.
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

// cannotListen returns the error of the system with a hint.
func (p place) cannotListen(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	switch wrapped := fmt.Errorf("listen on %s: %w", p.addr, err); {
	case errors.Is(err, syscall.EADDRINUSE):
		return shell.Hint(wrapped, "Another program uses this port, perhaps another retwis: choose a port with "+p.flag+", or 0 for any free port.")
	case errors.Is(err, syscall.EACCES):
		return shell.Hint(wrapped, "Ports below 1024 need special rights: choose a higher one with "+p.flag+".")
	default:
		return wrapped
	}
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		listener.Close()
	}
}

// demo fills an empty database. It refuses one with users, and so does not serve it:
// that could be taken for the demo.
func demo(ctx context.Context, db *site.Database, wanted bool) (seed.Login, error) {
	if !wanted {
		return seed.Login{}, nil
	}
	login, err := seed.Demo(ctx, db.Social)
	if errors.Is(err, seed.ErrNotEmpty) {
		return login, shell.Hint(
			fmt.Errorf("%s has users already: the demo needs an empty database", db),
			"Serve it without --demo and RETWIS_DEMO, or put the demo elsewhere with --redis embedded:DIR.",
		)
	}
	return login, err
}
