package fanout

import (
	"context"
	"fmt"

	"retwis/internal/social/task"
)

const (
	// filledPosts is how many posts a new follow brings to a home timeline.
	filledPosts = 100
)

// homeKind is the kind of tasks that finish a follow, or its end:
// "home:<follower>:<followed>".
const homeKind = "home"

// Homes brings posts to home timelines when people follow, and finishes follows, blocks and
// followed tags.
type Homes struct {
	db
	timelines *homeTimelines
	tasks     *task.Engine
	onBlock   func(ctx context.Context, from, to int64) error // nil: nothing
}

// Follow changes a follow by calling change. A new follow brings the latest 100 posts and
// reposts of the followed user to the follower's home timeline; the end of one takes nothing
// off it: see social.Hears. It can be repeated; what a crash cuts short is finished by
// another process.
func (h *Homes) Follow(ctx context.Context, from, to int64, change func() error) error {
	member := homeMember(from, to)
	if err := h.tasks.Note(ctx, member); err != nil {
		return err
	}
	err := change()
	h.tasks.Run(ctx, member)
	return err
}

// homeMember is the task that finishes a follow.
func homeMember(from, to int64) string { return fmt.Sprintf("%s:%d:%d", homeKind, from, to) }

func (h *Homes) homeTask(ctx context.Context, argument string) error {
	from, to, ok := pair(argument)
	if !ok || from == to {
		return nil
	}
	if err := h.follows.Finish(ctx, from, to, h.now()); err != nil {
		return err
	}
	follows, err := h.timelines.follow(ctx, from, to)
	if err == nil && follows {
		err = h.timelines.fill(ctx, from, to)
	}
	if err != nil {
		return fmt.Errorf("social: home timeline of user %d: %w", from, err)
	}
	return nil
}
