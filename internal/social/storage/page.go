package storage

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
)

// SeenBy returns a filter that removes the users hidden from a viewer. Muted users stay in lists of
// people: a mute hides only their posts and actions.
func SeenBy(v *social.Viewer) func([]Member) ([]Member, error) {
	return func(page []Member) ([]Member, error) {
		return slices.DeleteFunc(page, func(m Member) bool { return v.Sees(m.ID) == social.Hidden }), nil
	}
}

// Member is an entry of a sorted set of users or posts, with its score as the server
// writes it.
type Member struct {
	ID    int64
	Score string
}

func (m Member) cursor() Cursor { return Cursor{Since: m.Score, ID: Itoa(m.ID)} }

// People returns a page of the users in a set, highest score first, without users that show filters
// out.
func (u *Users) People(ctx context.Context, set, cursor string, limit int, show func([]Member) ([]Member, error)) (social.People, error) {
	members, next, err := u.Members(ctx, set, cursor, limit, show)
	if err != nil {
		return social.People{}, err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	users, err := u.InOrder(ctx, ids)
	return social.People{Users: users, Next: next}, err
}

// Members returns a page of the entries of a set, highest score first, without entries that show
// filters out, and the cursor of the next page, which is empty at the end.
func (u *Users) Members(ctx context.Context, set, cursor string, limit int, show func([]Member) ([]Member, error)) (shown []Member, next string, err error) {
	limit = social.PageSize(limit)
	after, ok := ParseCursor(cursor)
	if !ok {
		return nil, "", social.Invalid("before", "This page address is not valid.")
	}
	for range social.MaxLooks {
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

// memberPage returns the entries of a set after a cursor, and reports whether more entries follow.
func (u *Users) memberPage(ctx context.Context, set string, after Cursor, limit int) (page []Member, more bool, err error) {
	// id, score, id, score ..., with an additional entry if another page follows.
	entries, err := reply.OrEmpty(u.sets.Page(ctx, set, after, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("social: read a list: %w", err)
	}
	for i := 0; i+1 < len(entries) && len(page) < limit; i += 2 {
		id, err := strconv.ParseInt(entries[i], 10, 64)
		if err != nil {
			return nil, false, fmt.Errorf("social: key %s: %q is not an id", set, entries[i])
		}
		page = append(page, Member{ID: id, Score: entries[i+1]})
	}
	return page, len(entries) > 2*limit, nil
}
