package fanout

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/task"
)

const (
	// filledPosts is how many posts a new follow brings to a home timeline.
	filledPosts = 100
	// maxTagsKept is how many of the tags that a user follows are looked at: all.
	maxTagsKept = 500
)

// homeKind is the kind of tasks that make a home timeline agree with a follow:
// "home:<follower>:<followed>".
const homeKind = "home"

// Homes makes home timelines agree with follows, blocks and followed tags.
type Homes struct {
	db
	writer    *writer
	timelines *homeTimelines
	tasks     *task.Engine
	onBlock   func(ctx context.Context, from, to int64) error // nil: nothing
}

// Follow changes a follow by calling change, and makes the follower's home timeline
// agree with it: a new follow brings the latest 100 posts and reposts of the followed
// user; the end of one removes all that this user has written, except posts with a
// tag that the follower follows. It can be repeated. However many processes follow
// and unfollow at once, both agree when all have returned; what a crash cuts short
// is finished by another process. Seven round trips besides change.
func (h *Homes) Follow(ctx context.Context, from, to int64, change func() error) error {
	member := homeMember(from, to)
	if err := h.tasks.Note(ctx, member); err != nil {
		return err
	}
	err := change()
	h.tasks.Run(ctx, member)
	return err
}

// homeMember is the task that makes a home timeline agree with a follow.
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
	for err == nil {
		isPending := false
		if follows {
			err = h.timelines.fill(ctx, from, to)
		} else {
			if isPending, err = h.writer.isPending(ctx, to); err == nil {
				err = h.timelines.clear(ctx, from, to)
			}
		}
		if err != nil {
			break
		}
		// The last one has seen the latest state.
		var again bool
		if again, err = h.timelines.follow(ctx, from, to); err == nil && again == follows {
			if isPending {
				return task.ErrAgain
			}
			return nil
		}
		follows = again
	}
	return fmt.Errorf("social: home timeline of user %d: %w", from, err)
}

// onAny returns those of the ids that are in at least one of the sorted sets. One
// round trip.
func (w *writer) onAny(ctx context.Context, ids []string, sets ...string) (map[string]bool, error) {
	found := map[string]bool{}
	if len(ids) == 0 || len(sets) == 0 {
		return found, nil
	}
	cmds := make(rueidis.Commands, len(sets))
	for i, set := range sets {
		cmds[i] = w.client.B().Zmscore().Key(set).Member(ids...).Build()
	}
	for _, res := range w.client.DoMulti(ctx, cmds...) {
		scores, err := res.ToArray()
		if rediserr.IsWrongType(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, score := range scores {
			if !score.IsNil() {
				found[ids[i]] = true
			}
		}
	}
	return found, nil
}
