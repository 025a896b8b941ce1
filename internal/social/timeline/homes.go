package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"retwis/collection"
	"retwis/internal/elapsed"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/watched"

	"github.com/maypok86/otter/v2"
)

// HomeOptions configure Homes. All are required.
type HomeOptions struct {
	DB          storage.Database // of a Cluster
	Lists       *collection.Timelines
	Celebrities *storage.Celebrities
	// Idle is the time without a view after which a home timeline expires.
	Idle time.Duration
}

// Homes reads home timelines. It is safe for concurrent use.
type Homes struct {
	HomeOptions
	renewAfter time.Duration

	renewed *otter.Cache[int64, int64] // when the expiry of a list was last postponed, by reader
	follows *watched.Map[followed]     // by reader
	heads   *watched.Map[*head]        // by author
	builds  chan struct{}              // limits the number of home timelines that are built concurrently
	built   atomic.Int64
}

const (
	// renewEvery is the maximum interval at which views postpone the expiry of a home timeline.
	renewEvery = 24 * time.Hour
	// maxReaders limits the number of readers whose follows are kept in memory: about 2 KB for a
	// reader who follows 200 merged authors. maxHeads limits the number of authors, about 1 KB
	// each.
	maxReaders = 50_000
	maxHeads   = 50_000
	// buildsAtOnce limits the memory for home timelines that are being built.
	buildsAtOnce = 16
	// attempts limits the number of reads of a page whose list has expired.
	attempts = 3
)

// NewHomes returns the home timelines of a Cluster.
func NewHomes(opt HomeOptions) (*Homes, error) {
	t := &Homes{HomeOptions: opt, renewAfter: min(renewEvery, opt.Idle/4), builds: make(chan struct{}, buildsAtOnce)}
	var err [3]error
	t.renewed, err[0] = otter.New(&otter.Options[int64, int64]{MaximumSize: maxReaders})
	t.follows, err[1] = storage.NewMap(opt.DB, watched.Options[followed]{Keys: []string{storage.FollowingPrefix}, Most: maxReaders})
	t.heads, err[2] = storage.NewMap(opt.DB, watched.Options[*head]{Keys: []string{storage.ProfilePrefix}, Most: maxHeads, Lag: watched.Lag})
	if err := errors.Join(err[:]...); err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	// The next reader in this process sees the posts that this process has just written or deleted.
	opt.Celebrities.OnWrite(t.heads.Force)
	return t, nil
}

// Built returns the number of home timelines that this process has built.
func (t *Homes) Built() int64 { return t.built.Load() }

// Newest returns the newest n posts of a home timeline, or, if before is not zero, the newest posts
// with smaller IDs. Unless the context is fresh, a first page takes no round trip as long as
// nothing has changed, except for one a day. A later page takes one round trip, and one more if
// merged authors have older posts than those in memory. Building a home timeline that does not
// exist takes about six.
func (t *Homes) Newest(ctx context.Context, uid, before int64, n int) ([]int64, error) {
	if err := t.renew(ctx, uid); err != nil {
		return nil, err
	}
	part, err := t.list(ctx, uid, before, n)
	for i := 0; err == nil && !part.complete && i < attempts; i++ {
		if err = t.build(ctx, uid); err == nil {
			part, err = t.list(social.WithFresh(ctx), uid, before, n)
		}
	}
	if err != nil {
		return nil, err
	}
	known, err := t.Celebrities.Load(ctx)
	if err != nil {
		return nil, err
	}
	if len(known.First) == 0 {
		return part.ids, nil
	}
	authors, err := t.followed(ctx, uid, known)
	if err != nil || len(authors) == 0 {
		return part.ids, err
	}
	return t.merge(ctx, mergeQuery{part: part, authors: authors, first: known.First, before: before, n: n})
}

// part is a part of the list of a home timeline.
type part struct {
	ids      []int64
	complete bool  // false if the list does not exist, is being built, or has no end mark
	floor    int64 // merged posts with smaller IDs do not belong to the part
}

// list reads a part of a list.
func (t *Homes) list(ctx context.Context, uid, before int64, n int) (part, error) {
	key := storage.HomeKey(uid)
	var ids []int64
	var err error
	if before > 0 {
		ids, err = t.Lists.Select(ctx, key, before, n)
	} else {
		ids, err = reply.OrEmpty(t.DB.Read(ctx, t.Lists.NewestCommand(key, n)).AsIntSlice())
	}
	if err != nil {
		return part{}, err
	}
	full := len(ids) == n
	if last := len(ids) - 1; last >= 0 && ids[last] < 1 {
		sign := ids[last]
		return part{ids: ids[:last:last], complete: sign == 0}, nil
	}
	if full {
		return part{ids: ids, complete: true, floor: ids[n-1]}, nil
	}
	if before == 0 {
		return part{ids: ids}, nil
	}
	// Either the end of a list that was once full, or there is no list.
	b := t.DB.Client.B()
	res := t.DB.Client.DoMulti(ctx, b.Llen().Key(key).Build(), b.Lindex().Key(key).Index(-1).Build())
	length, err := res[0].AsInt64()
	if err != nil {
		return part{}, err
	}
	p := part{ids: ids, complete: length >= storage.TimelineCap}
	if p.complete {
		oldest, err := reply.Text(res[1])
		if err != nil {
			return part{}, err
		}
		p.floor, _ = storage.ParseID(oldest)
	}
	return p, nil
}

// renew postpones the expiry of a home timeline, once a day.
func (t *Homes) renew(ctx context.Context, uid int64) error {
	now := elapsed.Now()
	if last, ok := t.renewed.GetIfPresent(uid); ok && now-last < int64(t.renewAfter) {
		return nil
	}
	t.renewed.Set(uid, now)
	err := t.DB.Client.Do(ctx, t.DB.Client.B().Expire().Key(storage.HomeKey(uid)).Seconds(t.seconds()).Build()).Error()
	if err != nil {
		t.renewed.Invalidate(uid)
	}
	return err
}

// seconds returns Idle in seconds.
func (t *Homes) seconds() int64 { return max(1, int64(t.Idle/time.Second)) }

// followed are the merged authors that a reader follows.
type followed struct {
	authors []int64
	known   *storage.KnownCelebrities
}

// followed returns the merged authors that a reader follows.
func (t *Homes) followed(ctx context.Context, uid int64, known *storage.KnownCelebrities) ([]int64, error) {
	f, err := t.follows.Get(ctx, uid, watched.Ask[followed]{
		Valid: func(_ int64, f followed) bool { return f.known == known },
		Load: watched.Each(func(ctx context.Context, _ *watched.Read[followed]) (followed, error) {
			ids, err := t.following(ctx, uid, known)
			return followed{known: known, authors: slices.DeleteFunc(ids, func(id int64) bool {
				_, isMerged := known.First[id]
				return !isMerged || id == uid
			})}, err
		}),
	})
	return f.authors, err
}

// following reads people that a reader follows, including at least all merged authors among them.
func (t *Homes) following(ctx context.Context, uid int64, known *storage.KnownCelebrities) ([]int64, error) {
	key := storage.FollowingKey(uid)
	b := t.DB.Client.B()
	// The count is read through the client-side cache, so that the server reports changes of the
	// key. The members are not, because there can be very many of them.
	count, err := reply.OrEmpty(t.DB.Read(ctx, b.Zcard().Key(key).Cache()).AsInt64())
	if err != nil || count == 0 {
		return nil, err
	}
	if int64(len(known.First)) < count {
		return t.followedAmong(ctx, key, known)
	}
	members, err := reply.OrEmpty(t.DB.Client.Do(ctx, b.Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice())
	if err != nil {
		return nil, err
	}
	return parseIDs(members), nil
}

// followedAmong returns the merged authors that a reader follows.
func (t *Homes) followedAmong(ctx context.Context, key string, known *storage.KnownCelebrities) ([]int64, error) {
	ids := make([]int64, 0, len(known.First))
	members := make([]string, 0, len(known.First))
	for id := range known.First {
		ids, members = append(ids, id), append(members, storage.Itoa(id))
	}
	scores, err := t.DB.Client.Do(ctx, t.DB.Client.B().Zmscore().Key(key).Member(members...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	all := ids[:0]
	for i, score := range scores {
		if !score.IsNil() {
			all = append(all, ids[i])
		}
	}
	slices.Sort(all)
	return all, nil
}

// parseIDs returns the IDs among members.
func parseIDs(members []string) []int64 {
	ids := make([]int64, 0, len(members))
	for _, member := range members {
		if id, ok := storage.ParseID(member); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
