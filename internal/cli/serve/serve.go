// Package serve implements the commands that serve the site and maintain its database.
package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/app"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/redis/store"
	"retwis/internal/seed"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

// Commands returns the commands.
func Commands(env shell.Env) []*cobra.Command {
	return []*cobra.Command{newServe(env), newWork(env), newJobs(env), newSeed(env), newImport2009(env), newCheck(env)}
}

// serveFlags are the flags of retwis serve.
type serveFlags struct {
	addr         address
	socketMode   fileMode
	adminAddr    optionalAddress
	tls          tlsFlags
	wait, drain  time.Duration
	celebrity    int64
	homeIdle     time.Duration
	demo, secure bool
	proxies      networks
	share        bool
	work         bool
	maxBacklog   int64
	conns        int
	cache        shell.ByteSize
	log          logFlags
	limits       limitsFlag
}

// minCache is the minimum of --client-cache.
const minCache = 1 << 20

// check rejects invalid and contradictory flags.
func (f *serveFlags) check() error {
	switch {
	case f.wait < 0:
		return fmt.Errorf("--wait: %v is negative", f.wait)
	case f.drain < 0:
		return fmt.Errorf("--drain: %v is negative", f.drain)
	case f.maxBacklog < 0:
		return fmt.Errorf("--max-backlog: %d is negative", f.maxBacklog)
	case f.conns < 0:
		return fmt.Errorf("--connections: %d is negative", f.conns)
	case f.cache < minCache:
		return fmt.Errorf("--client-cache: %s is too small: use at least 1MB", f.cache.String())
	case f.celebrity < 1:
		return fmt.Errorf("--celebrity-followers: %d is less than 1", f.celebrity)
	case f.homeIdle < time.Hour:
		return fmt.Errorf("--home-idle: %v is less than an hour", f.homeIdle)
	}
	return f.tls.check()
}

func newServe(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "serve",
		Short: "Serve the site",
		Long: `Serves Retwis until it is stopped with Ctrl-C or SIGTERM; requests in progress are
answered first. The variable in brackets also sets the flag; the flag takes precedence.

Without --redis, retwis runs its own server, with the data in $XDG_DATA_HOME/retwis or
~/.local/share/retwis. The first line of the output shows the address of the site and
where the data is.

If the database cannot be reached at the start, retwis retries for up to --wait, and longer
if the database is loading its data.

With --acme or --tls-cert the site is served over HTTPS, with HTTP/2. As a systemd service
of type notify, retwis reports when it is ready, when it stops, and that it is alive.

` + limitsHelp(),
		Example: `  retwis serve --demo
  retwis serve --acme retwis.example.com --admin-addr 127.0.0.1:9090
  retwis serve --addr :8080 --redis redis://:secret@db.example.com
  RETWIS_ADDR=:8080 RETWIS_LOG_FORMAT=json retwis serve`,
		Args: shell.NoArguments,
	})
	flags := serveFlags{addr: "127.0.0.1:8080", socketMode: 0o660, cache: store.DefaultCacheBytes}
	f := c.Flags()
	f.Var(&flags.addr, "addr", "the address to listen on: a port, unix:PATH, or systemd:NAME for a socket of systemd; the socket named web, if there is one, is the default")
	f.Var(&flags.socketMode, "socket-mode", "the permissions of a unix socket")
	f.Var(&flags.adminAddr, "admin-addr", "the address of /metrics, /healthz, /readyz and /debug/pprof/ for operators; empty for none")
	flags.tls.add(c)
	c.AddRedis()
	site.AddMedia(c)
	site.AddMail(c)
	site.AddQuota(c)
	c.Creates = true
	shell.AddServer(c)
	f.DurationVar(&flags.wait, "wait", 10*time.Second, "how long to wait for a database that is starting")
	f.DurationVar(&flags.drain, "drain", 0, "how long to continue serving after a stop, while /readyz already returns 503")
	f.Var(&flags.cache, "client-cache", "how much memory the cache of database reads may take, for all masters of a Cluster together")
	f.BoolVar(&flags.demo, "demo", false, "fill an empty database with sample users and posts, and print a login")
	f.BoolVar(&flags.secure, "secure-cookies", false, "mark cookies Secure, for a site behind a proxy that terminates TLS")
	f.Var(&flags.proxies, "trusted-proxies", "the networks of proxies whose X-Forwarded-For is trusted")
	f.IntVar(&flags.conns, "connections", 500, "how many connections a client address may have open; 0 for no limit; trusted proxies have no limit")
	site.AddShare(c, &flags.share)
	addCelebrity(c, &flags.celebrity)
	f.DurationVar(&flags.homeIdle, "home-idle", 30*24*time.Hour, "on a Cluster: how long after its last view a home timeline expires; the next view rebuilds it")
	f.BoolVar(&flags.work, "work", true, "also do background work; otherwise run retwis work elsewhere")
	f.Int64Var(&flags.maxBacklog, "max-backlog", 1000, "refuse posts to more than 1,000 followers while more than this `NUMBER` of jobs wait; 0 for no limit")
	flags.limits.add(c)
	flags.log.add(c)
	c.FromEnv()
	return c.Build(func(ctx context.Context, _ []string) error {
		if err := flags.check(); err != nil {
			return shell.Usage(err)
		}
		if len(flags.tls.domains) > 0 {
			flags.useACMEPorts(c)
		}
		logs, err := flags.log.open(c)
		if err != nil {
			return err
		}
		stop := logs.reopenOnHangup(ctx, c.Getenv)
		err = serve(ctx, c, flags, logs)
		stop()
		return errors.Join(err, logs.Close())
	})
}

// addCelebrity adds --celebrity-followers, which must be the same for all processes of a site.
func addCelebrity(c *shell.Command, to *int64) {
	c.Flags().Int64Var(to, "celebrity-followers", 5_000, "on a Cluster: posts of an author with more followers are merged into home timelines when those are read")
}

// backlog returns --max-backlog as app.Options.MaxBacklog, where -1 means no limit.
func (f *serveFlags) backlog() int64 {
	if f.maxBacklog == 0 {
		return -1
	}
	return f.maxBacklog
}

// useACMEPorts sets the ports that browsers and the certificate authority use, unless flags or
// variables set others.
func (f *serveFlags) useACMEPorts(c *shell.Command) {
	if !given(c, "addr") {
		f.addr = ":443"
	}
	if !given(c, "redirect-addr") {
		f.tls.redirect.address = ":80"
	}
}

// given reports whether the command line or a variable sets a flag.
func given(c *shell.Command, flag string) bool {
	return c.Flags().Changed(flag) || c.Getenv(shell.Variable(flag)) != ""
}

// serve serves the site. serve listens first, so that a port in use is reported before an embedded
// server is started.
func serve(ctx context.Context, c *shell.Command, flags serveFlags, logs *logs) (err error) {
	log := logs.main
	base, err := site.BaseURL(c)
	if err != nil {
		return err
	}
	source, err := flags.tls.source(c, log)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx,
		endpoint{"--addr", flags.addr, flags.socketMode, given(c, "addr")},
		endpoint{"--admin-addr", flags.adminAddr.address, flags.socketMode, true},
		endpoint{"--redirect-addr", flags.tls.redirect.address, flags.socketMode, true})
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	main, admin, redirect := listeners[0], listeners[1], listeners[2]
	registry, redis, err := newMetrics(c, logs, source)
	if err != nil {
		return err
	}
	db, err := site.OpenWaiting(ctx, c, flags.wait, store.Options{
		Logger: log, CacheBytes: int64(flags.cache), Wrap: redis.Wrap, Connected: redis.Connected,
	}, app.Options{
		Limits: flags.limits.config, CelebrityFollowers: flags.celebrity, HomeIdle: flags.homeIdle,
		NoJobs: !flags.work, MaxBacklog: flags.backlog(),
	})
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
		Logger: log, Registry: registry, Access: logs.access, AccessRate: logs.rate, Security: logs.security,
		Version: c.Root().Version, BaseURL: base, SecureCookies: flags.secure, HSTSSubdomains: flags.tls.subdomains, TrustedProxies: flags.proxies,
	})
	if err != nil {
		return err
	}
	defer pages.Close()
	fmt.Fprintf(c.Stdout, "retwis: listening on %s, data in %s\n", url(main, source != nil), db)
	if login.Name != "" {
		fmt.Fprintf(c.Stdout, "retwis: log in as %q with the password %q\n", login.Name, login.Password)
	}
	run := running{log: log, service: db.Social, drain: flags.drain, draining: pages.Drain}
	server := httpserver.New(pages.Handler(), log)
	pages.BoundConnections(server, flags.conns)
	run.add(main, server, source)
	// CloseEvents asks open pages to reconnect, to another process or to this one after a restart;
	// Close waits until these messages have been sent.
	run.servers[0].server.RegisterOnShutdown(pages.CloseEvents)
	if admin != nil {
		log.Info("serving the pages for operators", "url", url(admin, false))
		run.add(admin, httpserver.NewAdmin(pages.AdminHandler(), log), nil)
	}
	if redirect != nil {
		log.Info("redirecting plain HTTP to HTTPS", "url", url(redirect, false))
		redirector := httpserver.New(source.Redirect(port(main.Addr())), log)
		pages.BoundConnections(redirector, flags.conns)
		run.add(redirect, redirector, nil)
	}
	run.background = func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() { site.WatchMemory(ctx, db.Store, log) })
		orderCertificates(ctx, main.Addr(), flags.tls.domains)
		wg.Wait()
	}
	return run.untilDone(ctx)
}

// demo fills an empty database with sample data if wanted is set. For a database with users it
// returns an error, so that the site is not mistaken for the demo.
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
