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

// readOnly is a client whose next writes fail; its reads work.
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

// tagged is a test fixture: tags with an index and its writer.
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

// post sets the number of posts with a tag, and updates the index until that succeeds, as a retried
// task does.
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

// until waits for the failing writes, and then for the completions of the letter r.
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

// A tag gets its term and its rank although writes fail for a while.
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

// Tags and names that differ only in accents or case are different: each is completed as spelled,
// and removing one that no post has any more does not remove another.
func TestAlikeStayApart(t *testing.T) {
	t.Parallel()
	s := newTagged(t)
	s.post("résumé", 1)
	s.post("resume", 2)
	s.post("resumé", 3)
	s.until("resumé", "resume", "résumé")
	if err := s.client.Client.Do(t.Context(), s.client.B().Del().Key(storage.TagKey("resume")).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := s.index.Tagged(t.Context(), []string{"resume"}); err != nil {
		t.Fatal(err)
	}
	s.until("resumé", "résumé")
	names := []search.Name{
		{Username: "anna"},
		{Username: "Anna"},
		{Username: "Anna", Display: "Änne"},
		{Username: "anna", Display: "Anne"},
		{Username: "x 78"},
		{Username: "ÀB 78"},
	}
	for i, name := range names {
		if err := s.index.PutName(t.Context(), name, int64(100-i)); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string][]search.Name{"AN": names[:4], "x": names[4:5], "ab": names[5:], "anna ": names[:2]} {
		if got, err := s.index.Names(t.Context(), prefix, 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", prefix, got, err, want)
		}
	}
	if err := s.index.RemoveName(t.Context(), names[1]); err != nil {
		t.Fatal(err)
	}
	if got, err := s.index.Names(t.Context(), "anna", 10); err != nil || !slices.Equal(got, names[:1]) {
		t.Errorf("%+v, %v", got, err)
	}
}
