// Package ratelimit implements the retwis ratelimit commands.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
	"retwis/ratelimit"
)

// timeout bounds a decision. The timeout is longer than on a web server because people wait longer
// for a command.
const timeout = 5 * time.Second

// limitsHelp describes the syntax of a limit.
const limitsHelp = `A limit is written KEY=RATE/TIME: ada=10/1m allows ada ten events a minute, and ten at once.
ada=10/1m:3 allows three at once, and one every six seconds. Times are 500ms, 10s, 1m, 2h
or 7d; a bare unit means one: 5/s, 100/h.`

// New returns the retwis ratelimit command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "ratelimit",
		Short: "Limit how often something may happen",
		Long: `Limits how often something may happen, however many machines do it: calls of an API, mails
to a person, starts of a job. The server keeps one number for each limit (GCRA), and uses
its own clock.

` + limitsHelp,
		Example: `  retwis ratelimit take api=5/s && curl https://api.example.com
  retwis ratelimit take --wait 1m api=5/s
  retwis ratelimit show api=5/s
  retwis ratelimit reset api`,
	}, newTake(env), newShow(env), newReset(env))
}

func newTake(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "take [flags] KEY=LIMIT...",
		Short: "Ask whether an event is allowed, and count it",
		Long: `Asks whether an event is allowed, and if so, counts it. The exit code is 0 if the event is
allowed, and 75 if it will be allowed later; the output says how long to wait. The exit
code is 1 if the server does not answer, or if the event costs more than a limit ever
allows. With several limits, either all of them count the event, or none.

With --wait the command waits up to this time until the event is allowed.

` + limitsHelp,
		Example: `  retwis ratelimit take api=5/s && curl https://api.example.com
  retwis ratelimit take --wait 1m 'mail:ada=3/1h' 'mail=100/1m'
  retwis ratelimit take --cost 20 api=1000/1h`,
		Args: shell.Arguments(1, -1, ""),
	})
	cost := c.Flags().Int("cost", 1, "count the event as `N` events")
	wait := c.Flags().Duration("wait", 0, "wait up to this `time` until the event is allowed")
	c.AddJSON("print the decision as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error {
		checks, err := parse(args)
		if err != nil {
			return err
		}
		if *cost < 1 {
			return shell.Usage(fmt.Errorf("--cost is %d: it must be 1 or more", *cost))
		}
		if *wait < 0 {
			return shell.Usage(fmt.Errorf("--wait is %v: it must not be negative", *wait))
		}
		for i := range checks {
			checks[i].Cost = *cost
		}
		return with(ctx, c, func(l *ratelimit.Limiter) error {
			result, err := take(ctx, l, checks, *wait)
			if err != nil {
				return err
			}
			if err := show(c, result); err != nil {
				return err
			}
			switch {
			case result.Allowed:
				return nil
			case result.RetryAfter < 0:
				return shell.ErrReported
			}
			return shell.Exit(shell.ExitTryAgain, nil)
		})
	})
}

// take retries until the event is allowed, unless the event would be allowed only after wait.
func take(ctx context.Context, l *ratelimit.Limiter, checks []ratelimit.Check, wait time.Duration) (ratelimit.Result, error) {
	for end := time.Now().Add(wait); ; {
		r, err := l.TakeAll(ctx, checks...)
		if err != nil || r.Allowed || r.RetryAfter < 0 || time.Now().Add(r.RetryAfter).After(end) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(r.RetryAfter):
		}
	}
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     "show [flags] KEY=LIMIT...",
		Short:   "Show what a limit would allow now",
		Long:    "Shows what each limit would allow now, without counting an event.\n\n" + limitsHelp,
		Example: `  retwis ratelimit show api=5/s`,
		Args:    shell.Arguments(1, -1, ""),
	})
	c.AddJSON("print each as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		checks, err := parse(args)
		if err != nil {
			return err
		}
		return with(ctx, c, func(l *ratelimit.Limiter) error {
			for _, check := range checks {
				result, err := l.Peek(ctx, check.Key, check.Limit)
				if err != nil {
					return err
				}
				if err := show(c, result); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func newReset(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     "reset KEY...",
		Short:   "Reset a limit",
		Long:    `Discards the counted events of these keys, so that the whole burst is allowed.`,
		Example: `  retwis ratelimit reset login:ada`,
		Args:    shell.Arguments(1, -1, ""),
	})
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return with(ctx, c, func(l *ratelimit.Limiter) error {
			for _, key := range args {
				if err := l.Reset(ctx, key); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func with(ctx context.Context, c *shell.Command, do func(l *ratelimit.Limiter) error) error {
	return c.WithStore(ctx, func(db *store.Store) error {
		l, err := ratelimit.New(db.Client(), ratelimit.Options{Timeout: timeout})
		if err != nil {
			return err
		}
		return do(l)
	})
}

// parse parses limits. A key may contain an equals sign, but a limit may not.
func parse(args []string) ([]ratelimit.Check, error) {
	var checks []ratelimit.Check
	for _, arg := range args {
		at := strings.LastIndexByte(arg, '=')
		if at < 1 {
			return nil, shell.Usage(fmt.Errorf(`%q is not a limit: write KEY=LIMIT, such as api=5/s`, arg))
		}
		limit, err := ratelimit.ParseLimit(arg[at+1:])
		if err != nil {
			return nil, shell.Usage(err)
		}
		checks = append(checks, ratelimit.Check{Key: arg[:at], Limit: limit})
	}
	return checks, nil
}

func show(c *shell.Command, r ratelimit.Result) error {
	if c.JSON {
		return shell.NewEncoder(c.Stdout).Encode(shell.Object{
			{Name: "key", Value: r.Key},
			{Name: "allowed", Value: r.Allowed},
			{Name: "remaining", Value: r.Remaining},
			{Name: "retry_after_ms", Value: milliseconds(r.RetryAfter)},
			{Name: "reset_after_ms", Value: milliseconds(r.ResetAfter)},
		})
	}
	var err error
	switch {
	case r.Allowed:
		_, err = fmt.Fprintf(c.Stdout, "%s: allowed, %d more at once\n", shell.ForTerminal(r.Key), r.Remaining)
	case r.RetryAfter < 0:
		return errors.New("the event costs more than the limit ever allows at once")
	default:
		_, err = fmt.Fprintf(c.Stdout, "%s: not allowed, try again in %v\n", shell.ForTerminal(r.Key), r.RetryAfter.Round(time.Millisecond))
	}
	return err
}

func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
