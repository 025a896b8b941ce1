package people

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/posts"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// ErrBlocked reports that one of two users has blocked the other.
var ErrBlocked = storage.ErrBlocked

// Follows lets users follow each other, and lists their followers.
type Follows struct {
	Options
	store  storage.Follows
	common *commons // nil: not cached
}

// Options configure Follows and Relations; all are required.
type Options struct {
	timeline.Parts
	Homes   *posts.Homes
	Notices *notify.Service
	Names   *search.CompletionIndex
}

// NewFollows returns the Follows of a database.
func NewFollows(opt Options) (*Follows, error) {
	f := &Follows{Options: opt, store: storage.NewFollows(opt.DB.Client)}
	if opt.DB.Link.Watched() {
		var err error
		if f.common, err = newCommons(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Follow makes one user follow another: the latest 100 posts and reposts of the other, and all from
// now on, appear on the follower's home timeline. Repeating the call changes nothing, not even the
// time of the follow. It returns ErrSelfFollow if both are the same user, ErrNotFound if the user
// does not exist or is suspended, and ErrBlocked if either has blocked the other. About ten round
// trips, more on a Cluster; see posts.Homes.Follow.
func (f *Follows) Follow(ctx context.Context, from, to social.User) error {
	if from.ID == to.ID {
		return social.ErrSelfFollow
	}
	rec, err := f.Users.Record(ctx, to.ID)
	if err != nil {
		return err
	}
	if rec.Standing.Hidden() {
		return social.ErrNotFound
	}
	defer f.common.changed(from.ID, to.ID)
	isNew := false
	err = f.Homes.Follow(ctx, from.ID, to.ID, func() (err error) {
		isNew, err = f.store.Put(ctx, from.ID, to.ID, f.Now())
		return err
	})
	if err == nil && isNew {
		f.Names.Rank(to.ID)
		// A notification may be left from an earlier follow, for example one that a block ended.
		f.Notices.Unnotify(ctx, to.ID, notify.Follow, from.ID, 0, f.Now())
		f.Notices.Notify(ctx, to.ID, notify.Follow, from.ID, 0, time.Time{})
	}
	return err
}

// Unfollow ends a follow, and removes its notification. Repeating the call changes nothing. The
// home timeline stops showing the other user's posts; see social.BelongsOnHome. It takes as many
// round trips as Follow.
func (f *Follows) Unfollow(ctx context.Context, from, to social.User) error {
	if from.ID == to.ID {
		return nil
	}
	defer f.Names.Rank(to.ID)
	defer f.common.changed(from.ID, to.ID)
	var since time.Time
	err := f.Homes.Unfollow(ctx, from.ID, to.ID, func() (err error) {
		since, err = f.store.Remove(ctx, from.ID, to.ID)
		return err
	})
	if !since.IsZero() { // even if the other steps are left to the background
		f.Notices.Unnotify(ctx, to.ID, notify.Follow, from.ID, 0, since)
	}
	return err
}

// IsFollowing reports whether one user follows another. One round trip at most.
func (f *Follows) IsFollowing(ctx context.Context, from, to int64) (bool, error) {
	err := f.DB.Read(ctx, f.DB.Client.B().Zscore().Key(storage.FollowingKey(from)).Member(storage.Itoa(to)).Cache()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("social: is following: %w", err)
	}
	return true, nil
}

// Counts are the numbers on a profile.
type Counts struct{ Followers, Following, Posts int64 }

// Counts returns the numbers on the profile of a user. One round trip at most.
func (f *Follows) Counts(ctx context.Context, uid int64) (Counts, error) {
	b := f.DB.Client.B()
	res := f.DB.ReadMany(ctx,
		b.Zcard().Key(storage.FollowersKey(uid)).Cache(),
		b.Zcard().Key(storage.FollowingKey(uid)).Cache(),
		b.Zcard().Key(storage.ProfileKey(uid)).Cache(),
		b.Zcard().Key(storage.ArchiveKey(uid)).Cache(),
	)
	var n [4]int64
	for i := range n {
		var err error
		if n[i], err = reply.OrEmpty(res[i].AsInt64()); err != nil {
			return Counts{}, fmt.Errorf("social: counts: %w", err)
		}
	}
	return Counts{Followers: n[0], Following: n[1], Posts: n[2] + n[3]}, nil
}

// maxCounted is the maximum length of a list that is counted as the viewer sees it.
const maxCounted = 100

// CountsFor returns the numbers of a user as a viewer sees them: in lists of at most 100 people,
// people hidden from the viewer are not counted, because Followers and Following do not list them.
// At most two round trips.
func (f *Follows) CountsFor(ctx context.Context, v *social.Viewer, uid int64) (Counts, error) {
	counts, err := f.Counts(ctx, uid)
	if err != nil || !v.HidesPeople() {
		return counts, err
	}
	var cmds []rueidis.Cacheable
	var numbers []*int64
	for key, n := range map[string]*int64{storage.FollowersKey(uid): &counts.Followers, storage.FollowingKey(uid): &counts.Following} {
		if *n > 0 && *n <= maxCounted {
			cmds = append(cmds, f.DB.Client.B().Zrange().Key(key).Min("0").Max(storage.Itoa(maxCounted)).Cache())
			numbers = append(numbers, n)
		}
	}
	if len(cmds) == 0 {
		return counts, nil
	}
	for i, res := range f.DB.ReadMany(ctx, cmds...) {
		ids, err := reply.OrEmpty(res.AsStrSlice())
		if err != nil {
			return Counts{}, fmt.Errorf("social: counts: %w", err)
		}
		*numbers[i] = 0
		for _, text := range ids {
			if id, ok := storage.ParseID(text); ok && v.Sees(id) != social.Hidden {
				*numbers[i]++
			}
		}
	}
	return counts, nil
}

// Followers returns a page of a user's followers, latest first, without followers who are hidden
// from the viewer because either has blocked the other. A user who is hidden from the viewer has no
// followers. cursor is empty for the first page; for a malformed cursor, Followers returns
// *InvalidError. At most two round trips, and one more for each page's worth of hidden people, up
// to five.
func (f *Follows) Followers(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error) {
	if v.Sees(uid) == social.Hidden {
		return social.People{}, nil
	}
	return f.Users.People(ctx, storage.FollowersKey(uid), cursor, limit, storage.SeenBy(v))
}

// Following returns a page of the users that a user follows; see Followers.
func (f *Follows) Following(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error) {
	if v.Sees(uid) == social.Hidden {
		return social.People{}, nil
	}
	return f.Users.People(ctx, storage.FollowingKey(uid), cursor, limit, storage.SeenBy(v))
}
