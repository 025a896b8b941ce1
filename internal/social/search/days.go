package search

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
)

const (
	// probes is how many posts are read at a time to find the first of a day.
	probes = 32
	// maxMissing is how often others are read where none of them exists.
	maxMissing = 8
)

// firstAt returns the id of the first post at a time or later: ids grow with time. It reads
// the times of some posts between the first and the last, then of some within the part where
// it must be: a round trip for every factor of 33 in their number.
func (s *Service) firstAt(ctx context.Context, at time.Time) (int64, error) {
	last, err := reply.Text(s.DB.Client.Do(ctx, s.DB.Client.B().Get().Key(layout.NextPostID).Build()))
	if err != nil {
		return 0, fmt.Errorf("social: search: %w", err)
	}
	n, _ := layout.ParseID(last)
	low, high := int64(1), n+1 // it is in low…high
	missing := int64(0)
	for low < high {
		step := max(1, (high-low)/(probes+1))
		ids := make([]int64, 0, probes)
		for id := low + step - 1 - missing*step/maxMissing; id < high && len(ids) < probes; id += step {
			ids = append(ids, id)
		}
		times, err := s.times(ctx, ids)
		if err != nil {
			return 0, err
		}
		seen := false
		for i, id := range ids {
			switch {
			case times[i].IsZero() || id < low || id >= high:
			case times[i].Before(at):
				low, seen = id+1, true
			default:
				high, seen = id, true
			}
		}
		switch {
		case seen:
			missing = 0
		case step == 1: // none of these exists
			low = ids[len(ids)-1] + 1
		case missing < maxMissing-1: // those next to them may
			missing++
		default:
			return low, nil
		}
	}
	return low, nil
}

// times returns the times of posts; the zero time where there is none.
func (s *Service) times(ctx context.Context, ids []int64) ([]time.Time, error) {
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = s.DB.Client.B().Hget().Key(layout.PostKey(id)).Field("time").Build()
	}
	times := make([]time.Time, len(ids))
	for i, res := range s.DB.Client.DoMulti(ctx, cmds...) {
		text, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, fmt.Errorf("social: read a post: %w", err)
		}
		times[i] = layout.ParseTime(text)
	}
	return times, nil
}
