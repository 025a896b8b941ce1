package social

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"retwis/internal/social/layout"
)

// allUsersPage is how many users one step of AllUsers reads.
const allUsersPage = 200

// AllUsers yields all users in pages, the newest first, for operators: hidden people are
// among them. Who registers meanwhile may be left out. Two round trips a page.
func (u *users) AllUsers(ctx context.Context) iter.Seq2[[]User, error] {
	return func(yield func([]User, error) bool) {
		var before []string // the page before: registrations move its end into this one
		for from := int64(0); ; from += allUsersPage {
			cmd := u.client.B().Zrevrange().Key(layout.UsersByTime).Start(from).Stop(from + allUsersPage - 1).Build()
			names, err := u.client.Do(ctx, cmd).AsStrSlice()
			if err != nil {
				yield(nil, fmt.Errorf("social: list the users: %w", err))
				return
			}
			if len(names) == 0 {
				return
			}
			fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(before, name) })
			before = names
			page, err := u.byNames(ctx, fresh)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}
