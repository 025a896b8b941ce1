// Package script runs Lua scripts in Redis: by digest, or in full on a server that does not know
// the script yet.
//
// All keys of a script call must be in one hash slot. Keep the work of each script bounded, because
// the server runs nothing else meanwhile.
package script

import (
	"context"
	"crypto/sha1" // Redis identifies scripts by their SHA-1
	"encoding/hex"
	"strings"

	"github.com/redis/rueidis"
)

// Script is a Lua script. It is safe for concurrent use.
type Script struct {
	source, sha string
	retryable   bool
}

// New returns a script made of sources: functions shared by several scripts, and the script.
func New(sources ...string) Script {
	source := strings.Join(sources, "")
	sum := sha1.Sum([]byte(source))
	return Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Retryable returns a copy of the script that the client resends after a broken connection. Only the
// reply may have been lost, so running the script twice must do no harm.
func (s Script) Retryable() Script {
	s.retryable = true
	return s
}

// Call is one run of a script.
type Call struct{ Keys, Args []string }

// Run runs the script in one round trip, plus a second one the first time on a server.
//
// While a Cluster moves a slot key by key, it refuses scripts whose keys are on two servers. Run
// and the other methods then wait and retry, until the context ends or for at most a minute.
func (s Script) Run(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return retryMoving(ctx, func() rueidis.RedisResult {
		r := client.Do(ctx, s.evalsha(client, keys, args))
		if unknown(r) {
			r = client.Do(ctx, s.eval(client, keys, args))
		}
		return r
	})
}

// RunFenced is like Run, but returns only after the client has received the invalidation messages
// for what the script wrote (client-side caching), so that a later read through the same client
// returns the new values. Servers since 7.0 send these messages after the reply; a second command in
// the pipeline waits for them.
func (s Script) RunFenced(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	fence := func() rueidis.Completed { return client.B().Exists().Key(keys[0]).Build().ToRetryable() }
	return retryMoving(ctx, func() rueidis.RedisResult {
		r := client.DoMulti(ctx, s.evalsha(client, keys, args), fence())
		if unknown(r[0]) {
			r = client.DoMulti(ctx, s.eval(client, keys, args), fence())
		}
		return r[0]
	})
}

// RunMany runs the script several times in one pipeline, in one round trip, plus two more the
// first time on a server. The results are in the order of the calls. If a server learns the
// script during the pipeline, or a Cluster moves the keys of a call, the calls may run in another
// order. Make fewer than a thousand calls.
func (s Script) RunMany(ctx context.Context, client rueidis.Client, calls []Call) []rueidis.RedisResult {
	if len(calls) == 1 {
		return []rueidis.RedisResult{s.Run(ctx, client, calls[0].Keys, calls[0].Args)}
	}
	results := s.runAll(ctx, client, calls)
	for w := newWait(ctx); ; {
		var left []int
		var retry []Call
		for i, r := range results {
			if moving(r) {
				left, retry = append(left, i), append(retry, calls[i])
			}
		}
		if len(left) == 0 || !w.next() {
			return results
		}
		for i, r := range s.runAll(ctx, client, retry) {
			results[left[i]] = r
		}
	}
}

// runAll is like RunMany, but does not wait for keys that move.
func (s Script) runAll(ctx context.Context, client rueidis.Client, calls []Call) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(calls))
	for i, c := range calls {
		commands[i] = s.evalsha(client, c.Keys, c.Args)
	}
	results := client.DoMulti(ctx, commands...)
	for {
		var left []int
		for i, r := range results {
			if unknown(r) {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return results
		}
		// The first call loads the script into its server. The other calls fail again only on other
		// servers of a Cluster.
		first := left[0]
		results[first] = client.Do(ctx, s.eval(client, calls[first].Keys, calls[first].Args))
		if len(left) == 1 {
			return results
		}
		commands = commands[:0]
		for _, i := range left[1:] {
			commands = append(commands, s.evalsha(client, calls[i].Keys, calls[i].Args))
		}
		for i, r := range client.DoMulti(ctx, commands...) {
			results[left[i+1]] = r
		}
	}
}

// Command returns the full script as one command, for a pipeline of the caller. With the digest, the
// pipeline could not fall back to the full script.
func (s Script) Command(client rueidis.Client, keys, args []string) rueidis.Completed {
	return s.eval(client, keys, args)
}

func (s Script) evalsha(client rueidis.Client, keys, args []string) rueidis.Completed {
	return s.withRetry(client.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

func (s Script) eval(client rueidis.Client, keys, args []string) rueidis.Completed {
	return s.withRetry(client.B().Eval().Script(s.source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

// withRetry marks the command of a retryable script as retryable.
func (s Script) withRetry(command rueidis.Completed) rueidis.Completed {
	if s.retryable {
		return command.ToRetryable()
	}
	return command
}

// unknown reports whether a server did not run a script because the server does not know the script.
func unknown(r rueidis.RedisResult) bool {
	e, ok := rueidis.IsRedisErr(r.Error())
	return ok && e.IsNoScript()
}
