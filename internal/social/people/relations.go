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

// Relations manages mutes and blocks.
type Relations struct {
	follows *Follows
	store   storage.Relations
}

// NewRelations returns the Relations of the database of f.
func NewRelations(f *Follows) *Relations {
	return &Relations{follows: f, store: storage.NewRelations(f.DB.Client)}
}

// Mute hides what the second user writes and does from the lists and notifications of the first
// user, until a time, or without an end if the time is zero. A different end replaces the previous
// one. It returns *InvalidError if both are the same user, if the end has passed, or if the user
// has already muted 10,000 others, and ErrNotFound if there is no such user. One or two round
// trips.
func (r *Relations) Mute(ctx context.Context, from, to social.User, until time.Time) error {
	if err := r.check(ctx, i18n.T("You can't mute yourself."), from, to, until); err != nil {
		return err
	}
	return listError(errMutedFull, r.store.Mute(ctx, from.ID, to.ID, until, r.follows.Now()))
}

// Unmute ends a mute. Repeating the call changes nothing. One round trip.
func (r *Relations) Unmute(ctx context.Context, from, to social.User) error {
	_, err := r.store.Unmute(ctx, from.ID, to.ID, r.follows.Now())
	return err
}

// Block hides two users from each other everywhere and ends their follows; see Mute. During the
// block, neither can follow the other. First the block is written, which prevents new follows, then
// both follows end. If this process dies, another process finishes the block. About twenty round
// trips.
func (r *Relations) Block(ctx context.Context, from, to social.User, until time.Time) error {
	if err := r.check(ctx, i18n.T("You can't block yourself."), from, to, until); err != nil {
		return err
	}
	defer r.follows.common.changed(from.ID, to.ID)
	return r.follows.Homes.Block(ctx, from.ID, to.ID, until, func() error {
		return listError(errBlockedFull, r.store.Block(ctx, from.ID, to.ID, until, r.follows.Now()))
	})
}

// Unblock ends a block; the follows that the block ended do not come back. Repeating the call
// changes nothing. About ten round trips.
func (r *Relations) Unblock(ctx context.Context, from, to social.User) error {
	defer r.follows.common.changed(from.ID, to.ID)
	return r.follows.Homes.Unblock(ctx, from.ID, to.ID, func() error {
		_, err := r.store.Unblock(ctx, from.ID, to.ID, r.follows.Now())
		return err
	})
}

// RemoveFollower makes the second user stop following the first; see Unfollow.
func (r *Relations) RemoveFollower(ctx context.Context, from, to social.User) error {
	return r.follows.Unfollow(ctx, to, from)
}

// Outlasts reports whether the mute or block of a user, in the set key, ends later than until, or
// never. It is false if until is zero, which means no end. One round trip.
func (r *Relations) Outlasts(ctx context.Context, key string, uid int64, until time.Time) (bool, error) {
	c := r.follows.DB.Client
	end, err := c.Do(ctx, c.B().Zscore().Key(key).Member(storage.Itoa(uid)).Build()).AsFloat64()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, fmt.Errorf("social: read a mute or block: %w", err)
	}
	return err == nil && !until.IsZero() && end > float64(until.Unix()), nil
}

// check returns an error if a mute or a block is not allowed.
func (r *Relations) check(ctx context.Context, self i18n.Message, from, to social.User, until time.Time) error {
	if from.ID == to.ID {
		return &social.InvalidError{Field: "user", Reason: self}
	}
	if !until.IsZero() && until.Unix() <= r.follows.Now().Unix() {
		return social.Invalid("until", "Choose an end date in the future.")
	}
	_, err := r.follows.Users.Record(ctx, to.ID)
	return err
}

// listError returns fullErr if err reports that the list is full, and err otherwise.
func listError(fullErr *social.InvalidError, err error) error {
	if errors.Is(err, storage.ErrTooManyRelations) {
		return fullErr
	}
	return err
}

// The errors for full lists of muted and blocked users.
var (
	errMutedFull   = social.Invalid("user", "You can mute at most 10,000 people. Remove one from your list first.")
	errBlockedFull = social.Invalid("user", "You can block at most 10,000 people. Remove one from your list first.")
)

// MutedPeople returns a page of the users that a user has muted, first the users whose mute has no
// end, then by end, latest first; see Followers for the cursor.
func (r *Relations) MutedPeople(ctx context.Context, uid int64, cursor string, limit int) (social.People, error) {
	return r.follows.Users.People(ctx, storage.MutedKey(uid), cursor, limit, r.unexpired)
}

// BlockedPeople returns a page of the users that a user has blocked; see MutedPeople.
func (r *Relations) BlockedPeople(ctx context.Context, uid int64, cursor string, limit int) (social.People, error) {
	return r.follows.Users.People(ctx, storage.BlockedKey(uid), cursor, limit, r.unexpired)
}

// unexpired returns the entries whose end has not passed. Entries are sorted by end, latest first.
func (r *Relations) unexpired(page []storage.Member) ([]storage.Member, error) {
	now := float64(r.follows.Now().Unix())
	for i, m := range page {
		if end, err := strconv.ParseFloat(m.Score, 64); err != nil || end <= now {
			return page[:i], nil
		}
	}
	return page, nil
}

// Relation describes how a viewer and a user are related.
type Relation struct {
	Following  bool // the viewer follows the user
	FollowedBy bool // the user follows the viewer
	Muted      bool // the viewer has muted the user
	Blocked    bool // the viewer has blocked the user
	BlockedBy  bool // the user has blocked the viewer
}

// Get returns the relation between the viewer and a user. At most one round trip.
func (r *Relations) Get(ctx context.Context, v *social.Viewer, uid int64) (Relation, error) {
	all, err := r.GetMany(ctx, v, uid)
	if err != nil {
		return Relation{}, err
	}
	return all[0], nil
}

// GetMany returns the relations between the viewer and each of these users. At most one round trip.
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
