package app

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/social/storage"
)

// Totals returns the numbers of accounts and posts ever created, including deleted accounts and
// posts. It takes one round trip.
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

// Memory returns the memory use of each server that reports it. It takes one round trip to each
// server, and at most a second.
func (s *App) Memory(ctx context.Context) []store.MemoryUse {
	return store.Memory(ctx, s.db.Client)
}
