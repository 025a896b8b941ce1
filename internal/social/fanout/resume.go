package fanout

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"retwis/internal/script"
	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
	"retwis/internal/social/pause"
	"retwis/internal/social/reply"
)

//go:embed claim.lua
var claimSource string

var claimScript = script.New(claimSource).Retryable()

// resumeBatch is how many unfinished fan-outs are read at a time.
const resumeBatch = 50

// skew is by how much the clocks of two processes may differ.
const skew = time.Minute

// Resume repeats the fan-out of a post from its beginning to its end. Timelines
// that have the post are not changed, and users who followed after it was
// written do not get it. It returns ErrNoPost where there is no such post.
func (e *Engine) Resume(ctx context.Context, post int64) error {
	job, err := e.stored(ctx, post)
	if errors.Is(err, ErrNoPost) {
		if err := forget(ctx, e.writer.client, post); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	e.claims.add(post)
	defer e.claims.remove(post)
	for {
		if err := e.advance(ctx, &job); err != nil {
			return err
		}
		if job.after == follow.First {
			return e.confirm.finalize(ctx, job)
		}
		if !pause.For(ctx, pageGap) {
			return fmt.Errorf("social: fan out post %d: %w", post, ctx.Err())
		}
	}
}

// stored returns the job of a post that is in the database, or ErrNoPost where
// it is missing, cannot be read, or its author does not exist.
func (e *Engine) stored(ctx context.Context, post int64) (Job, error) {
	client := e.writer.client
	fields, err := reply.Fields(client.Do(ctx, client.B().Hmget().Key(layout.PostKey(post)).Field("user_id", "time").Build()))
	if err != nil {
		return Job{}, fmt.Errorf("social: read a post: %w", err)
	}
	author, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return Job{}, ErrNoPost
	}
	exists, err := client.Do(ctx, client.B().Hexists().Key(layout.UserKey(author)).Field("username").Build()).AsBool()
	if err != nil {
		return Job{}, fmt.Errorf("social: read a user: %w", err)
	}
	if !exists {
		return Job{}, ErrNoPost
	}
	job := Job{post: post, author: author, after: follow.First}
	if at := layout.ParseTime(fields[1]); !at.IsZero() {
		job.followedBy = float64(at.Add(skew).Unix())
	}
	return job, nil
}

// ResumeAll finishes the fan-outs that dead processes left unfinished. Each is
// claimed by one process. One that cannot be finished does not delay the
// others: it is logged, tried again by a later call, and counted in the error
// that comes back at the end.
func (e *Engine) ResumeAll(ctx context.Context) error {
	var failed int
	var first error
	for {
		stale := e.writer.now().Add(-StaleAfter).Unix()
		client := e.writer.client
		posts, err := client.Do(ctx, client.B().Zrangebyscore().Key(layout.FanOuts).
			Min("-inf").Max(layout.Itoa(stale)).Limit(0, resumeBatch).Build()).AsStrSlice()
		if err != nil {
			return fmt.Errorf("social: unfinished fan-outs: %w", err)
		}
		if len(posts) == 0 {
			break
		}
		for _, member := range posts {
			_, err := e.Take(ctx, member, stale)
			if ctx.Err() != nil {
				return fmt.Errorf("social: unfinished fan-outs: %w", ctx.Err())
			}
			if err != nil {
				e.log.WarnContext(ctx, "cannot finish an interrupted fan-out, trying again later", "post", member, "error", err)
				failed++
				if first == nil {
					first = err
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("social: %d interrupted fan-outs could not be finished, the first: %w", failed, first)
	}
	return nil
}

// Take claims one member of `fanouts` that was last renewed at stale (unix
// seconds) or earlier, and finishes it. It reports whether this process got the
// claim.
func (e *Engine) Take(ctx context.Context, member string, stale int64) (bool, error) {
	claimed, err := claimScript.Run(ctx, e.writer.client, []string{layout.FanOuts},
		[]string{member, layout.Itoa(stale), layout.Seconds(e.writer.now())}).AsBool()
	if err != nil || !claimed {
		return false, err
	}
	return true, e.resumeMember(ctx, member)
}

// resumeMember finishes one member of `fanouts`.
func (e *Engine) resumeMember(ctx context.Context, member string) error {
	post, err := strconv.ParseInt(member, 10, 64)
	if err != nil || layout.Itoa(post) != member {
		e.log.WarnContext(ctx, "removed a member of the unfinished fan-outs that is no post id", "member", member)
		client := e.writer.client
		return client.Do(ctx, client.B().Zrem().Key(layout.FanOuts).Member(member).Build()).Error()
	}
	switch err := e.Resume(ctx, post); {
	case errors.Is(err, ErrNoPost):
		e.log.InfoContext(ctx, "removed an interrupted fan-out whose post no longer exists", "post", post)
		return nil
	case err != nil:
		return err
	}
	e.log.InfoContext(ctx, "finished an interrupted fan-out", "post", post)
	return nil
}

// Repeat fans a finished post out again; `fanouts` has it meanwhile. A post that
// does not exist is no error.
func (e *Engine) Repeat(ctx context.Context, post int64) error {
	err := e.writer.note(ctx, post)
	if err == nil {
		err = e.Resume(ctx, post)
	}
	if errors.Is(err, ErrNoPost) {
		return nil
	}
	return err
}

// Renew renews the claims of this process, as it does every ten seconds.
func (e *Engine) Renew() { e.confirm.renew(e.ctx) }

// Claims returns how many fan-outs this process works on.
func (e *Engine) Claims() int { return len(e.claims.all()) }
