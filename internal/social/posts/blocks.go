package posts

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social/storage"
)

// Kinds of tasks that copy an authoritative key to its mirror. The two keys can be on different
// servers, so a process can die between the two writes.
const (
	blockKind      = "block"       // "block:<user>:<other>"; a block also ends the follows
	timedBlockKind = "timed_block" // "timed_block:<user>:<other>:<end in Unix seconds>"
	likeKind       = "like"        // "like:<post>:<user>"
)

// Block calls change to make one user block another until a time, or indefinitely if the time is
// zero. It then updates everything that depends on the block: the reverse index, the follows in
// both directions, and the lists on which each user has the other. Block can be repeated. After a
// crash, another process completes it, even if the block has ended by then.
func (h *Homes) Block(ctx context.Context, from, to int64, until time.Time, change func() error) error {
	if until.IsZero() {
		return h.mirror(ctx, blockKind, from, storage.Itoa(to), change)
	}
	return h.mirror(ctx, timedBlockKind, from, storage.Itoa(to)+":"+storage.Seconds(until), change)
}

// Unblock ends a block by calling change; see Block. If a process failed or died before it ended
// the follows, Unblock ends them first, because nothing shows that they must end once the block is
// gone.
func (h *Homes) Unblock(ctx context.Context, from, to int64, change func() error) error {
	return h.mirror(ctx, blockKind, from, storage.Itoa(to), func() error {
		if err := h.endRemaining(ctx, from, to); err != nil {
			return err
		}
		return change()
	})
}

// Like calls change to change a like on a Cluster, and mirrors the like to the user's own list of
// likes; see Block.
func (h *Homes) Like(ctx context.Context, post, user int64, change func() error) error {
	return h.mirror(ctx, likeKind, post, storage.Itoa(user), change)
}

// mirror calls change within a task, which copies the changed key to its mirror.
func (h *Homes) mirror(ctx context.Context, kind string, id int64, other string, change func() error) error {
	return h.tasks.Do(ctx, fmt.Sprintf("%s:%d:%s", kind, id, other), ignoreContext(change), nil)
}

// parsePair parses a task argument that consists of two IDs.
func parsePair(argument string) (first, second int64, ok bool) {
	left, right, _ := strings.Cut(argument, ":")
	first, isFirst := storage.ParseID(left)
	second, isSecond := storage.ParseID(right)
	return first, second, isFirst && isSecond
}

func (h *Homes) likeTask(ctx context.Context, argument string) error {
	post, user, ok := parsePair(argument)
	if !ok {
		return nil
	}
	err := storage.CopyEntry(ctx, h.client,
		storage.SetEntry{Key: storage.LikersKey(post), Member: storage.Itoa(user)},
		storage.SetEntry{Key: storage.LikedKey(user), Member: storage.Itoa(post)})
	if err != nil {
		return err
	}
	likes, err := storage.LikesOfWeek(ctx, h.client, h.now(), post)
	if err != nil {
		return err
	}
	return storage.PutLikesOfWeek(ctx, h.client, []int64{post}, likes)
}

func (h *Homes) blockTask(ctx context.Context, argument string) error {
	from, to, ok := parsePair(argument)
	if !ok || from == to {
		return nil
	}
	return h.finishBlock(ctx, from, to, 0)
}

func (h *Homes) timedBlockTask(ctx context.Context, argument string) error {
	users, end := argument, ""
	if i := strings.LastIndexByte(argument, ':'); i >= 0 {
		users, end = argument[:i], argument[i+1:]
	}
	from, to, ok := parsePair(users)
	until, err := strconv.ParseInt(end, 10, 64)
	if !ok || err != nil || from == to {
		return nil
	}
	return h.finishBlock(ctx, from, to, float64(until))
}

// finishBlock applies the consequences of a block that is stored, or that was stored until it ended
// at end. A block that has ended is removed.
func (h *Homes) finishBlock(ctx context.Context, from, to int64, end float64) error {
	if err := h.relations.MirrorBlock(ctx, from, to, h.now()); err != nil {
		return err
	}
	until, err := h.blockedUntil(ctx, from, to)
	if err != nil {
		return err
	}
	if until == 0 && end <= float64(h.now().Unix()) {
		until = end
	}
	if until == 0 {
		return nil
	}
	if err := h.endFollows(ctx, from, to, until); err != nil {
		return err
	}
	return h.endOthers(ctx, from, to)
}

// endOthers ends everything other than follows that a block ends.
func (h *Homes) endOthers(ctx context.Context, from, to int64) error {
	if h.onBlock == nil {
		return nil
	}
	return h.onBlock(ctx, from, to)
}

// endRemaining ends everything that a block ends, as far as the task of the block has not done so.
func (h *Homes) endRemaining(ctx context.Context, from, to int64) error {
	until, err := h.blockedUntil(ctx, from, to)
	if err != nil || until == 0 {
		return err
	}
	if err := h.endOthers(ctx, from, to); err != nil {
		return err
	}
	for _, follow := range [][2]int64{{from, to}, {to, from}} {
		since, err := h.timelines.followedSince(ctx, follow[0], follow[1])
		if err != nil {
			return err
		}
		if since < until {
			return h.endFollows(ctx, from, to, until)
		}
	}
	return nil
}

// blockOf returns the authoritative entry of a block.
func blockOf(from, to int64) storage.SetEntry {
	return storage.SetEntry{Key: storage.BlockedKey(from), Member: storage.Itoa(to)}
}

// blockedUntil returns the time at which a block ends, which may be in the past, or 0 if there is
// no block.
func (h *Homes) blockedUntil(ctx context.Context, from, to int64) (float64, error) {
	score, err := storage.EntryScore(ctx, h.client, blockOf(from, to))
	if err != nil || score == "" {
		return 0, err
	}
	return strconv.ParseFloat(score, 64)
}

// endFollows ends the follows between two users that began before the end of a block. Neither user
// can follow the other during the block, so a later follow began after the block, and stays.
// endFollows first records a task for each follow.
func (h *Homes) endFollows(ctx context.Context, from, to int64, until float64) error {
	members := []string{homeMember(from, to), homeMember(to, from)}
	if err := h.tasks.Note(ctx, members...); err != nil {
		return err
	}
	for _, follow := range [][2]int64{{from, to}, {to, from}} {
		since, err := h.timelines.followedSince(ctx, follow[0], follow[1])
		if err != nil {
			return err
		}
		if since >= until && !math.IsInf(since, 1) {
			continue
		}
		if _, err := h.follows.Remove(ctx, follow[0], follow[1]); err != nil {
			return err
		}
	}
	for _, member := range members {
		h.tasks.Run(ctx, member)
	}
	return nil
}
