package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// readOnly is a client whose next writes fail; what it reads is correct.
type readOnly struct {
	rueidis.Client
	fails atomic.Int64
}

var errWrite = errors.New("a write that fails")

func (c *readOnly) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, cmd)[0]
}

func (c *readOnly) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if !slices.ContainsFunc(cmds, func(cmd rueidis.Completed) bool { return !cmd.IsReadOnly() }) || c.fails.Add(-1) < 0 {
		return c.Client.DoMulti(ctx, cmds...)
	}
	return slices.Repeat([]rueidis.RedisResult{rueidis.NewErrorResult(errWrite)}, len(cmds))
}

// tagged are tags with an index, and what writes to it.
type tagged struct {
	t      *testing.T
	client *readOnly
	index  *search.CompletionIndex
}

func newTagged(t *testing.T) *tagged {
	client := &readOnly{Client: redistest.DB(t).Client(t)}
	index, err := search.NewCompletionIndex(client, socialtest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(index.Close)
	return &tagged{t, client, index}
}

// post gives a tag to some posts, and lets the index follow until it reports no error, as work
// that is repeated does.
func (s *tagged) post(tag string, posts int) {
	s.t.Helper()
	b := s.client.B()
	for id := range posts {
		member := fmt.Sprint(id)
		if err := s.client.Client.Do(s.t.Context(), b.Zadd().Key(storage.TagKey(tag)).ScoreMember().ScoreMember(float64(id), member).Build()).Error(); err != nil {
			s.t.Fatal(err)
		}
	}
	for {
		err := s.index.Tagged(s.t.Context(), []string{tag})
		if err == nil {
			return
		}
		if !errors.Is(err, errWrite) {
			s.t.Fatal(err)
		}
	}
}

// until waits for the writes that fail, and then for the completions of the letter r.
func (s *tagged) until(want ...string) {
	s.t.Helper()
	socialtest.Wait(s.t, "writes that fail", func() bool { return s.client.fails.Load() <= 0 })
	socialtest.Wait(s.t, fmt.Sprint(want), func() bool {
		got, err := s.index.Tags(s.t.Context(), "r", 10)
		if err != nil {
			s.t.Fatal(err)
		}
		return slices.Equal(got, want)
	})
}

// A tag has its term, and its rank, although writes fail for a while.
func TestWritesFail(t *testing.T) {
	t.Parallel()
	s := newTagged(t)
	s.post("redis", 2)
	s.until("redis")
	s.client.fails.Store(2)
	s.post("retwis", 1)
	s.until("redis", "retwis")
	s.client.fails.Store(2)
	s.post("retwis", 3)
	s.until("retwis", "redis")
}
