package social

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
)

// seenBy leaves out the users that a list of people does not show to a viewer. Muted users are
// among them: a mute is about what they write and do.
func seenBy(v *Viewer) func([]member) ([]member, error) {
	return func(page []member) ([]member, error) {
		return slices.DeleteFunc(page, func(m member) bool { return v.Sees(m.id) == Hidden }), nil
	}
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
func (u *users) people(ctx context.Context, set, cursor string, limit int, show func([]member) ([]member, error)) (People, error) {
	members, next, err := u.members(ctx, set, cursor, limit, show)
	if err != nil {
		return People{}, err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.id
	}
	users, err := u.inOrder(ctx, ids)
	return People{Users: users, Next: next}, err
}

// members returns a page of the entries of a set, the highest score first, without
// those that show leaves out, and the cursor of the next page, empty at the end.
func (u *users) members(ctx context.Context, set, cursor string, limit int, show func([]member) ([]member, error)) (shown []member, next string, err error) {
	limit = PageSize(limit)
	after, ok := follow.ParseCursor(cursor)
	if !ok {
		return nil, "", &InvalidError{"before", "This page address is not valid."}
	}
	for range MaxLooks {
		page, more, err := u.memberPage(ctx, set, after, limit)
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
func (u *users) memberPage(ctx context.Context, set string, after follow.Cursor, limit int) (page []member, more bool, err error) {
	// id, score, id, score ..., with one more than the page when another follows.
	entries, err := u.sets.Page(ctx, set, after, limit+1)
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
