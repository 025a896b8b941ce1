// Package check verifies that the keys of a database agree with each other, and repairs them. A
// check or a repair runs while the application is in use, on the engine of the toolkit packages
// (see package maintain).
package check

import (
	"context"
	"fmt"

	"retwis/internal/app"
)

// Verify scans the whole database in short steps and reports violations of the rules in
// docs/keys.md. It changes nothing. It may report a problem that a concurrent write is about to
// correct. It needs memory for one step and two bounded caches.
func Verify(ctx context.Context, s *app.App, opt Options) (Result, error) {
	return run(ctx, s, opt, false)
}

// Repair finds the same problems as Verify and repairs them where possible. Each repair is a script
// that first checks again, or a sequence that can be repeated from its start. Repair never undoes
// concurrent writes.
func Repair(ctx context.Context, s *app.App, opt Options) (Result, error) {
	return run(ctx, s, opt, true)
}

// run checks the usernames first, then the keys in the order of their phases, so that each repair
// can rely on the earlier ones.
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
		return Result{}, fmt.Errorf("social: check: Options.Part: %v must be above 0 and at most 1", opt.Part)
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
