package social

import (
	"context"
	"fmt"
	"time"

	"retwis/internal/social/layout"
)

// Backlog is the background work of one kind that is not finished.
type Backlog struct {
	Queue   string // "fanouts" or "tasks"
	Waiting int64
	// Stalled is how long ago a process last worked on the work that waits longest.
	// A process that is alive does so every ten seconds; after thirty, another one
	// takes over.
	Stalled time.Duration
}

// Backlog returns the work that is not finished: posts that are on their way to
// timelines, and other tasks. One round trip.
func (s *Service) Backlog(ctx context.Context) ([]Backlog, error) {
	b := s.client.B()
	queues := []string{layout.FanOuts, layout.Tasks}
	results := s.client.DoMulti(ctx,
		b.Zcard().Key(queues[0]).Build(), b.Zrange().Key(queues[0]).Min("0").Max("0").Withscores().Build(),
		b.Zcard().Key(queues[1]).Build(), b.Zrange().Key(queues[1]).Min("0").Max("0").Withscores().Build(),
	)
	all := make([]Backlog, len(queues))
	for i, queue := range queues {
		waiting, err := results[2*i].AsInt64()
		if err != nil {
			return nil, fmt.Errorf("social: backlog: %w", err)
		}
		oldest, err := results[2*i+1].AsZScores()
		if err != nil {
			return nil, fmt.Errorf("social: backlog: %w", err)
		}
		all[i] = Backlog{Queue: queue, Waiting: waiting}
		if len(oldest) > 0 {
			renewed := time.Unix(int64(oldest[0].Score), 0)
			all[i].Stalled = max(0, s.opt.Now().Sub(renewed))
		}
	}
	return all, nil
}
