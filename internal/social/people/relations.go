package people

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/i18n"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Relations are mutes and blocks.
type Relations struct {
	follows *Follows
	store   storage.Relations
}

// NewRelations returns the mutes and blocks of the same database.
func NewRelations(f *Follows) *Relations {
	return &Relations{follows: f, store: storage.NewRelations(f.DB.Client)}
}

// Mute hides what a user writes and does from another one's lists and notifications,
// until a time, without end for the zero time. Another end replaces the former one. It
// returns *InvalidError for oneself, for an end that has passed, and where one has muted
// 10,000 users already; ErrNotFound where there is no such user. One or two round trips.
func (r *Relations) Mute(ctx context.Context, from, to social.User, until time.Time) error {
	if err := r.check(ctx, i18n.T("You can't mute yourself."), from, to, until); err != nil {
		return err
	}
	return full(mutedList, r.store.Mute(ctx, from.ID, to.ID, until, r.follows.Now()))
}

// Unmute ends a mute. Repeating it changes nothing. One round trip.
func (r *Relations) Unmute(ctx context.Context, from, to social.User) error {
	_, err := r.store.Unmute(ctx, from.ID, to.ID, r.follows.Now())
	return err
}

// Block hides two users from each other everywhere and ends their follows; see Mute.
// While it lasts, neither can follow the other. First the block is written, which
// refuses follows from then on, then both follows end; another process finishes that
// if this one dies. About twenty round trips.
func (r *Relations) Block(ctx context.Context, from, to social.User, until time.Time) error {
	if err := r.check(ctx, i18n.T("You can't block yourself."), from, to, until); err != nil {
		return err
	}
	defer r.follows.common.changed(from.ID, to.ID)
	return r.follows.Homes.Block(ctx, from.ID, to.ID, until, func() error {
		return full(blockedList, r.store.Block(ctx, from.ID, to.ID, until, r.follows.Now()))
	})
}

// Unblock ends a block; the follows that the block ended do not come back. Repeating it
// changes nothing. About ten round trips.
func (r *Relations) Unblock(ctx context.Context, from, to social.User) error {
	defer r.follows.common.changed(from.ID, to.ID)
	return r.follows.Homes.Unblock(ctx, from.ID, to.ID, func() error {
		_, err := r.store.Unblock(ctx, from.ID, to.ID, r.follows.Now())
		return err
	})
}

// RemoveFollower makes the second user no longer follow the first; see Unfollow.
func (r *Relations) RemoveFollower(ctx context.Context, from, to social.User) error {
	return r.follows.Unfollow(ctx, to, from)
}

// Outlasts reports whether the mute or block of a user, in the set of one of them, ends after a
// time, or never where the time is not zero. One round trip.
func (r *Relations) Outlasts(ctx context.Context, key string, uid int64, until time.Time) (bool, error) {
	c := r.follows.DB.Client
	end, err := c.Do(ctx, c.B().Zscore().Key(key).Member(storage.Itoa(uid)).Build()).AsFloat64()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, fmt.Errorf("social: read a mute or block: %w", err)
	}
	return err == nil && !until.IsZero() && end > float64(until.Unix()), nil
}

// check returns an error for a mute or a block that is not allowed.
func (r *Relations) check(ctx context.Context, self i18n.Message, from, to social.User, until time.Time) error {
	if from.ID == to.ID {
		return &social.InvalidError{Field: "user", Reason: self}
	}
	if !until.IsZero() && until.Unix() <= r.follows.Now().Unix() {
		return social.Invalid("until", "Choose an end in the future.")
	}
	_, err := r.follows.Users.Record(ctx, to.ID)
	return err
}

// full describes the error of a list without room.
func full(list *social.InvalidError, err error) error {
	if errors.Is(err, storage.ErrTooManyRelations) {
		return list
	}
	return err
}

// These are the errors of full.
var (
	mutedList   = social.Invalid("user", "You can mute at most 10,000 people. Remove one from your list first.")
	blockedList = social.Invalid("user", "You can block at most 10,000 people. Remove one from your list first.")
)

// MutedPeople returns a page of the users that a user has muted, those without an end
// and with the latest end first; see Followers for the cursor.
func (r *Relations) MutedPeople(ctx context.Context, uid int64, cursor string, limit int) (social.People, error) {
	return r.follows.Users.People(ctx, storage.MutedKey(uid), cursor, limit, r.lasting)
}

// BlockedPeople returns a page of the users that a user has blocked; see MutedPeople.
func (r *Relations) BlockedPeople(ctx context.Context, uid int64, cursor string, limit int) (social.People, error) {
	return r.follows.Users.People(ctx, storage.BlockedKey(uid), cursor, limit, r.lasting)
}

// lasting returns the entries whose end has not passed. Entries are in the order of
// their ends, the latest first.
func (r *Relations) lasting(page []storage.Member) ([]storage.Member, error) {
	now := float64(r.follows.Now().Unix())
	for i, m := range page {
		if end, err := strconv.ParseFloat(m.Score, 64); err != nil || end <= now {
			return page[:i], nil
		}
	}
	return page, nil
}

// Relation is how a viewer and a user stand to each other.
type Relation struct {
	Following  bool // the viewer follows the user
	FollowedBy bool // the user follows the viewer
	Muted      bool // the viewer has muted the user
	Blocked    bool // the viewer has blocked the user
	BlockedBy  bool // the user has blocked the viewer
}

// Get returns how the viewer and a user stand to each other. One round trip at
// most.
func (r *Relations) Get(ctx context.Context, v *social.Viewer, uid int64) (Relation, error) {
	all, err := r.GetMany(ctx, v, uid)
	if err != nil {
		return Relation{}, err
	}
	return all[0], nil
}

// GetMany returns how the viewer stands to each of these users. One round trip at
// most.
func (r *Relations) GetMany(ctx context.Context, v *social.Viewer, uids ...int64) ([]Relation, error) {
	all := make([]Relation, len(uids))
	if v.User.ID == 0 || len(uids) == 0 {
		return all, nil
	}
	b := r.follows.DB.Client.B()
	cmds := make([]rueidis.Cacheable, 0, 2*len(uids))
	for i, uid := range uids {
		all[i] = Relation{Muted: v.Muted.Has(uid), Blocked: v.Blocked.Has(uid), BlockedBy: v.Blockers.Has(uid)}
		member := storage.Itoa(uid)
		cmds = append(cmds,
			b.Zscore().Key(storage.FollowingKey(v.User.ID)).Member(member).Cache(),
			b.Zscore().Key(storage.FollowersKey(v.User.ID)).Member(member).Cache())
	}
	for i, res := range r.follows.DB.ReadMany(ctx, cmds...) {
		has, err := reply.Exists(res)
		if err != nil {
			return nil, fmt.Errorf("social: read a relation: %w", err)
		}
		if i%2 == 0 {
			all[i/2].Following = has
		} else {
			all[i/2].FollowedBy = has
		}
	}
	return all, nil
}
