package load

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/storage"

	_ "embed"
)

//go:embed count.lua
var countSource string

// countScript can be repeated, like every command of a load.
var countScript = script.New(countSource).Retryable()

// count writes the size of a set of a post to a field of the post; size is zcard or scard.
func (l Loader) count(post int64, set, size, field string) rueidis.Completed {
	return countScript.Command(l.client, []string{storage.PostKey(post), set}, []string{size, field})
}

// NewLike is a like to load.
type NewLike struct {
	Post, User int64
	Time       time.Time
}

// AddLikes loads likes of existing posts, without notifications. Likes of one post should be
// consecutive, so that the likes of the post are counted once.
func (l Loader) AddLikes(ctx context.Context, likes []NewLike) error {
	b := l.client.B()
	now, first := time.Now(), 0
	return l.chunks(ctx, len(likes), 6, func(i int) rueidis.Commands {
		like := likes[i]
		if like.Post != likes[first].Post {
			first = i
		}
		at := float64(like.Time.Unix())
		cmds := rueidis.Commands{
			b.Zadd().Key(storage.LikersKey(like.Post)).ScoreMember().ScoreMember(at, storage.Itoa(like.User)).Build(),
			b.Zadd().Key(storage.LikedKey(like.User)).ScoreMember().ScoreMember(at, storage.Itoa(like.Post)).Build(),
		}
		if i+1 == len(likes) || likes[i+1].Post != like.Post {
			cmds = append(cmds, l.count(like.Post, storage.LikersKey(like.Post), "ZCARD", "likes"))
			cmds = append(cmds, storage.LikesLoaded(l.client, now, like.Post, times(likes[first:i+1]))...)
		}
		return cmds
	})
}

func times(likes []NewLike) []time.Time {
	all := make([]time.Time, len(likes))
	for i, like := range likes {
		all[i] = like.Time
	}
	return all
}
