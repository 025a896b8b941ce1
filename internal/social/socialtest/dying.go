package socialtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// DyingClient is the client of a process that is killed after some commands: after that, no command
// reaches the server. Read-only commands that are sent together count as one command, because they
// leave no trace, and on a Cluster there are many.
type DyingClient struct {
	rueidis.Client
	left atomic.Int64
}

// Dying returns the client of a process that is killed after the given number of commands.
func Dying(client rueidis.Client, commands int64) *DyingClient {
	d := &DyingClient{Client: client}
	d.left.Store(commands)
	return d
}

// Left returns how many commands are left to the process.
func (d *DyingClient) Left() int64 { return d.left.Load() }

var errKilled = errors.New("killed")

// Do sends the command if the process is still alive.
func (d *DyingClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return d.DoMulti(ctx, cmd)[0]
}

// DoMulti sends the commands that the process can still send.
func (d *DyingClient) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	cost := int64(len(cmds))
	if !slices.ContainsFunc(cmds, func(cmd rueidis.Completed) bool { return !cmd.IsReadOnly() }) {
		cost = min(1, cost)
	}
	alive := cmds
	if left := d.left.Add(-cost) + cost; left < cost {
		alive = cmds[:max(0, left)]
	}
	var results []rueidis.RedisResult
	if len(alive) > 0 {
		results = d.Client.DoMulti(ctx, alive...)
	}
	for len(results) < len(cmds) {
		results = append(results, rueidis.NewErrorResult(errKilled))
	}
	return results
}

// DoCache sends the command if the process is still alive.
func (d *DyingClient) DoCache(ctx context.Context, cmd rueidis.Cacheable, _ time.Duration) rueidis.RedisResult {
	return d.Do(ctx, rueidis.Completed(cmd))
}

// DoMultiCache sends the commands that the process can still send.
func (d *DyingClient) DoMultiCache(ctx context.Context, cmds ...rueidis.CacheableTTL) []rueidis.RedisResult {
	plain := make(rueidis.Commands, len(cmds))
	for i, cmd := range cmds {
		plain[i] = rueidis.Completed(cmd.Cmd)
	}
	return d.DoMulti(ctx, plain...)
}
