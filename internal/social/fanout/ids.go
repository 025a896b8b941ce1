package fanout

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
)

// maxLostPosts is how far the counter can have fallen back with a server that
// lost writes. An id further ahead was not assigned by Retwis but written by
// hand, and moving the counter there could not be undone.
const maxLostPosts = 1_000_000

// ids assigns the ids of posts.
type ids struct {
	client  rueidis.Client
	log     *slog.Logger
	last    atomic.Int64 // the largest id of a post that was seen
	counter atomic.Int64 // next_post_id as it was last read
}

// next returns an id that no post has had. A counter below the largest id seen fell back
// with a server that lost writes: it is moved past that id, or a new post would be taken
// for a lost one that a client remembers.
func (s *ids) next(ctx context.Context) (int64, error) {
	seen := s.last.Load() // read before the counter moves, or concurrent posts would look like lost ones
	id, err := s.client.Do(ctx, s.client.B().Incr().Key(layout.NextPostID).Build().ToRetryable()).AsInt64()
	if err != nil {
		return 0, err
	}
	s.counter.Store(id)
	if id > seen {
		return id, nil
	}
	if seen-id > maxLostPosts {
		s.log.WarnContext(ctx, "ignored a post whose id is far ahead of the counter", "post", seen, "counter", id)
		s.last.CompareAndSwap(seen, id)
		return id, nil
	}
	return s.client.Do(ctx, s.client.B().Incrby().Key(layout.NextPostID).Increment(seen-id+1).Build()).AsInt64()
}

// saw notes the largest id of a post that this process knows of.
func (s *ids) saw(id int64) {
	if counter := s.counter.Load(); counter > 0 && id > counter+maxLostPosts {
		return
	}
	for {
		last := s.last.Load()
		if id <= last || s.last.CompareAndSwap(last, id) {
			return
		}
	}
}

// NextID returns an id for a post that no post has had.
func (e *Engine) NextID(ctx context.Context) (int64, error) { return e.ids.next(ctx) }

// Saw notes the id of a post, so that NextID returns no smaller one.
func (e *Engine) Saw(id int64) { e.ids.saw(id) }
