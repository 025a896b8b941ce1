package removal

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/scan"
	"retwis/internal/social/layout"
	"retwis/internal/social/limits"
	"retwis/internal/social/pause"
	"retwis/internal/social/reply"
	"retwis/internal/social/task"
)

const (
	// scanCount is how many keys one step of the scan passes.
	scanCount = 500
	// scanTimeout bounds a step: a node of a Cluster can be gone for good.
	scanTimeout = 15 * time.Second
	// inboxesAtOnce is of how many users the notifications are read at a time, each in
	// half a millisecond of the server's time at the most.
	inboxesAtOnce = 4
	// liveAtOnce is how many entries of `live` are read at a time.
	liveAtOnce = 1000
	// fanOutPause is how long to wait for a fan-out, and maxFanOutPauses how often,
	// before the task is repeated.
	fanOutPause     = 100 * time.Millisecond
	maxFanOutPauses = 100
)

// sweep scans all keys for what no list of the user leads to.
func (e *Engine) sweep(ctx context.Context, a account) error {
	if err := e.sweepLive(ctx, a); err != nil {
		return err
	}
	var pending []int64
	for page, err := range scan.Keys(ctx, e.Client, scan.Pattern{Count: scanCount, Timeout: scanTimeout}) {
		if err != nil {
			return err
		}
		var posts, notified []int64
		var mutes, limited []string
		for _, key := range page.Keys {
			if limits.IsOf(key, a.id, a.name) {
				limited = append(limited, key)
			}
			switch prefix, id, _ := layout.ParseKey(key); prefix {
			case layout.PostPrefix:
				posts = append(posts, id)
			case layout.MutedPrefix:
				mutes = append(mutes, key)
			case layout.InboxPrefix, layout.NotificationsPrefix:
				notified = append(notified, id)
			}
		}
		theirs, err := e.authored(ctx, a, posts)
		if err != nil {
			return err
		}
		for _, post := range theirs {
			done, err := e.FanOut.Erase(ctx, post, a.id)
			if err != nil {
				return err
			}
			if !done {
				pending = append(pending, post)
			}
		}
		if err := e.sweepMutes(ctx, a, mutes); err != nil {
			return err
		}
		if err := e.sweepLimits(ctx, limited); err != nil {
			return err
		}
		if err := e.sweepNotifications(ctx, a, notified); err != nil {
			return err
		}
		if !pause.For(ctx, gap) {
			return ctx.Err()
		}
	}
	return e.erasePending(ctx, a, pending)
}

// erasePending waits for the fan-outs of posts, which end because the posts are
// deleted.
func (e *Engine) erasePending(ctx context.Context, a account, posts []int64) error {
	for range maxFanOutPauses {
		left := posts[:0]
		for _, post := range posts {
			done, err := e.FanOut.Erase(ctx, post, a.id)
			if err != nil {
				return err
			}
			if !done {
				left = append(left, post)
			}
		}
		if posts = left; len(posts) == 0 {
			return nil
		}
		if !pause.For(ctx, fanOutPause) {
			return ctx.Err()
		}
	}
	return task.ErrAgain
}

// authored returns the posts of a user among these.
func (e *Engine) authored(ctx context.Context, a account, posts []int64) ([]int64, error) {
	if len(posts) == 0 {
		return nil, nil
	}
	cmds := make(rueidis.Commands, len(posts))
	for i, post := range posts {
		cmds[i] = e.Client.B().Hget().Key(layout.PostKey(post)).Field("user_id").Build()
	}
	var theirs []int64
	for i, res := range e.Client.DoMulti(ctx, cmds...) {
		author, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, err
		}
		if author == layout.Itoa(a.id) {
			theirs = append(theirs, posts[i])
		}
	}
	return theirs, nil
}

// sweepMutes removes a user from those that others have muted.
func (e *Engine) sweepMutes(ctx context.Context, a account, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	cmds := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		cmds[i] = e.Client.B().Zrem().Key(key).Member(layout.Itoa(a.id)).Build().ToRetryable()
	}
	for _, res := range e.Client.DoMulti(ctx, cmds...) {
		if err := res.Error(); err != nil && !reply.IsWrongType(err) {
			return err
		}
	}
	return nil
}

// sweepLimits removes what counts events of a user. Some have the name, and an address.
func (e *Engine) sweepLimits(ctx context.Context, keys []string) error {
	var cmds rueidis.Commands
	for _, key := range keys {
		cmds = append(cmds, e.Client.B().Unlink().Key(key).Build().ToRetryable())
	}
	return reply.FirstError(e.Client.DoMulti(ctx, cmds...))
}

// sweepNotifications removes what a user has caused from the notifications of others.
func (e *Engine) sweepNotifications(ctx context.Context, a account, users []int64) error {
	for len(users) > 0 {
		n := min(len(users), inboxesAtOnce)
		if err := e.notify.RemoveActor(ctx, a.id, users[:n]...); err != nil {
			return err
		}
		if users = users[n:]; len(users) > 0 && !pause.For(ctx, gap) {
			return ctx.Err()
		}
	}
	return nil
}

// sweepLive removes the posts of a user, and the replies to them, from `live`.
func (e *Engine) sweepLive(ctx context.Context, a account) error {
	uid := layout.Itoa(a.id)
	for start := "-"; ; {
		entries, err := e.Client.Do(ctx, e.Client.B().Xrange().Key(layout.Live).Start(start).End("+").Count(liveAtOnce).Build()).AsXRange()
		if reply.IsWrongType(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var theirs []string
		for _, entry := range entries {
			if entry.FieldValues["author"] == uid || entry.FieldValues["to"] == uid {
				theirs = append(theirs, entry.ID)
			}
			start = "(" + entry.ID
		}
		if len(theirs) > 0 {
			if err := e.Client.Do(ctx, e.Client.B().Xdel().Key(layout.Live).Id(theirs...).Build().ToRetryable()).Error(); err != nil {
				return err
			}
		}
		if len(entries) < liveAtOnce {
			return nil
		}
		if !pause.For(ctx, gap) {
			return ctx.Err()
		}
	}
}
