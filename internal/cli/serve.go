package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"retwis/internal/seed"
	"retwis/internal/social"
	"retwis/internal/web"
)

type serveFlags struct {
	addr, adminAddr string
	redis           *string
	demo, secure    bool
	log             logFlags
}

func newServe(env Env) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the site",
		Long: `Serves Retwis until it is told to stop (Ctrl-C, or SIGTERM); requests that are
being answered are finished first. Every flag can also be set by the variable
in brackets.`,
		Example: `  retwis serve --demo
  retwis serve --addr :80 --redis redis://:secret@db.example.com --admin-addr 127.0.0.1:9090
  RETWIS_ADDR=:8080 RETWIS_LOG_FORMAT=json retwis serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := flags.log.logger(cmd)
			if err != nil {
				return err
			}
			return serve(cmd, env, flags, log)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.addr, "addr", "127.0.0.1:8080", "where to listen")
	f.StringVar(&flags.adminAddr, "admin-addr", "", "where to serve /metrics, /healthz and /readyz for operators; nowhere when empty")
	flags.redis = redisFlag(cmd)
	f.BoolVar(&flags.demo, "demo", false, "fill an empty database with a made-up network, and say with whom to log in")
	f.BoolVar(&flags.secure, "secure-cookies", false, "behind a proxy that speaks TLS: mark cookies Secure")
	flags.log.add(cmd)
	fromEnv(cmd, env.Getenv)
	return cmd
}

func serve(cmd *cobra.Command, env Env, flags serveFlags, log *slog.Logger) (err error) {
	ctx := cmd.Context()
	// A taken port is told before anything else is begun.
	site, err := listen(ctx, flags.addr)
	if err != nil {
		return err
	}
	defer site.Close()
	var admin net.Listener
	if flags.adminAddr != "" {
		if admin, err = listen(ctx, flags.adminAddr); err != nil {
			return err
		}
		defer admin.Close()
	}
	db, err := openStore(cmd, *flags.redis, log, env.Getenv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	service, err := social.New(db.Client(), social.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	var login *seed.Login
	if flags.demo {
		if login, err = demo(ctx, service); err != nil {
			return err
		}
	}
	if err := adopt(ctx, service, log); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	pages, err := web.New(service, web.Options{Logger: log, SecureCookies: flags.secure, Registry: registry})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "retwis: listening on http://%s, data in %s\n", site.Addr(), db)
	if login != nil {
		fmt.Fprintf(cmd.OutOrStdout(), "retwis: log in as %q with the password %q\n", login.Name, login.Password)
	}
	return run(ctx, log, service, []listening{
		{site, web.HTTPServer(pages.Handler(), log)},
		{admin, web.HTTPServer(pages.AdminHandler(), log)},
	})
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, reason(err))
	}
	return listener, nil
}

// reason is what the system said, without what is said already.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

func demo(ctx context.Context, service *social.Service) (*seed.Login, error) {
	login, err := seed.Demo(ctx, service)
	if errors.Is(err, seed.ErrNotEmpty) {
		return nil, errors.New("--demo only fills an empty database, and this one has users; leave the flag out, or name another: --redis embedded:DIR")
	}
	return &login, err
}

func adopt(ctx context.Context, service *social.Service, log *slog.Logger) error {
	told := time.Now()
	return service.Adopt(ctx, func(done, total int64) {
		if now := time.Now(); now.Sub(told) > time.Second {
			told = now
			log.Info("opening a database of the original Retwis", "keys", done, "of about", total)
		}
	})
}

// listening is a server and where it listens, which is nowhere if nil.
type listening struct {
	listener net.Listener
	server   *http.Server
}

const (
	// grace is how long requests in flight may take to end.
	grace = 10 * time.Second
	// resumeEvery is how often to look for posts that a dead process left half
	// way.
	resumeEvery = time.Minute
)

// run serves until ctx ends or a server fails.
func run(ctx context.Context, log *slog.Logger, service *social.Service, all []listening) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, one := range all {
		if one.listener == nil {
			continue
		}
		wg.Go(func() {
			if err := one.server.Serve(one.listener); !errors.Is(err, http.ErrServerClosed) {
				stop(fmt.Errorf("serve on %s: %w", one.listener.Addr(), err))
			}
		})
	}
	wg.Go(func() { resume(ctx, log, service) })
	<-ctx.Done()
	log.Info("stopping; requests in flight are finished first")
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, one := range all {
		if one.listener == nil {
			continue
		}
		if shut := one.server.Shutdown(end); shut != nil {
			log.Warn("requests were cut off", "error", shut)
			_ = one.server.Close()
		}
	}
	wg.Wait()
	return err
}

// resume finishes posts that a process left half way when it died.
func resume(ctx context.Context, log *slog.Logger, service *social.Service) {
	tick := time.NewTicker(resumeEvery)
	defer tick.Stop()
	for {
		if err := service.ResumeFanOuts(ctx); err != nil && ctx.Err() == nil {
			log.Warn("cannot look for interrupted fan-outs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
