package app

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/social/storage"
)

// Totals returns how many accounts and posts were ever created, deleted ones included:
// the ids that were assigned. One round trip.
func (s *App) Totals(ctx context.Context) (accounts, posts int64, err error) {
	b := s.db.Client.B()
	var n [2]int64
	for i, result := range s.db.Client.DoMulti(ctx, b.Get().Key(storage.NextUserID).Build(), b.Get().Key(storage.NextPostID).Build()) {
		if n[i], err = result.AsInt64(); err != nil && !rueidis.IsRedisNil(err) {
			return 0, 0, fmt.Errorf("social: totals: %w", err)
		}
	}
	return n[0], n[1], nil
}

// Memory returns the memory of each server, without those that do not report it. One
// round trip to each, for a second at most.
func (s *App) Memory(ctx context.Context) []store.MemoryUse {
	return store.Memory(ctx, s.db.Client)
}
