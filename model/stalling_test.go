package model_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// stalling is a client that stops once before it writes a record of a model with
// partitions, until it is released.
type stalling struct {
	rueidis.Client
	stall  atomic.Bool
	once   sync.Once
	at, on chan struct{}
}

func (s *stalling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if s.stall.Load() && slices.Contains(cmd.Commands(), "create") {
		s.once.Do(func() {
			close(s.at)
			<-s.on
		})
	}
	return s.Client.Do(ctx, cmd)
}
