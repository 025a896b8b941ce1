// Package ratelimit limits how often something may happen: log-ins of an address, posts
// of a user, calls of a client, however many processes serve them.
//
// A counter for each minute, the usual way, lets twice the limit through around the turn
// of the minute, and then nothing until the next. This package uses the generic cell rate
// algorithm (GCRA), a leaky bucket that stores one number. With a limit of ten a minute
// the bucket gets room for one every six seconds, and holds ten at most:
//
//	limiter, err := ratelimit.New(client, ratelimit.Options{})
//	perMinute := ratelimit.Limit{Rate: 10, Per: time.Minute}
//	result, err := limiter.Take(ctx, "login:ada", perMinute)
//	if !result.Allowed {
//		// 429 Too Many Requests, Retry-After: result.RetryAfter
//	}
//
// It does not queue events or wait, it does not count exactly where a server dies, and it does
// not limit how many run at a time. A counter for each window is simpler and enough for one
// coarse limit: see rueidislimiter, and docs/ratelimit.md for when.
//
// # Arithmetic
//
// An event takes Per/Rate of time. What is stored is the theoretical arrival time (TAT):
// the moment at which all events so far have been worked off. An event is allowed if the
// TAT after it is at most Burst × Per/Rate ahead of the present, and only then is the TAT
// moved. In any span of time t at most Burst + t × Rate/Per events are allowed. As many are
// allowed to a caller who waits for RetryAfter each time, but for rounding: Per/Rate is
// rounded up to whole microseconds, which is 1% at 10,000 events a second, and less below.
//
// A key has one TAT. If it is asked with another limit, that counts the events so far, too:
// where the new one is smaller, they first have to be worked off, or forgotten with Reset.
//
// # Several limits at once
//
// [Limiter.TakeAll] takes from several limits: ten a minute and a hundred an hour, one
// for the account and one for the address. Either all of them allow the event, or none
// counts it.
//
// # Keys and cost
//
// A limit is one string, ratelimit:KEY, that expires when its bucket is empty again. A
// decision is one round trip and one script of about 10 µs for one limit. The clock is
// that of the server, so the clocks of the callers do not matter. After a fail-over to a
// server whose clock differs, a bucket is at most full.
//
// On a Cluster the limits of one TakeAll are decided in one step if their keys are in one
// slot ("login:{ada}:minute", "login:{ada}:hour"). Else there is a script for each slot,
// one after the other, and where a later one refuses, the earlier ones are given back.
//
// # Faults
//
// A limiter that waits for a dead server stops everything that it guards. So a decision
// takes [Options.Timeout] at most, and [Options.FailOpen] says what it is then. A limiter
// can count an event twice or not at all if a server dies at that moment: use it against
// overload and abuse, not to count money.
package ratelimit
