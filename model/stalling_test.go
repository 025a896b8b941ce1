package model_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// stalling is a client whose first write of a record of a model with partitions, after stall was
// set, waits until resume is closed.
type stalling struct {
	rueidis.Client
	stall   atomic.Bool
	once    sync.Once
	stalled chan struct{} // closed when the write waits
	resume  chan struct{}
}

func (s *stalling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if s.stall.Load() && isWrite(cmd.Commands()) {
		s.once.Do(func() {
			close(s.stalled)
			<-s.resume
		})
	}
	return s.Client.Do(ctx, cmd)
}

// isWrite reports whether a command writes a record: its arguments are the stamp of the
// declaration, the id, and the shape of the write.
func isWrite(words []string) bool {
	return len(words) > 4 && words[0] == "EVALSHA" && slices.ContainsFunc(words[3:], func(w string) bool { return len(w) == 32 && w[0] == 0 })
}
