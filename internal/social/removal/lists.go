package removal

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/sleep"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
)

const (
	// pageSize is how many entries of a list are removed at a time.
	pageSize = 100
	// gap is the pause after each page, in which the server handles other requests.
	gap = 100 * time.Microsecond
)

// removeFromLists removes the entries of a user's lists, together with everything that they lead
// to. It is cheap if the lists are empty.
func (e *Engine) removeFromLists(ctx context.Context, a account, state closed) error {
	if err := e.removeNames(ctx, a, state); err != nil {
		return err
	}
	if err := e.runSteps(ctx, a); err != nil { // first, because one of the steps hides the user
		return err
	}
	for _, list := range []struct {
		prefix string
		remove func(ctx context.Context, a account, members []string) error
	}{
		{storage.ProfilePrefix, e.removePosts},
		{storage.ProfileRepliesPrefix, e.removePosts},
		{storage.ArchivePrefix, e.removePosts},
		{storage.LikedPrefix, e.removeLikes},
		{storage.FollowingPrefix, e.removeFollowing},
		{storage.FollowersPrefix, e.removeFollowers},
		{storage.FollowingTagsPrefix, e.removeTags},
		{storage.BlockedPrefix, e.removeBlocked},
		{storage.BlockersPrefix, e.removeBlockers},
	} {
		if err := e.drain(ctx, a, list.prefix, list.remove); err != nil {
			return err
		}
	}
	return e.unlink(ctx, a.id, ownKeys)
}

// runSteps runs the parts of the deletion that other packages perform.
func (e *Engine) runSteps(ctx context.Context, a account) error {
	for _, step := range e.Steps {
		if err := step.Run(ctx, a.id); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	return nil
}

// removeNames removes a user from the latest users and from the completions. A name that leads to
// another account stays: the user is left from an interrupted registration.
func (e *Engine) removeNames(ctx context.Context, a account, state closed) error {
	owners, err := e.Directory.Owners(ctx, a.name)
	if err != nil {
		return err
	}
	if owner := owners[0].First(); owner != "" && owner != storage.Nobody && owner != storage.Itoa(a.id) {
		return nil
	}
	if err := e.DB.Client.Do(ctx, e.DB.Client.B().Zrem().Key(storage.UsersByTime).Member(a.name).Build().ToRetryable()).Error(); err != nil {
		return err
	}
	if err := e.Names.RemoveName(ctx, search.Name{Username: a.name}); err != nil {
		return err
	}
	if state.display == "" {
		return nil
	}
	return e.Names.RemoveName(ctx, search.Name{Username: a.name, Display: state.display})
}

// drain calls remove with pages of a sorted set of a user, and removes each page from the set,
// until the set is empty. A key of the wrong type counts as empty; a check reports such a key.
func (e *Engine) drain(ctx context.Context, a account, prefix string, remove func(ctx context.Context, a account, members []string) error) error {
	key := storage.Key(prefix, a.id)
	for {
		members, err := reply.OrEmpty(e.DB.Client.Do(ctx, e.DB.Client.B().Zrange().Key(key).Min("0").Max(strconv.Itoa(pageSize-1)).Build()).AsStrSlice())
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		if len(members) == 0 {
			return nil
		}
		if err := remove(ctx, a, members); err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		if err := e.DB.Client.Do(ctx, e.DB.Client.B().Zrem().Key(key).Member(members...).Build().ToRetryable()).Error(); err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		if !sleep.For(ctx, gap) {
			return ctx.Err()
		}
	}
}

// eachID calls do with each member that is an ID. It skips damaged members.
func eachID(members []string, do func(id int64) error) error {
	for _, member := range members {
		id, ok := storage.ParseID(member)
		if !ok {
			continue
		}
		if err := do(id); err != nil {
			return err
		}
	}
	return nil
}

// removePosts deletes posts, replies and reposts. The stub of a post that is still being fanned out
// stays until the sweep.
func (e *Engine) removePosts(ctx context.Context, a account, members []string) error {
	return eachID(members, func(post int64) error {
		if _, err := e.FanOut.Deletions.Erase(ctx, post, a.id); err != nil {
			return err
		}
		if !sleep.For(ctx, gap) {
			return ctx.Err()
		}
		return nil
	})
}

func (e *Engine) removeLikes(ctx context.Context, a account, members []string) error {
	return eachID(members, func(post int64) error {
		_, err := e.likes.Unlike(ctx, post, a.id, e.Now())
		return err
	})
}

func (e *Engine) removeFollowing(ctx context.Context, a account, members []string) error {
	return eachID(members, func(other int64) error {
		defer e.Names.Rank(other)
		if err := e.dropMirror(ctx, a, storage.FollowersKey(other)); err != nil {
			return err
		}
		_, err := e.follows.Remove(ctx, a.id, other)
		return err
	})
}

// removeFollowers ends the follows of the user's followers; drain removes the other direction.
func (e *Engine) removeFollowers(ctx context.Context, a account, members []string) error {
	var keys []string
	err := eachID(members, func(other int64) error {
		keys = append(keys, storage.FollowingKey(other))
		return nil
	})
	if err != nil {
		return err
	}
	return e.removeFrom(ctx, keys, storage.Itoa(a.id))
}

func (e *Engine) removeTags(ctx context.Context, a account, tags []string) error {
	keys := make([]string, len(tags))
	for i, tag := range tags {
		keys[i] = storage.TagFollowersKey(tag)
	}
	return e.removeFrom(ctx, keys, storage.Itoa(a.id))
}

// removeFrom removes members from sorted sets. One round trip. It skips a key of the wrong type; a
// check reports such a key.
func (e *Engine) removeFrom(ctx context.Context, keys []string, members ...string) error {
	cmds := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		cmds[i] = e.DB.Client.B().Zrem().Key(key).Member(members...).Build().ToRetryable()
	}
	return reply.Written(e.DB.Client.DoMulti(ctx, cmds...)...)
}

func (e *Engine) removeBlocked(ctx context.Context, a account, members []string) error {
	return eachID(members, func(other int64) error {
		if err := e.dropMirror(ctx, a, storage.BlockersKey(other)); err != nil {
			return err
		}
		_, err := e.relations.Unblock(ctx, a.id, other, e.Now())
		return err
	})
}

func (e *Engine) removeBlockers(ctx context.Context, a account, members []string) error {
	return eachID(members, func(other int64) error {
		_, err := e.relations.Unblock(ctx, other, a.id, e.Now())
		return err
	})
}

// dropMirror removes a user from the mirror of one of their lists, before the list itself loses the
// entry: on a Cluster a process can die between the two writes, and only the list leads to the
// mirror.
func (e *Engine) dropMirror(ctx context.Context, a account, mirror string) error {
	return e.removeFrom(ctx, []string{mirror}, storage.Itoa(a.id))
}
