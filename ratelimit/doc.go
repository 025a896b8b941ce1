// Package ratelimit limits how often something may happen: logins per address, posts per user,
// calls per client, however many processes serve them.
//
// # Problem
//
// A counter per minute, the usual solution, allows twice the limit around the turn of the minute,
// and then no event until the next minute. This package uses the generic cell rate algorithm
// (GCRA), a leaky bucket that stores one number. With a limit of ten a minute, the bucket gains
// room for one event every six seconds, and holds at most ten.
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
// [Limiter.TakeAll] takes from several limits, such as ten a minute and a hundred an hour, or one
// limit for the account and one for the address. If any limit refuses the event, none counts it.
//
// # Guarantees
//
// An event takes Per/Rate of time. The stored number is the theoretical arrival time (TAT): the
// moment at which all earlier events will have been worked off. An event is allowed if it moves the
// TAT to at most Burst × Per/Rate in the future; only then is the TAT moved. In any span of time t,
// at most Burst + t × Rate/Per events are allowed. A caller who waits for RetryAfter each time is
// allowed that many events, except for rounding: Per/Rate is rounded up to whole microseconds,
// which is 1% at 10,000 events per second, and less at lower rates.
//
// A key has one TAT. If the same key is used with another limit, the earlier events count toward
// that limit, too: before a smaller limit allows an event, earlier events may have to be worked
// off, or removed with Reset.
//
// # Cost
//
// A limit is one string, ratelimit:KEY, that expires when its bucket is empty again. A decision
// takes one round trip and one script of about 10 µs for one limit. On a Cluster the limits of
// one TakeAll are decided in one step if their keys are in one slot ("login:{ada}:minute",
// "login:{ada}:hour"). Otherwise one script per slot runs after the other, and if a limit refuses
// the event, TakeAll gives back what it took from the earlier limits.
//
// # Limits
//
// A limiter that waits for a dead server stops everything that it guards. So a decision takes at
// most [Options.Timeout], and [Options.FailOpen] determines the outcome if the decision fails. If a
// server dies, an event can be counted twice or not at all: use a limiter against overload and
// abuse, not to count money.
//
// The package uses the clock of the server, so the clocks of the callers do not matter. After a
// failover to a server whose clock differs, a bucket is at most full.
//
// The package does not queue events or wait, and does not limit concurrency. A counter per window
// is simpler and sufficient for one coarse limit: see rueidislimiter, and docs/ratelimit.md for
// when to use it.
package ratelimit
