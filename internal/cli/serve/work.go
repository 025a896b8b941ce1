package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/app"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/redis/store"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

// workFlags are the flags of retwis work.
type workFlags struct {
	adminAddr  optionalAddress
	socketMode fileMode
	wait       time.Duration
	celebrity  int64
	limits     limitsFlag
	log        logFlags
}

func newWork(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "work",
		Short: "Run the background jobs of a site, without serving it",
		Long: `Runs background jobs from the queues of a site until it is stopped with Ctrl-C or SIGTERM:
posts to very many followers, deletions, repairs. Each process of "retwis serve" does this,
too, unless it runs with --work=false; run "retwis work" on other machines when posts reach
followers too late. Any number of these processes can be started and stopped, or killed, at
any time: another process takes over unfinished jobs after a few seconds. The jobs include
sending mails and importing lists: set the same --limit as for the site.

As a systemd service of type notify, retwis reports when it is ready, when it stops, and
that it is alive.`,
		Example: `  retwis work --redis redis://:secret@db.example.com
  retwis work --redis redis://db.example.com --admin-addr 127.0.0.1:9091`,
		Args: shell.NoArguments,
	})
	flags := workFlags{socketMode: 0o660}
	f := c.Flags()
	f.Var(&flags.adminAddr, "admin-addr", "the address of /metrics, /healthz, /readyz and /debug/pprof/ for operators; empty for none")
	f.Var(&flags.socketMode, "socket-mode", "the permissions of a unix socket")
	c.AddRedis()
	site.AddMedia(c)
	site.AddMail(c)
	f.DurationVar(&flags.wait, "wait", 10*time.Second, "how long to wait for a database that is starting")
	addCelebrity(c, &flags.celebrity)
	flags.limits.add(c)
	flags.log.addMain(c)
	c.FromEnv()
	return c.Build(func(ctx context.Context, _ []string) error {
		if flags.wait < 0 {
			return shell.Usage(fmt.Errorf("--wait: %v is negative", flags.wait))
		}
		if flags.celebrity < 1 {
			return shell.Usage(fmt.Errorf("--celebrity-followers: %d is less than 1", flags.celebrity))
		}
		logs, err := flags.log.open(c)
		if err != nil {
			return err
		}
		stop := logs.reopenOnHangup(ctx, c.Getenv)
		err = work(ctx, c, flags, logs)
		stop()
		return errors.Join(err, logs.Close())
	})
}

// work runs background jobs until ctx ends.
func work(ctx context.Context, c *shell.Command, flags workFlags, logs *logs) (err error) {
	log := logs.main
	listeners, err := listen(ctx, endpoint{"--admin-addr", flags.adminAddr.address, flags.socketMode, true})
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	registry, redis, err := newMetrics(c, logs, nil)
	if err != nil {
		return err
	}
	db, err := site.OpenWaiting(ctx, c, flags.wait, store.Options{Logger: log, Wrap: redis.Wrap, Connected: redis.Connected},
		app.Options{Limits: flags.limits.config, CelebrityFollowers: flags.celebrity})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	site.Warn(ctx, db.Store, log)
	if err := db.Adopt(ctx, false, log); err != nil {
		return err
	}
	pages, err := web.New(db.Social, web.Options{Logger: log, Registry: registry, Access: logs.access, AccessRate: logs.rate})
	if err != nil {
		return err
	}
	defer pages.Close()
	fmt.Fprintf(c.Stdout, "retwis: working, data in %s\n", db)
	run := running{log: log, service: db.Social, draining: pages.Drain}
	if admin := listeners[0]; admin != nil {
		log.Info("serving the pages for operators", "url", url(admin, false))
		run.add(admin, httpserver.NewAdmin(pages.AdminHandler(), log), nil)
	}
	return run.untilDone(ctx)
}
