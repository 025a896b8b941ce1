package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk"
	"retwis/bulk/resp"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/sleep"
)

// chunks sends the commands for n items, at most perItem commands per item, in pipelines.
func (l Loader) chunks(ctx context.Context, n, perItem int, commands func(i int) rueidis.Commands) error {
	cmds := make(rueidis.Commands, 0, pipeline)
	for i := range n {
		cmds = append(cmds, commands(i)...)
		if len(cmds)+perItem > pipeline || i == n-1 {
			if err := l.send(ctx, cmds); err != nil {
				return fmt.Errorf("social: load: %w", err)
			}
			cmds = cmds[:0]
		}
	}
	return nil
}

const (
	// loadTimeout is how long a server may be unavailable during a load, as in a failover.
	loadTimeout = time.Minute
	// loadPause is the pause between two attempts.
	loadPause = 500 * time.Millisecond
)

// send sends commands and waits for their replies. If the server becomes unavailable, send repeats
// all commands, which must be safe to repeat.
func (l Loader) send(ctx context.Context, cmds rueidis.Commands) error {
	// A broken connection may still read the commands, so the caller must not overwrite them.
	cmds = slices.Clone(cmds)
	for i, cmd := range cmds {
		cmds[i] = cmd.Pin()
	}
	for began := time.Now(); ; {
		err := l.sendOnce(ctx, cmds)
		if err == nil || isPermanent(err) || time.Since(began) > loadTimeout {
			return err
		}
		l.log.WarnContext(ctx, "repeating a part of a load", "error", err)
		if !sleep.For(ctx, loadPause) {
			return errors.Join(err, ctx.Err())
		}
	}
}

// refusedError is the error reply to a command of a load.
type refusedError struct{ command, text string }

func (e *refusedError) Error() string { return e.command + ": " + e.text }

// isPermanent reports whether an error would recur if the command were repeated, unlike errors of a
// connection, or of a server that is starting or changing its role.
func isPermanent(err error) bool {
	var text string
	var refused *refusedError
	var answer *rueidis.RedisError
	switch {
	case errors.As(err, &refused):
		text = refused.text
	case errors.As(err, &answer):
		text = answer.Error()
	default:
		return errors.Is(err, context.Canceled)
	}
	return !rediserr.IsTemporaryReply(text)
}

func (l Loader) sendOnce(ctx context.Context, cmds rueidis.Commands) error {
	if l.server == nil {
		for part := range slices.Chunk(cmds, pipelinePart) {
			if err := reply.FirstError(l.client.DoMulti(ctx, part...)); err != nil {
				return err
			}
		}
		return nil
	}
	reader, writer := io.Pipe()
	var encoding sync.WaitGroup
	encoding.Go(func() { writer.CloseWithError(encode(writer, cmds)) })
	report, err := bulk.Load(ctx, *l.server, bulk.Options{Format: bulk.RESP, ShowErrors: 1}, bulk.From(reader))
	reader.Close()
	encoding.Wait()
	if err != nil {
		return err
	}
	if report.Errors > 0 {
		return &refusedError{report.Failures[0].Text, report.Failures[0].Error}
	}
	return l.waitForInvalidation(ctx)
}

// encode writes commands in the Redis protocol.
func encode(w io.Writer, cmds rueidis.Commands) error {
	e := resp.NewEncoder(w)
	var args []any
	for _, cmd := range cmds {
		args = args[:0]
		for _, word := range cmd.Commands() {
			args = append(args, word)
		}
		if err := e.Encode(args...); err != nil {
			return err
		}
	}
	return e.Flush()
}

// waitForInvalidation waits until the client's cache has dropped the keys that other connections
// have changed: invalidation messages arrive before the replies to later commands.
func (l Loader) waitForInvalidation(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, l.client)
	if err != nil {
		return err
	}
	for _, master := range masters {
		if err := master.Client.Do(ctx, master.Client.B().Ping().Build().ToRetryable()).Error(); err != nil {
			return err
		}
	}
	return nil
}
