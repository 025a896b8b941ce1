package posts

import (
	"context"
	"fmt"

	"retwis/internal/social/storage"
)

const (
	// filledPosts is the maximum number of posts that a new follow adds to a home timeline.
	filledPosts = 100
)

// homeKind is the kind of tasks that finish a follow or an unfollow: "home:<follower>:<followed>".
const homeKind = "home"

// Homes adds posts to home timelines when people follow, and finishes follows, blocks and followed
// tags.
type Homes struct {
	db
	timelines *homeTimelines
	relations storage.Relations
	onBlock   func(ctx context.Context, from, to int64) error // may be nil
}

// Follow starts a follow by calling put, and adds the latest 100 posts and reposts of the followed
// user to the follower's home timeline. Follow can be repeated. After a crash, another process
// completes it.
func (h *Homes) Follow(ctx context.Context, from, to int64, put func() error) error {
	return h.tasks.Do(ctx, homeMember(from, to), ignoreContext(put), func(ctx context.Context) error { return h.timelines.fill(ctx, from, to) })
}

// Unfollow ends a follow by calling remove. It removes nothing from the home timeline; see
// social.BelongsOnHome. Unfollow can be repeated. On a Cluster it is a task, which another process
// completes after a crash. On a single server it is one script: a task would take 1.86 times the
// CPU time of the web process and the server (0.52 ms for the whole request).
func (h *Homes) Unfollow(ctx context.Context, from, to int64, remove func() error) error {
	if !h.cluster {
		return remove()
	}
	return h.tasks.Do(ctx, homeMember(from, to), ignoreContext(remove), func(context.Context) error { return nil })
}

// ignoreContext adapts a function that needs no context.
func ignoreContext(do func() error) func(context.Context) error {
	return func(context.Context) error { return do() }
}

// homeMember returns the task that finishes a follow or an unfollow.
func homeMember(from, to int64) string { return fmt.Sprintf("%s:%d:%d", homeKind, from, to) }

func (h *Homes) homeTask(ctx context.Context, argument string) error {
	from, to, ok := parsePair(argument)
	if !ok || from == to {
		return nil
	}
	if err := h.follows.Finish(ctx, from, to, h.now()); err != nil {
		return err
	}
	follows, err := h.timelines.isFollowing(ctx, from, to)
	if err == nil && follows {
		err = h.timelines.fill(ctx, from, to)
	}
	if err != nil {
		return fmt.Errorf("social: home timeline of user %d: %w", from, err)
	}
	return nil
}
