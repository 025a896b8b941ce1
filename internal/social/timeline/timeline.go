package timeline

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/reply"
	"retwis/internal/social"

	"retwis/internal/social/storage"

	"retwis/internal/watched"
)

// Page is one page of a timeline: the IDs of its posts, newest first, and the cursor of the next
// page, which is the ID of the last post seen, or 0 at the end. A post that arrives while a viewer
// reads page by page causes no other post to be repeated or skipped.
type Page struct {
	IDs  []int64
	Next int64
}

// Timelines reads the timelines.
type Timelines struct {
	db    storage.Database
	lists *collection.Timelines
	homes *Homes           // nil on a single server
	saw   func(post int64) // called with the newest post of each page

	public *watched.Recent[int64] // the newest posts of the public timeline; nil if not in memory
}

// Options configure Timelines.
type Options struct {
	Lists *collection.Timelines
	Homes *Homes           // on a Cluster
	Saw   func(post int64) // called with the newest post of each page
}

// NewTimelines returns the Timelines of a database.
func NewTimelines(db storage.Database, opt Options) *Timelines {
	t := &Timelines{db: db, lists: opt.Lists, homes: opt.Homes, saw: opt.Saw}
	if db.Link.Watched() {
		t.public = watched.NewRecent(db.Link, t.readPublic)
	}
	return t
}

// Home returns a page of a user's home timeline: the user's own posts and those of followed people.
// before is the cursor of the page, 0 for the first page, which comes from memory if possible. At
// most one round trip; on a Cluster see Homes.
func (t *Timelines) Home(ctx context.Context, uid, before int64, limit int) (Page, error) {
	if t.homes != nil {
		limit = social.PageSize(limit)
		ids, err := t.homes.Newest(ctx, uid, before, limit+1)
		return t.page(ids, err, limit)
	}
	return t.timeline(ctx, storage.HomeKey(uid), before, limit)
}

// Everybody returns a page of the public timeline: the posts of all users; see Home. If the server
// reports changes, the first page is at most a second old but includes posts published through this
// process; while the server does not answer, the page is at most a minute old.
func (t *Timelines) Everybody(ctx context.Context, before int64, limit int) (Page, error) {
	if before > 0 || t.public == nil || social.IsFresh(ctx) {
		return t.timeline(ctx, storage.Timeline, before, limit)
	}
	ids, err := t.public.Get(ctx)
	limit = social.PageSize(limit)
	return t.page(ids[:min(len(ids), limit+1)], err, limit)
}

// newestPublic is the number of posts of the public timeline that are kept in memory.
const newestPublic = social.MaxPage + 1

// readPublic reads the posts to keep in memory.
func (t *Timelines) readPublic(ctx context.Context) ([]int64, error) {
	return reply.OrEmpty(t.db.Client.Do(ctx, rueidis.Completed(t.lists.NewestCommand(storage.Timeline, newestPublic))).AsIntSlice())
}

// Published records that the public timeline has a new post, so that the post is on the first page
// immediately.
func (t *Timelines) Published(post int64) {
	t.public.Change(func(ids []int64) []int64 { return insertID(ids, post, newestPublic) })
}

// Removed records that a post is on no timeline any more.
func (t *Timelines) Removed(post int64) {
	t.public.Change(func(ids []int64) []int64 { return remove(ids, post) })
}

// Profile returns a page of all posts and reposts of a user, however old, without replies, followed
// by the imported posts, including the user's replies to themselves; see Home.
func (t *Timelines) Profile(ctx context.Context, uid, before int64, limit int) (Page, error) {
	limit = social.PageSize(limit)
	cmds := []rueidis.Cacheable{t.byIDCommand(storage.ProfileKey(uid), before, limit), t.byIDCommand(storage.ArchiveKey(uid), 0, limit)}
	if before > 0 {
		ctx = social.WithFresh(ctx) // later pages are not worth caching
		cmds = append(cmds, t.db.Client.B().Hexists().Key(storage.PostKey(before)).Field("source").Cache())
	}
	res := t.db.ReadMany(ctx, cmds...)
	if before > 0 {
		if isImported, err := res[2].AsBool(); err == nil && isImported {
			return t.ByID(ctx, storage.ArchiveKey(uid), before, limit)
		}
	}
	ids, err := reply.OrEmpty(res[0].AsIntSlice())
	imported, err2 := reply.OrEmpty(res[1].AsIntSlice())
	ids = append(slices.Clip(ids), imported...)
	return t.page(ids[:min(len(ids), limit+1)], errors.Join(err, err2), limit)
}

// Replies returns a page of all replies of a user, however old; see Home.
func (t *Timelines) Replies(ctx context.Context, uid, before int64, limit int) (Page, error) {
	return t.ByID(ctx, storage.ProfileRepliesKey(uid), before, limit)
}

// Profiles returns a page of the merged posts and reposts of the given users; see Profile.
func (t *Timelines) Profiles(ctx context.Context, uids []int64, before int64, limit int) (Page, error) {
	limit = social.PageSize(limit)
	perUser, err := t.eachProfile(ctx, uids, before, limit)
	if err != nil || len(uids) == 0 {
		return Page{}, err
	}
	all := slices.Concat(perUser...)
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	return t.page(all[:min(len(all), limit+1)], nil, limit)
}

// eachProfile returns up to limit+1 posts and reposts of each user. At most one round trip.
func (t *Timelines) eachProfile(ctx context.Context, uids []int64, before int64, limit int) ([][]int64, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	cmds := make([]rueidis.Cacheable, len(uids))
	for i, uid := range uids {
		cmds[i] = t.byIDCommand(storage.ProfileKey(uid), before, limit)
	}
	if before > 0 {
		ctx = social.WithFresh(ctx) // later pages are not worth caching
	}
	perUser := make([][]int64, len(uids))
	for i, res := range t.db.ReadMany(ctx, cmds...) {
		var err error
		if perUser[i], err = reply.OrEmpty(res.AsIntSlice()); err != nil {
			return nil, fmt.Errorf("social: read the posts of users: %w", err)
		}
	}
	return perUser, nil
}

// ByID returns a page of a sorted set of posts that is scored by ID.
func (t *Timelines) ByID(ctx context.Context, set string, before int64, limit int) (Page, error) {
	limit = social.PageSize(limit)
	cmd := t.byIDCommand(set, before, limit)
	var res rueidis.RedisResult
	if before > 0 {
		res = t.db.Client.Do(ctx, rueidis.Completed(cmd))
	} else {
		res = t.db.Read(ctx, cmd)
	}
	ids, err := reply.OrEmpty(res.AsIntSlice())
	return t.page(ids, err, limit)
}

// byIDCommand returns the command that reads a page of ByID, and one more post.
func (t *Timelines) byIDCommand(set string, before int64, limit int) rueidis.Cacheable {
	from := "+inf"
	if before > 0 {
		from = "(" + storage.Itoa(before)
	}
	return t.db.Client.B().Zrevrangebyscore().Key(set).Max(from).Min("-inf").Limit(0, int64(limit+1)).Cache()
}

// timeline returns a page of a list of posts.
func (t *Timelines) timeline(ctx context.Context, list string, before int64, limit int) (Page, error) {
	limit = social.PageSize(limit)
	var ids []int64
	var err error
	if before > 0 {
		ids, err = t.lists.Select(ctx, list, before, limit+1)
	} else {
		ids, err = reply.OrEmpty(t.db.Read(ctx, t.lists.NewestCommand(list, limit+1)).AsIntSlice())
	}
	return t.page(ids, err, limit)
}

// page makes a page from ids, which has one ID more than the page if another page follows.
func (t *Timelines) page(ids []int64, err error, limit int) (Page, error) {
	if err != nil {
		return Page{}, fmt.Errorf("social: read a timeline: %w", err)
	}
	if len(ids) > 0 {
		t.saw(ids[0])
	}
	if len(ids) <= limit {
		return Page{IDs: ids}, nil
	}
	return Page{IDs: ids[:limit], Next: ids[limit-1]}, nil
}

// insertID inserts id into ids, which are sorted largest first, and returns the largest size of
// them.
func insertID(ids []int64, id int64, size int) []int64 {
	i, found := slices.BinarySearchFunc(ids, id, func(a, b int64) int { return int(b - a) })
	if found {
		return ids
	}
	ids = slices.Insert(slices.Clip(ids), i, id)
	return ids[:min(len(ids), size)]
}

// remove returns items without an item.
func remove[T comparable](items []T, item T) []T {
	return slices.DeleteFunc(slices.Clone(items), func(other T) bool { return other == item })
}
