package removal

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/sleep"
	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

const (
	// scanCount is how many keys one step of the scan covers.
	scanCount = 500
	// scanTimeout limits a step, because a node of a Cluster may be permanently down.
	scanTimeout = 15 * time.Second
	// inboxBatch is how many users' notifications are read at a time. Reading one user's takes the
	// server at most half a millisecond.
	inboxBatch = 4
	// liveBatch is how many entries of `live` are read at a time.
	liveBatch = 1000
	// fanOutPause is the pause between two checks of whether fan-outs have ended.
	fanOutPause = 100 * time.Millisecond
	// maxFanOutPauses limits the number of pauses, after which the task is repeated.
	maxFanOutPauses = 100
)

// sweep scans all keys once for entries that no list of the users leads to.
func (e *Engine) sweep(ctx context.Context, all accounts) error {
	if err := e.sweepLive(ctx, all); err != nil {
		return err
	}
	isLimit := limits.OfAccounts(all)
	var pending []post
	for page, err := range scan.Keys(ctx, e.DB.Client, scan.Pattern{Count: scanCount, Timeout: scanTimeout}) {
		if err != nil {
			return err
		}
		var posts, notified, owners []int64
		var lists, limited []string
		for _, key := range page.Keys {
			if isLimit(key) {
				limited = append(limited, key)
			}
			switch prefix, id, _ := storage.ParseKey(key); prefix {
			case storage.PostPrefix:
				posts = append(posts, id)
			case storage.MutedPrefix, storage.DismissedPrefix:
				lists = append(lists, key)
			case storage.NotificationsPrefix:
				notified = append(notified, id)
			case storage.ListsPrefix:
				owners = append(owners, id)
			}
		}
		authored, err := e.authored(ctx, all, posts)
		if err == nil {
			authored, err = e.erase(ctx, authored)
		}
		if err != nil {
			return err
		}
		pending = append(pending, authored...)
		if err := e.sweepLists(ctx, all, lists); err != nil {
			return err
		}
		if err := e.sweepMembers(ctx, all, owners); err != nil {
			return err
		}
		if err := e.sweepLimits(ctx, limited); err != nil {
			return err
		}
		if err := e.sweepNotifications(ctx, all, notified); err != nil {
			return err
		}
		if !sleep.For(ctx, gap) {
			return ctx.Err()
		}
	}
	return e.erasePending(ctx, pending)
}

// post is a post of a user that is being deleted.
type post struct{ id, author int64 }

// erase erases posts, and returns those that are still being fanned out.
func (e *Engine) erase(ctx context.Context, posts []post) (pending []post, err error) {
	for _, p := range posts {
		done, err := e.FanOut.Deletions.Erase(ctx, p.id, p.author)
		if err != nil {
			return nil, err
		}
		if !done {
			pending = append(pending, p)
		}
	}
	return pending, nil
}

// erasePending waits for the fan-outs of posts, which end because the posts are deleted.
func (e *Engine) erasePending(ctx context.Context, posts []post) error {
	for range maxFanOutPauses {
		var err error
		if posts, err = e.erase(ctx, posts); err != nil || len(posts) == 0 {
			return err
		}
		if !sleep.For(ctx, fanOutPause) {
			return ctx.Err()
		}
	}
	return work.ErrAgain
}

// authored returns the given posts that were written by the users.
func (e *Engine) authored(ctx context.Context, all accounts, posts []int64) ([]post, error) {
	authors, err := reads.Field(ctx, e.DB.Client, posts, storage.PostKey, "user_id")
	if err != nil {
		return nil, err
	}
	var authored []post
	for i, text := range authors {
		author, _ := storage.ParseID(text)
		if all[author] != "" {
			authored = append(authored, post{posts[i], author})
		}
	}
	return authored, nil
}

// sweepLists removes the users from other users' mutes and dismissals.
func (e *Engine) sweepLists(ctx context.Context, all accounts, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	members := make([]string, 0, len(all))
	for uid := range all {
		members = append(members, storage.Itoa(uid))
	}
	return e.removeFrom(ctx, keys, members...)
}

// sweepMembers removes the users from the lists of others.
func (e *Engine) sweepMembers(ctx context.Context, all accounts, owners []int64) error {
	if len(owners) == 0 {
		return nil
	}
	return e.RemoveMembers(ctx, owners, func(_, member int64) bool { return all[member] != "" })
}

// sweepLimits removes the counters of the users' events. Some keys contain the name and an address.
func (e *Engine) sweepLimits(ctx context.Context, keys []string) error {
	var cmds rueidis.Commands
	for _, key := range keys {
		cmds = append(cmds, e.DB.Client.B().Unlink().Key(key).Build().ToRetryable())
	}
	return reply.FirstError(e.DB.Client.DoMulti(ctx, cmds...))
}

// sweepNotifications removes the notifications that the users have caused for others.
func (e *Engine) sweepNotifications(ctx context.Context, all accounts, users []int64) error {
	actors := slices.Collect(maps.Keys(all))
	for len(users) > 0 {
		n := min(len(users), inboxBatch)
		if err := e.notify.RemoveActors(ctx, actors, users[:n]...); err != nil {
			return err
		}
		if users = users[n:]; len(users) > 0 && !sleep.For(ctx, gap) {
			return ctx.Err()
		}
	}
	return nil
}

// sweepLive removes the posts of the users, and the replies to them, from `live`.
func (e *Engine) sweepLive(ctx context.Context, all accounts) error {
	for start := "-"; ; {
		entries, err := reply.OrEmpty(e.DB.Client.Do(ctx, e.DB.Client.B().Xrange().Key(storage.Live).Start(start).End("+").Count(liveBatch).Build()).AsXRange())
		if err != nil {
			return err
		}
		var ownEntries []string
		for _, entry := range entries {
			author, _ := storage.ParseID(entry.FieldValues["author"])
			to, _ := storage.ParseID(entry.FieldValues["to"])
			if all[author] != "" || all[to] != "" {
				ownEntries = append(ownEntries, entry.ID)
			}
			start = "(" + entry.ID
		}
		if len(ownEntries) > 0 {
			if err := e.DB.Client.Do(ctx, e.DB.Client.B().Xdel().Key(storage.Live).Id(ownEntries...).Build().ToRetryable()).Error(); err != nil {
				return err
			}
		}
		if len(entries) < liveBatch {
			return nil
		}
		if !sleep.For(ctx, gap) {
			return ctx.Err()
		}
	}
}
