package fanout

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"retwis/internal/social/layout"
	"retwis/internal/social/mirror"
)

// What a task can copy from the key that is authoritative to the one that mirrors it:
// they can be on different servers, so a process can die between its two writes.
const (
	blockKind = "block" // "block:<user>:<other>"; a block ends the follows too
	likeKind  = "like"  // "like:<post>:<user>"
)

// Block makes one user block another by calling change, and makes what follows from it
// agree: the other direction, and while the block lasts neither follows the other. It can
// be repeated; what a crash cuts short is finished by another process.
func (e *Engine) Block(ctx context.Context, from, to int64, change func() error) error {
	return e.mirrored(ctx, blockKind, from, layout.Itoa(to), change)
}

// Unblock ends a block by calling change; see Block. If the block has not ended the follows
// yet, because a process failed or died, they end before: without the block nobody knows
// that it is left to do.
func (e *Engine) Unblock(ctx context.Context, from, to int64, change func() error) error {
	return e.mirrored(ctx, blockKind, from, layout.Itoa(to), func() error {
		if err := e.finishBlock(ctx, from, to); err != nil {
			return err
		}
		return change()
	})
}

// Like changes a like on a Cluster, and the user's own list of likes; see Block.
func (e *Engine) Like(ctx context.Context, post, user int64, change func() error) error {
	return e.mirrored(ctx, likeKind, post, layout.Itoa(user), change)
}

func (e *Engine) mirrored(ctx context.Context, kind string, id int64, other string, change func() error) error {
	member := fmt.Sprintf("%s:%d:%s", kind, id, other)
	if err := e.tasks.Note(ctx, member); err != nil {
		return err
	}
	err := change()
	e.tasks.Run(ctx, member)
	return err
}

// pair reads the argument of a task that is two ids.
func pair(argument string) (one, two int64, ok bool) {
	first, second, _ := strings.Cut(argument, ":")
	one, isOne := layout.ParseID(first)
	two, isTwo := layout.ParseID(second)
	return one, two, isOne && isTwo
}

func (e *Engine) likeTask(ctx context.Context, argument string) error {
	post, user, ok := pair(argument)
	if !ok {
		return nil
	}
	return mirror.Copy(ctx, e.writer.client,
		mirror.Entry{Key: layout.LikersKey(post), Member: layout.Itoa(user)},
		mirror.Entry{Key: layout.LikedKey(user), Member: layout.Itoa(post)})
}

func (e *Engine) blockTask(ctx context.Context, argument string) error {
	from, to, ok := pair(argument)
	if !ok || from == to {
		return nil
	}
	block := blockOf(from, to)
	if err := mirror.Copy(ctx, e.writer.client, block, mirror.Entry{Key: layout.BlockersKey(to), Member: layout.Itoa(from)}); err != nil {
		return err
	}
	until, err := e.blockedUntil(ctx, from, to)
	if err != nil || until == 0 {
		return err
	}
	// Also where the block has ended since another process began this.
	return e.endFollows(ctx, from, to, until > float64(e.writer.now().Unix()))
}

// finishBlock does what the task of a block has left, if the block lasts.
func (e *Engine) finishBlock(ctx context.Context, from, to int64) error {
	until, err := e.blockedUntil(ctx, from, to)
	if err != nil || until <= float64(e.writer.now().Unix()) {
		return err
	}
	one, err := e.writer.follow(ctx, from, to)
	if err != nil {
		return err
	}
	two, err := e.writer.follow(ctx, to, from)
	if err != nil || !one && !two {
		return err
	}
	return e.endFollows(ctx, from, to, true)
}

// blockOf is the authoritative entry of a block.
func blockOf(from, to int64) mirror.Entry {
	return mirror.Entry{Key: layout.BlockedKey(from), Member: layout.Itoa(to)}
}

// blockedUntil returns when a block ends, which can be in the past; 0 for none.
func (e *Engine) blockedUntil(ctx context.Context, from, to int64) (float64, error) {
	score, err := mirror.Score(ctx, e.writer.client, blockOf(from, to))
	if err != nil || score == "" {
		return 0, err
	}
	return strconv.ParseFloat(score, 64)
}

// endFollows ends the follows between two users while a block lasts, and makes their home
// timelines agree with what they follow. The timelines have tasks of their own, noted
// before: they wait for a post that is on its way, longer than a block may last.
func (e *Engine) endFollows(ctx context.Context, from, to int64, lasts bool) error {
	members := []string{fmt.Sprintf("%s:%d:%d", homeKind, from, to), fmt.Sprintf("%s:%d:%d", homeKind, to, from)}
	for _, member := range members {
		if err := e.tasks.Note(ctx, member); err != nil {
			return err
		}
	}
	if lasts {
		if err := e.writer.follows.Remove(ctx, from, to); err != nil {
			return err
		}
		if err := e.writer.follows.Remove(ctx, to, from); err != nil {
			return err
		}
	}
	for _, member := range members {
		e.tasks.Run(ctx, member)
	}
	return nil
}
