// Package home reads home timelines on a Cluster, where they differ from those of a
// single server in two ways:
//
//   - Authors with very many followers (storage.Celebrities) do not put their posts on the
//     home timelines of those. A page is the list of the reader merged with the latest
//     posts of such authors that the reader follows. Both are in memory, decoded, as long
//     as the server reports no change: an author's posts are read again at most once a
//     second.
//   - A home timeline that nobody views expires. A post is put only on home timelines
//     that exist; the next view of one that does not makes it again, within the request,
//     from the posts of the people that the reader follows.
//
// A list `posts:<uid>` ends with 0 once it is complete, as long as there is room: it then
// exists although nothing is on it. While it is being made, it ends with a negative
// number. One without an end is completed when it is read: it comes from a single server.
package home

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/elapsed"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/watched"
)

// Options are the settings of Timelines. All are required.
type Options struct {
	DB          storage.Database // a Cluster
	Lists       *collection.Timelines
	Celebrities *storage.Celebrities
	// Idle is after which time without a view a home timeline expires.
	Idle time.Duration
}

// Timelines reads home timelines. It is safe for concurrent use.
type Timelines struct {
	Options
	renewAfter time.Duration

	readers *otter.Cache[int64, *reader]
	authors sync.Map      // id → *author; as many as there are merged authors at most
	builds  chan struct{} // bounds how many home timelines are made at once
	built   atomic.Int64
}

const (
	// renewEvery is how often a view postpones the end of a home timeline.
	renewEvery = 24 * time.Hour
	// maxReaders bounds whose follows are kept in memory: about 2 KB for a reader who
	// follows 200 merged authors. An author takes 1 KB.
	maxReaders = 50_000
	// buildsAtOnce bounds the memory of home timelines that are being made.
	buildsAtOnce = 16
	// attempts bounds how often a page is read again because its list has expired.
	attempts = 3
)

// New returns the home timelines of a Cluster.
func New(opt Options) (*Timelines, error) {
	readers, err := otter.New(&otter.Options[int64, *reader]{MaximumSize: maxReaders})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	t := &Timelines{
		Options: opt, renewAfter: min(renewEvery, opt.Idle/4),
		readers: readers, builds: make(chan struct{}, buildsAtOnce),
	}
	opt.Celebrities.OnWrite(t.wrote)
	return t, nil
}

// Built returns how many home timelines this process has made.
func (t *Timelines) Built() int64 { return t.built.Load() }

// Changed notes that a key has changed, of a prefix and a user. It does not wait. A nil
// *Timelines ignores it.
func (t *Timelines) Changed(prefix string, uid int64) {
	if t == nil {
		return
	}
	switch prefix {
	case layout.FollowingPrefix:
		if r, ok := t.readers.GetEntryQuietly(uid); ok {
			r.Value.followed.Changed()
		}
	case layout.ProfilePrefix:
		if a, ok := t.authors.Load(uid); ok {
			a.(*author).head.Changed()
		}
	}
}

// wrote makes the next reader in this process see the latest posts of an author: this
// process has just written one, or deleted it.
func (t *Timelines) wrote(uid int64) {
	if a, ok := t.authors.Load(uid); ok {
		a.(*author).head.Force()
	}
}

// Newest returns the newest n posts of a home timeline, those below before where it is
// not zero. fresh bypasses all caches. Without fresh it takes no round trip for a
// first page as long as nothing has changed, except for one a day; one for a later page,
// and one more where authors who are merged have older posts than those in memory. A
// home timeline that does not exist takes about six.
func (t *Timelines) Newest(ctx context.Context, uid, before int64, n int, fresh bool) ([]int64, error) {
	r := t.reader(uid)
	if err := t.renew(ctx, r, uid); err != nil {
		return nil, err
	}
	part, err := t.list(ctx, uid, before, n, fresh)
	for i := 0; err == nil && !part.complete && i < attempts; i++ {
		if err = t.build(ctx, uid); err == nil {
			part, err = t.list(ctx, uid, before, n, true)
		}
	}
	if err != nil {
		return nil, err
	}
	known, err := t.Celebrities.Load(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if len(known.First) == 0 {
		return part.ids, nil
	}
	authors, err := t.followed(ctx, r, uid, known, fresh)
	if err != nil || len(authors) == 0 {
		return part.ids, err
	}
	return t.merge(ctx, merged{part: part, authors: authors, first: known.First, before: before, n: n}, fresh)
}

// part is a part of the list of a home timeline.
type part struct {
	ids      []int64
	complete bool  // false: it does not exist, is being made, or has no end
	floor    int64 // older posts of other authors do not belong here
}

// list reads a part of a list.
func (t *Timelines) list(ctx context.Context, uid, before int64, n int, fresh bool) (part, error) {
	key := layout.HomeKey(uid)
	var ids []int64
	var err error
	if before > 0 {
		ids, err = t.Lists.Select(ctx, key, before, n)
	} else {
		ids, err = t.read(ctx, t.Lists.NewestCommand(key, n), fresh).AsIntSlice()
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
	// The end of a list that was full once, or there is no list.
	b := t.DB.Client.B()
	res := t.DB.Client.DoMulti(ctx, b.Llen().Key(key).Build(), b.Lindex().Key(key).Index(-1).Build())
	length, err := res[0].AsInt64()
	if err != nil {
		return part{}, err
	}
	p := part{ids: ids, complete: length >= layout.TimelineCap}
	if p.complete {
		oldest, err := reply.Text(res[1])
		if err != nil {
			return part{}, err
		}
		p.floor, _ = layout.ParseID(oldest)
	}
	return p, nil
}

// read answers a command from memory, unless fresh.
func (t *Timelines) read(ctx context.Context, cmd rueidis.Cacheable, fresh bool) rueidis.RedisResult {
	if fresh {
		ctx = social.WithFresh(ctx)
	}
	return t.DB.Read(ctx, cmd)
}

// renew postpones the end of a home timeline, once a day.
func (t *Timelines) renew(ctx context.Context, r *reader, uid int64) error {
	now := elapsed.Now()
	last := r.renewed.Load()
	if last != 0 && now-last < int64(t.renewAfter) || !r.renewed.CompareAndSwap(last, now) {
		return nil
	}
	err := t.DB.Client.Do(ctx, t.DB.Client.B().Expire().Key(layout.HomeKey(uid)).Seconds(t.seconds()).Build()).Error()
	if err != nil {
		r.renewed.Store(0)
	}
	return err
}

func (t *Timelines) seconds() int64 { return max(1, int64(t.Idle/time.Second)) }

// reader is what is known of a user who reads.
type reader struct {
	renewed  atomic.Int64 // when this process last postponed the end of their list
	followed watched.Cell[followed]
}

// followed are the merged authors that a reader follows.
type followed struct {
	authors []*author
	known   *storage.KnownCelebrities
}

func (t *Timelines) reader(uid int64) *reader {
	r, ok := t.readers.GetIfPresent(uid)
	if !ok {
		// It is there before anything is read, so that no change is missed meanwhile.
		r, _ = t.readers.ComputeIfAbsent(uid, func() (*reader, bool) { return new(reader), false })
	}
	return r
}

// followed returns the merged authors that a reader follows.
func (t *Timelines) followed(ctx context.Context, r *reader, uid int64, known *storage.KnownCelebrities, fresh bool) ([]*author, error) {
	if f, ok := r.followed.Get(t.DB.Link, 0); ok && !fresh && f.known == known {
		return f.authors, nil
	}
	stamp := r.followed.Begin(t.DB.Link, !fresh)
	ids, err := t.following(ctx, uid, known, fresh)
	if err != nil {
		return nil, err
	}
	f := followed{known: known}
	for _, id := range ids {
		if _, ok := known.First[id]; ok && id != uid {
			f.authors = append(f.authors, t.author(id))
		}
	}
	if !fresh {
		r.followed.Put(f, stamp)
	}
	return f.authors, nil
}

// following reads the people that a reader follows: at least all merged authors.
func (t *Timelines) following(ctx context.Context, uid int64, known *storage.KnownCelebrities, fresh bool) ([]int64, error) {
	key := layout.FollowingKey(uid)
	b := t.DB.Client.B()
	// The server reports changes of a key that was read through the client's memory.
	// The members are read past it: there can be very many.
	count, err := reply.OrEmpty(t.read(ctx, b.Zcard().Key(key).Cache(), fresh).AsInt64())
	if err != nil || count == 0 {
		return nil, err
	}
	if int64(len(known.First)) < count {
		return t.among(ctx, key, known)
	}
	members, err := t.DB.Client.Do(ctx, b.Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	return parseIDs(members), nil
}

// among asks for each merged author whether the reader follows them.
func (t *Timelines) among(ctx context.Context, key string, known *storage.KnownCelebrities) ([]int64, error) {
	ids := make([]int64, 0, len(known.First))
	members := make([]string, 0, len(known.First))
	for id := range known.First {
		ids, members = append(ids, id), append(members, layout.Itoa(id))
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

func parseIDs(members []string) []int64 {
	ids := make([]int64, 0, len(members))
	for _, member := range members {
		if id, ok := layout.ParseID(member); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
