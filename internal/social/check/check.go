// Package check verifies that the keys of a database agree with each other, and
// repairs them. Both run while the application is in use, on the engine that the
// packages of the toolkit use (see package maintain).
package check

import (
	"context"
	"fmt"
	"time"

	"retwis/internal/social"
	"retwis/maintain"
)

// Problem is a place where two keys that must agree do not, or where a key
// holds what it should not.
type Problem struct {
	Kind   maintain.Kind
	Key    string // the key in which it was found
	Detail string
	// Leftover problems were left by a write that a crash cut short. They are
	// invisible to users, or repaired by the next write of the same kind.
	Leftover bool
	// Repair describes the repair; empty where only a person can decide.
	Repair   string
	Repaired bool
}

func (p Problem) String() string {
	text := p.Key + ": " + p.Detail
	if p.Leftover {
		text += " (a leftover, harmless)"
	}
	switch {
	case p.Repaired:
		text += "; repaired: " + p.Repair
	case p.Repair != "":
		text += "; --repair would: " + p.Repair
	}
	return text
}

// Result counts what was checked and what was found. Problems and Leftovers
// include what was repaired.
type Result struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining are the problems that are still there, without leftovers.
	Remaining int64
	// Report counts problems and leftovers by their kind.
	Report maintain.Report
}

// Options are the settings of a check. The zero value is a good default.
type Options struct {
	// Rate is in keys per second, Progress counts keys: the check passes over all
	// of them several times.
	maintain.Options
	// Report is called with each problem. Default: no call.
	Report func(Problem)
	// Followers is the size of the random sample of followers, for each author,
	// whose timelines are searched for the author's latest posts. Default: 100.
	// Negative: none.
	Followers int
	// SessionGrace is how long a session may take to begin: until then a repair
	// leaves one alone that its user does not have yet. Default: 10 s.
	SessionGrace time.Duration
}

const (
	// defaultFollowers detects a loss of five followers in a hundred with a
	// probability of 99 %, for each author.
	defaultFollowers = 100
	// sessionGrace is the default of Options.SessionGrace: `auths` is written
	// first.
	sessionGrace = 10 * time.Second
)

// Verify scans the whole database, in short steps, and reports what breaks a rule
// of docs/keys.md. It changes nothing. Concurrent writes can make it report what
// is right a moment later. It needs memory for one step and two bounded caches.
func Verify(ctx context.Context, s *social.Service, opt Options) (Result, error) {
	return run(ctx, s, opt, false)
}

// Repair finds what Verify finds and repairs what it can: each place in one
// script that checks again first, or in a sequence that can be repeated from its
// start. Concurrent writes are never undone.
func Repair(ctx context.Context, s *social.Service, opt Options) (Result, error) {
	return run(ctx, s, opt, true)
}

// run checks the types of all keys and users first, then posts, then the lists
// that contain them, so that one repair makes room for the next.
func run(ctx context.Context, s *social.Service, opt Options, repair bool) (Result, error) {
	if opt.Report == nil {
		opt.Report = func(Problem) {}
	}
	if opt.Followers == 0 {
		opt.Followers = defaultFollowers
	}
	if opt.SessionGrace == 0 {
		opt.SessionGrace = sessionGrace
	}
	c := newChecker(s, opt, repair)
	users := &userCheck{checker: c}
	sessions := &sessionCheck{checker: c}
	posts := &postCheck{checker: c}
	lists := &listCheck{checker: c, posts: posts, follows: &followCheck{checker: c}}
	samples := &sampleCheck{checker: c}
	for _, step := range []func(context.Context) error{
		c.begin, c.singletons, users.names, users.all, users.byTime, sessions.all,
		posts.all, lists.public, lists.all, samples.all, c.counters, c.fanOuts, sessions.suspected,
	} {
		if err := step(ctx); err != nil {
			return c.finish(), fmt.Errorf("social: check: %w", err)
		}
	}
	return c.finish(), nil
}
