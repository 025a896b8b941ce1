// Package ratelimit limits how often something may happen: logins per address, posts per user,
// calls per client, however many processes serve them.
//
// # Problem
//
// The usual counter per minute lets twice the limit through around the turn of the minute, and
// then nothing until the next one. This package uses the generic cell rate algorithm (GCRA), a
// leaky bucket that stores one number. With a limit of ten a minute, the bucket gains room for
// one event every six seconds, and holds at most ten.
//
// # Example
//
//	limiter, err := ratelimit.New(client, ratelimit.Options{})
//	perMinute := ratelimit.Limit{Rate: 10, Per: time.Minute}
//	result, err := limiter.Take(ctx, "login:ada", perMinute)
//	if !result.Allowed {
//		// 429 Too Many Requests, Retry-After: result.RetryAfter
//	}
//
// [Limiter.TakeAll] takes from several limits: ten a minute and a hundred an hour, one for the
// account and one for the address. Either all of them allow the event, or none counts it.
//
// # Guarantees
//
// An event takes Per/Rate of time. The stored number is the theoretical arrival time (TAT): the
// moment at which all events so far will have been worked off. An event is allowed if the TAT
// after it is at most Burst × Per/Rate ahead of the present, and only then is the TAT moved. In
// any span of time t at most Burst + t × Rate/Per events are allowed. A caller who waits for
// RetryAfter each time is allowed that many, except for rounding: Per/Rate is rounded up to whole
// microseconds, which is 1% at 10,000 events per second, and less at lower rates.
//
// A key has one TAT. If the same key is used with another limit, that limit counts the events so
// far, too: if it is smaller, they first have to be worked off, or forgotten with Reset.
//
// # Cost
//
// A limit is one string, ratelimit:KEY, that expires when its bucket is empty again. A decision
// takes one round trip and one script of about 10 µs for one limit. On a Cluster the limits of
// one TakeAll are decided in one step if their keys are in one slot ("login:{ada}:minute",
// "login:{ada}:hour"). Otherwise there is one script per slot, run one after another, and if a
// later one refuses, the earlier ones are given back.
//
// # Limits
//
// A limiter that waits for a dead server stops everything that it guards. So a decision takes at
// most [Options.Timeout], and [Options.FailOpen] decides the outcome if it fails. If a server
// dies, an event can be counted twice or not at all: use a limiter against overload and abuse,
// not to count money.
//
// The clock is that of the server, so the clocks of the callers do not matter. After a failover
// to a server whose clock differs, a bucket is at most full.
//
// The package does not queue events or wait, and does not limit concurrency. A counter per window
// is simpler and sufficient for one coarse limit: see rueidislimiter, and docs/ratelimit.md for
// when to use it.
package ratelimit
