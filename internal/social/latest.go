package social

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/directory"
	"retwis/internal/social/layout"
	"retwis/internal/watched"
)

// latest are the users who registered last.
type latest struct {
	names []string
	users []User
	at    time.Time
}

// LatestUsers returns the n users who registered last, newest first, without those who
// are hidden from the viewer or not listed: they can be fewer than n then. It is answered
// from memory where a Service keeps what it has decoded (Options.Invalidations): those who
// registered within a second can be missing, unless they did through this process. Else it
// takes three round trips at most.
func (u *users) LatestUsers(ctx context.Context, v *Viewer, n int) ([]User, error) {
	n = PageSize(n)
	// Each viewer sees enough of this many, unless most of the newest are hidden.
	names, err := u.newestNames(ctx, MaxLooks*n)
	if err != nil {
		return nil, fmt.Errorf("social: latest users: %w", err)
	}
	found, err := u.latestOf(ctx, names)
	if err != nil {
		return nil, err
	}
	shown := make([]User, 0, n)
	for _, user := range found.users {
		if len(shown) < n && v.Lists(user.ID) {
			shown = append(shown, user)
		}
	}
	return shown, nil
}

// newestNames returns the names of the n users who registered last.
func (u *users) newestNames(ctx context.Context, n int) ([]string, error) {
	if u.newest == nil || isFresh(ctx) || n > newestUsers {
		return u.db.read(ctx, u.newestCommand(n)).AsStrSlice()
	}
	names, err := u.newest.get(ctx)
	return names[:min(len(names), n)], err
}

// newestUsers is how many names of the latest users are in memory.
const newestUsers = MaxPage

func (u *users) readNewest(ctx context.Context) ([]string, error) {
	return u.db.client.Do(ctx, rueidis.Completed(u.newestCommand(newestUsers))).AsStrSlice()
}

func (u *users) newestCommand(n int) rueidis.Cacheable {
	return u.db.client.B().Zrevrange().Key(layout.UsersByTime).Start(0).Stop(int64(n - 1)).Cache()
}

// registered notes that a user is among the latest.
func (u *users) registered(user User) {
	u.newest.change(func(names []string) []string {
		if slices.Contains(names, user.Name) {
			return names
		}
		names = append([]string{user.Name}, names...)
		return names[:min(len(names), newestUsers)]
	})
}

// latestOf returns the latest users with these names, from memory for up to a minute, and
// for up to two while their servers do not answer.
func (u *users) latestOf(ctx context.Context, names []string) (*latest, error) {
	same, now := u.latest.Load(), time.Now()
	if same != nil && (isFresh(ctx) || !slices.Equal(same.names, names)) {
		same = nil
	}
	if same != nil && now.Sub(same.at) <= watched.MaxAge {
		return same, nil
	}
	var users []User
	useOld, err := u.db.link.Read(ctx, same != nil && now.Sub(same.at) <= 2*watched.MaxAge, func(ctx context.Context) (err error) {
		users, err = u.byNames(ctx, names)
		return err
	})
	if useOld {
		return same, nil
	}
	if err != nil {
		return nil, err
	}
	users = slices.DeleteFunc(users, func(user User) bool { return user.Unlisted })
	found := &latest{names: names, users: users, at: now}
	u.latest.Store(found)
	return found, nil
}

// byNames returns the users with these names, as they were typed, without missing
// ones. Two round trips at most.
func (u *users) byNames(ctx context.Context, names []string) ([]User, error) {
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
		uid, err := directory.ParseOwner(names[i], owner.First())
		if err != nil {
			return nil, err
		}
		ids = append(ids, uid)
	}
	return u.inOrder(ctx, ids)
}
