package storage

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social"
)

// allUsersPage is the number of users that one step of AllUsers reads.
const allUsersPage = 200

// AllUsers yields all users in pages, newest first, including hidden users. It is for operators.
// Users who register in the meantime may be missing. Two round trips per page.
//
// On a Cluster only the latest [MaxLatest] users come in this order. The other users follow in no
// particular order, and a user may appear twice.
func (u *Users) AllUsers(ctx context.Context) iter.Seq2[[]social.User, error] {
	return func(yield func([]social.User, error) bool) {
		seen := map[int64]bool{}
		for page, err := range u.byTime(ctx) {
			if !yield(page, err) || err != nil {
				return
			}
			if u.db.Cluster {
				for _, user := range page {
					seen[user.ID] = true
				}
			}
		}
		if u.db.Cluster {
			u.unseen(ctx, seen, yield)
		}
	}
}

// unseen yields the users that are not in seen, from all masters.
func (u *Users) unseen(ctx context.Context, seen map[int64]bool, yield func([]social.User, error) bool) {
	for page, err := range scan.Keys(ctx, u.db.Client, scan.Pattern{Match: UserPrefix + "*", Count: 1000}) {
		if err != nil {
			yield(nil, fmt.Errorf("social: list the users: %w", err))
			return
		}
		var ids []int64
		for _, key := range page.Keys {
			if prefix, id, ok := ParseKey(key); ok && prefix == UserPrefix && !seen[id] {
				ids = append(ids, id)
			}
		}
		for chunk := range slices.Chunk(ids, allUsersPage) {
			users, err := u.InOrder(social.WithFresh(ctx), chunk) // fresh, to keep the users out of the client-side cache
			if !yield(users, err) || err != nil {
				return
			}
		}
	}
}

// byTime yields the users of `users_by_time`, newest first.
func (u *Users) byTime(ctx context.Context) iter.Seq2[[]social.User, error] {
	return func(yield func([]social.User, error) bool) {
		var before []string // the previous page, whose end new registrations shift into this page
		for from := int64(0); ; from += allUsersPage {
			cmd := u.db.Client.B().Zrevrange().Key(UsersByTime).Start(from).Stop(from + allUsersPage - 1).Build()
			names, err := reply.OrEmpty(u.db.Client.Do(ctx, cmd).AsStrSlice())
			if err != nil {
				yield(nil, fmt.Errorf("social: list the users: %w", err))
				return
			}
			if len(names) == 0 {
				return
			}
			fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(before, name) })
			before = names
			page, err := u.ByNames(ctx, fresh)
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
