package partition

import (
	"context"
	"crypto/sha1" // as Redis names scripts
	_ "embed"
	"encoding/hex"

	"github.com/redis/rueidis"
)

//go:embed declare.lua
var declareLua string

// Script is a Lua script, run by its digest, and in full where a server does
// not know it.
type Script struct{ source, sha string }

// NewScript returns a script that declare.lua stands before.
func NewScript(source string) Script {
	source = declareLua + source
	sum := sha1.Sum([]byte(source)) // as Redis names scripts
	return Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Call is one run of a script.
type Call struct{ Keys, Args []string }

// Run runs the script once: one round trip.
func (s Script) Run(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	r := client.Do(ctx, client.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if unknown(r) {
		r = client.Do(ctx, client.B().Eval().Script(s.source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	return r
}

// RunMany runs the script many times in one pipeline, and again those that a
// server did not know it for. Keep the calls of one pipeline below a thousand.
func (s Script) RunMany(ctx context.Context, client rueidis.Client, calls []Call) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(calls))
	for i, c := range calls {
		commands[i] = client.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
	}
	results := client.DoMulti(ctx, commands...)
	for i, r := range results {
		if unknown(r) {
			results[i] = s.Run(ctx, client, calls[i].Keys, calls[i].Args)
		}
	}
	return results
}

func unknown(r rueidis.RedisResult) bool {
	e, ok := rueidis.IsRedisErr(r.Error())
	return ok && e.IsNoScript()
}
