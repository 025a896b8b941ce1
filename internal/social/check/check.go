// Package check verifies that the keys of a database agree with each other, and repairs them. Both
// run while the application is in use, on the engine of the toolkit packages (see package
// maintain).
package check

import (
	"context"
	"fmt"

	"retwis/internal/app"
)

// Verify scans the whole database in short steps and reports what breaks a rule of docs/keys.md. It
// changes nothing. Because of concurrent writes it may report something that is right a moment
// later. It needs memory for one step and two bounded caches.
func Verify(ctx context.Context, s *app.App, opt Options) (Result, error) {
	return run(ctx, s, opt, false)
}

// Repair finds what Verify finds and repairs what it can: each problem in one script that checks
// again first, or in a sequence that can be repeated from its start. It never undoes concurrent
// writes.
func Repair(ctx context.Context, s *app.App, opt Options) (Result, error) {
	return run(ctx, s, opt, true)
}

// run checks the usernames first, then the keys in the order of their phases, so that one repair
// makes room for the next.
func run(ctx context.Context, s *app.App, opt Options, repair bool) (Result, error) {
	if opt.Report == nil {
		opt.Report = func(Problem) {}
	}
	if opt.Followers == 0 {
		opt.Followers = defaultFollowers
	}
	if opt.Part == 0 {
		opt.Part = 1
	}
	if !(opt.Part > 0 && opt.Part <= 1) {
		return Result{}, fmt.Errorf("social: check: Options.Part: %v is not above 0 and at most 1", opt.Part)
	}
	c := newChecker(s, opt, repair)
	c.running.Lock()
	defer c.running.Unlock()
	c.rules = c.allRules()
	users := &userCheck{check: c}
	moderation := &moderationCheck{check: c}
	lists := &listCheck{check: c}
	keys := &keyCheck{check: c}
	sets := &setCheck{check: c}
	for _, step := range []func(context.Context) error{
		c.begin, keys.singletons, users.latest, users.usernames,
		c.pass(owners), users.byTime, moderation.all,
		c.pass(sources), sets.celebrities, sets.active, lists.public, keys.findings, c.pass(copies),
		keys.counters, keys.completions, keys.search, keys.unfinished,
	} {
		if err := step(ctx); err != nil {
			return c.finish(), fmt.Errorf("social: check: %w", err)
		}
	}
	return c.finish(), nil
}
