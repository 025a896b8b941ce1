package import2009

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/load"
	"retwis/internal/social/storage"
)

// followBatch is how many follows are written together.
const followBatch = 5000

// follows imports the follows in the sets among the keys. The times of follows are unknown.
func (r *run) follows(ctx context.Context, keys []string) error {
	var owners []int64
	for _, key := range keys {
		if uid, field, ok := layout2009.ParseUserKey(key); ok && (field == "following" || field == "followers") {
			owners = append(owners, uid)
		}
	}
	exist, err := r.existing(ctx, owners)
	if err != nil {
		return err
	}
	return storage.AtOnce(len(keys), func(i int) error {
		uid, field, ok := layout2009.ParseUserKey(keys[i])
		if !ok || field != "following" && field != "followers" {
			return nil
		}
		if !exist[uid] {
			r.skip(ctx, keys[i], "there is no user %d", uid)
			return nil
		}
		for members, err := range scan.Set(ctx, r.Source, keys[i], batch) {
			if rediserr.IsWrongType(err) {
				r.skip(ctx, keys[i], "not a set")
				return nil
			}
			if err != nil {
				return err
			}
			if err := r.members(ctx, keys[i], uid, field, members); err != nil {
				return err
			}
		}
		return nil
	})
}

// members imports follows of one set. A follow in a set of followers is also in a set of following,
// unless the old program was interrupted; then the follow is completed.
func (r *run) members(ctx context.Context, key string, uid int64, field string, members []string) error {
	var ids []int64
	for _, member := range members {
		if id, ok := storage.ParseID(member); ok {
			ids = append(ids, id)
		} else {
			r.skip(ctx, key, "%.40q is not an id", member)
		}
	}
	exist, err := r.existing(ctx, ids)
	if err != nil {
		return err
	}
	var follows []load.NewFollow
	var checks rueidis.Commands
	for _, id := range ids {
		follow := load.NewFollow{From: uid, To: id, Time: time.Unix(0, 0)}
		if field == "followers" {
			follow.From, follow.To = id, uid
		}
		switch {
		case id == uid:
			r.skip(ctx, key, "user %d follows themselves", uid)
		case !exist[id]:
			r.skip(ctx, key, "there is no user %d", id)
		default:
			follows = append(follows, follow)
			checks = append(checks, r.Source.B().Sismember().Key(layout2009.UserKey(follow.From, "following")).Member(storage.Itoa(follow.To)).Build())
		}
	}
	if field == "followers" && len(follows) > 0 {
		incomplete := follows[:0]
		for i, res := range r.Source.DoMulti(ctx, checks...) {
			isComplete, err := reply.OrEmpty(res.AsBool())
			if err != nil {
				return err
			}
			if !isComplete {
				r.warn(ctx, "completed a follow that was stored in one direction only", "key", key, "other", follows[i].From)
				incomplete = append(incomplete, follows[i])
			}
		}
		follows = incomplete
	}
	return r.addFollows(ctx, follows)
}

// pendingFollows are follows that are not written yet.
type pendingFollows struct {
	mu  sync.Mutex
	all []load.NewFollow
}

func (r *run) addFollows(ctx context.Context, follows []load.NewFollow) error {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	r.pending.all = append(r.pending.all, follows...)
	if len(r.pending.all) < followBatch {
		return nil
	}
	return r.writeFollows(ctx)
}

// flushFollows writes the pending follows.
func (r *run) flushFollows(ctx context.Context) error {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	return r.writeFollows(ctx)
}

func (r *run) writeFollows(ctx context.Context) error {
	if err := r.loader.AddFollows(ctx, r.pending.all); err != nil {
		return err
	}
	r.followed.Add(int64(len(r.pending.all)))
	r.pending.all = r.pending.all[:0]
	return nil
}
