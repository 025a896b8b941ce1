package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"

	"retwis/internal/watched"
)

// latest are the users who registered last.
type latest struct {
	names []string
	users []social.User
	at    time.Time
}

// LatestUsers returns the n users who registered last, newest first. It omits users who are hidden
// from the viewer or unlisted, so there can be fewer than n. If the server reports changes, the
// answer comes from memory, and users who registered within the last second may be missing, unless
// they registered through this process. Otherwise it takes at most three round trips.
func (u *Users) LatestUsers(ctx context.Context, v *social.Viewer, n int) ([]social.User, error) {
	n = social.PageSize(n)
	// This number of names is enough for each viewer, unless most of the newest users are hidden.
	names, err := u.newestNames(ctx, social.MaxLooks*n)
	if err != nil {
		return nil, fmt.Errorf("social: latest users: %w", err)
	}
	found, err := u.latestOf(ctx, names)
	if err != nil {
		return nil, err
	}
	shown := make([]social.User, 0, n)
	for _, user := range found.users {
		if len(shown) < n && v.Lists(user.ID) {
			shown = append(shown, user)
		}
	}
	return shown, nil
}

// newestNames returns the names of the n users who registered last.
func (u *Users) newestNames(ctx context.Context, n int) ([]string, error) {
	if u.newest == nil || social.IsFresh(ctx) || n > newestUsers {
		return reply.OrEmpty(u.db.Read(ctx, u.newestCommand(n)).AsStrSlice())
	}
	names, err := u.newest.Get(ctx)
	return names[:min(len(names), n)], err
}

// newestUsers is the number of names of the latest users that are kept in memory.
const newestUsers = social.MaxPage

// readNewest reads the names to keep in memory.
func (u *Users) readNewest(ctx context.Context) ([]string, error) {
	return reply.OrEmpty(u.db.Client.Do(ctx, rueidis.Completed(u.newestCommand(newestUsers))).AsStrSlice())
}

// newestCommand returns the command that reads the names of the n users who registered last.
func (u *Users) newestCommand(n int) rueidis.Cacheable {
	return u.db.Client.B().Zrevrange().Key(UsersByTime).Start(0).Stop(int64(n - 1)).Cache()
}

// Registered adds a user to the latest users in memory.
func (u *Users) Registered(user social.User) {
	u.newest.Change(func(names []string) []string {
		if slices.Contains(names, user.Name) {
			return names
		}
		names = append([]string{user.Name}, names...)
		return names[:min(len(names), newestUsers)]
	})
}

// latestOf returns the latest users with the given names, from memory for up to a minute, or for up
// to two minutes while their servers do not answer.
func (u *Users) latestOf(ctx context.Context, names []string) (*latest, error) {
	cached, now := u.latest.Load(), time.Now()
	if cached != nil && (social.IsFresh(ctx) || !slices.Equal(cached.names, names)) {
		cached = nil
	}
	if cached != nil && now.Sub(cached.at) <= watched.MaxAge {
		return cached, nil
	}
	var users []social.User
	useOld, err := u.db.Link.Read(ctx, cached != nil && now.Sub(cached.at) <= 2*watched.MaxAge, func(ctx context.Context) (err error) {
		users, err = u.ByNames(ctx, names)
		return err
	})
	if useOld {
		return cached, nil
	}
	if err != nil {
		return nil, err
	}
	users = slices.DeleteFunc(users, func(user social.User) bool { return user.Unlisted })
	found := &latest{names: names, users: users, at: now}
	u.latest.Store(found)
	return found, nil
}

// ByNames returns the users with the given names, without missing users. At most two round trips.
func (u *Users) ByNames(ctx context.Context, names []string) ([]social.User, error) {
	if len(names) == 0 {
		return nil, nil
	}
	owners, err := u.directory.Owners(ctx, names...)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for i, owner := range owners {
		if owner.First() == "" {
			continue
		}
		uid, err := ParseOwner(names[i], owner.First())
		if err != nil {
			return nil, err
		}
		ids = append(ids, uid)
	}
	return u.InOrder(ctx, ids)
}
