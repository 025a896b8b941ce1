package storage

import (
	"context"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
)

// Listed returns the number of users that Oldest can return: all users, or the latest [MaxLatest]
// on a Cluster. One round trip.
func (u *Users) Listed(ctx context.Context) (int64, error) {
	n, err := reply.OrEmpty(u.db.Client.Do(ctx, u.db.Client.B().Zcard().Key(UsersByTime).Build()).AsInt64())
	if err != nil {
		return 0, fmt.Errorf("social: count the users: %w", err)
	}
	return n, nil
}

// Oldest skips the given number of users in order of registration and returns the next n users,
// including hidden ones. Three round trips.
func (u *Users) Oldest(ctx context.Context, after, n int64) ([]social.User, error) {
	ctx = social.WithFresh(ctx) // fresh, to keep the users out of the client-side cache
	cmd := u.db.Client.B().Zrange().Key(UsersByTime).Min(Itoa(after)).Max(Itoa(after + n - 1)).Build()
	names, err := reply.OrEmpty(u.db.Client.Do(ctx, cmd).AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: list the users: %w", err)
	}
	return u.ByNames(ctx, names)
}
