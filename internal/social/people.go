package social

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/directory"
	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
	"retwis/internal/watched"
)

// People is one page of users, and the cursor of the next page, empty at the
// end. A page can have fewer users than asked for although another follows, where
// most of those who were there are hidden from the viewer.
type People struct {
	Users []User
	Next  string
}

// Followers returns a page of a user's followers, the latest first, without those who
// are hidden from the viewer: one who has blocked the viewer, or was blocked by the
// viewer. Nobody follows a user who is hidden from the viewer. cursor is empty for
// the first page; *InvalidError reports one that is malformed. Two round trips at
// most, and one more for each page's worth of hidden people, up to five.
func (f *follows) Followers(ctx context.Context, v *Viewer, uid int64, cursor string, limit int) (People, error) {
	if v.Sees(uid) == Hidden {
		return People{}, nil
	}
	return f.people(ctx, layout.FollowersKey(uid), cursor, limit, v.seen)
}

// Following returns a page of the users that a user follows; see Followers.
func (f *follows) Following(ctx context.Context, v *Viewer, uid int64, cursor string, limit int) (People, error) {
	if v.Sees(uid) == Hidden {
		return People{}, nil
	}
	return f.people(ctx, layout.FollowingKey(uid), cursor, limit, v.seen)
}

// seen returns the users that a list of people shows to the viewer. Muted users are
// among them: a mute is about what they write and do.
func (v *Viewer) seen(page []member) ([]member, error) {
	return slices.DeleteFunc(page, func(m member) bool { return v.Sees(m.id) == Hidden }), nil
}

// member is an entry of a sorted set of users or posts, with its score as the server
// writes it.
type member struct {
	id    int64
	score string
}

func (m member) cursor() follow.Cursor { return follow.Cursor{Since: m.score, ID: layout.Itoa(m.id)} }

// people returns the users of a set, the highest score first, without those that show
// leaves out.
func (f *follows) people(ctx context.Context, set, cursor string, limit int, show func([]member) ([]member, error)) (People, error) {
	members, next, err := f.members(ctx, set, cursor, limit, show)
	if err != nil {
		return People{}, err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.id
	}
	users, err := f.inOrder(ctx, ids)
	return People{Users: users, Next: next}, err
}

// members returns a page of the entries of a set, the highest score first, without
// those that show leaves out, and the cursor of the next page, empty at the end.
func (f *follows) members(ctx context.Context, set, cursor string, limit int, show func([]member) ([]member, error)) (shown []member, next string, err error) {
	limit = clamp(limit)
	after, ok := follow.ParseCursor(cursor)
	if !ok {
		return nil, "", &InvalidError{"before", "This page address is not valid."}
	}
	for range maxLooks {
		page, more, err := f.memberPage(ctx, set, after, limit)
		if err != nil {
			return nil, "", err
		}
		if len(page) == 0 {
			return shown, "", nil
		}
		after = page[len(page)-1].cursor()
		seen, err := show(page)
		if err != nil {
			return nil, "", err
		}
		if room := limit - len(shown); len(seen) > room {
			seen, more = seen[:room], true
			after = seen[room-1].cursor()
		}
		shown = append(shown, seen...)
		if !more {
			return shown, "", nil
		}
		if len(shown) == limit {
			break
		}
	}
	return shown, after.String(), nil
}

// memberPage returns the entries of a set after a cursor, and whether more follow.
func (f *follows) memberPage(ctx context.Context, set string, after follow.Cursor, limit int) (page []member, more bool, err error) {
	// id, score, id, score ..., with one more than the page when another follows.
	entries, err := f.store.Page(ctx, set, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("social: read a list: %w", err)
	}
	for i := 0; i+1 < len(entries) && len(page) < limit; i += 2 {
		id, err := strconv.ParseInt(entries[i], 10, 64)
		if err != nil {
			return nil, false, fmt.Errorf("social: key %s: %q is not an id", set, entries[i])
		}
		page = append(page, member{id: id, score: entries[i+1]})
	}
	return page, len(entries) > 2*limit, nil
}

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
	n = clamp(n)
	// Each viewer sees enough of this many, unless most of the newest are hidden.
	names, err := u.newestNames(ctx, maxLooks*n)
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
		return u.read(ctx, u.newestCommand(n)).AsStrSlice()
	}
	names, err := u.newest.get(ctx)
	return names[:min(len(names), n)], err
}

// newestUsers is how many names of the latest users are in memory.
const newestUsers = MaxPage

func (u *users) readNewest(ctx context.Context) ([]string, error) {
	return u.client.Do(ctx, rueidis.Completed(u.newestCommand(newestUsers))).AsStrSlice()
}

func (u *users) newestCommand(n int) rueidis.Cacheable {
	return u.client.B().Zrevrange().Key(layout.UsersByTime).Start(0).Stop(int64(n - 1)).Cache()
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
	useOld, err := u.link.Read(ctx, same != nil && now.Sub(same.at) <= 2*watched.MaxAge, func(ctx context.Context) (err error) {
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
