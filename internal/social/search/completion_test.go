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

// failingClient is a client whose next writes fail. Reads always work.
type failingClient struct {
	rueidis.Client
	fails atomic.Int64 // number of writes that fail
}

var errWrite = errors.New("a write that fails")

func (c *failingClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, cmd)[0]
}

func (c *failingClient) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if !slices.ContainsFunc(cmds, func(cmd rueidis.Completed) bool { return !cmd.IsReadOnly() }) || c.fails.Add(-1) < 0 {
		return c.Client.DoMulti(ctx, cmds...)
	}
	return slices.Repeat([]rueidis.RedisResult{rueidis.NewErrorResult(errWrite)}, len(cmds))
}

// tagged is a completion index for tags with a client whose writes can fail.
type tagged struct {
	t      *testing.T
	client *failingClient
	index  *search.CompletionIndex
}

func newTagged(t *testing.T) *tagged {
	client := &failingClient{Client: redistest.DB(t).Client(t)}
	index, err := search.NewCompletionIndex(client, socialtest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(index.Close)
	return &tagged{t, client, index}
}

// post sets the number of posts with a tag, and retries the update of the index until the update
// succeeds.
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

// waitFor waits until no more writes fail and the completions of the letter r are want.
func (s *tagged) waitFor(want ...string) {
	s.t.Helper()
	socialtest.Wait(s.t, "the failing writes", func() bool { return s.client.fails.Load() <= 0 })
	socialtest.Wait(s.t, fmt.Sprint(want), func() bool {
		got, err := s.index.Tags(s.t.Context(), "r", 10)
		if err != nil {
			s.t.Fatal(err)
		}
		return slices.Equal(got, want)
	})
}

// A tag gets its entry and its rank although some writes fail.
func TestWritesFail(t *testing.T) {
	t.Parallel()
	s := newTagged(t)
	s.post("redis", 2)
	s.waitFor("redis")
	s.client.fails.Store(2)
	s.post("retwis", 1)
	s.waitFor("redis", "retwis")
	s.client.fails.Store(2)
	s.post("retwis", 3)
	s.waitFor("retwis", "redis")
}

// Tags and names that differ only in accents or case are distinct. Each is completed as spelled,
// and removing one does not remove another.
func TestAlikeStayApart(t *testing.T) {
	t.Parallel()
	s := newTagged(t)
	s.post("résumé", 1)
	s.post("resume", 2)
	s.post("resumé", 3)
	s.waitFor("resumé", "resume", "résumé")
	if err := s.client.Client.Do(t.Context(), s.client.B().Del().Key(storage.TagKey("resume")).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := s.index.Tagged(t.Context(), []string{"resume"}); err != nil {
		t.Fatal(err)
	}
	s.waitFor("resumé", "résumé")
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
			t.Errorf("Names(%q) = %+v, %v; want %+v", prefix, got, err, want)
		}
	}
	if err := s.index.RemoveName(t.Context(), names[1]); err != nil {
		t.Fatal(err)
	}
	if got, err := s.index.Names(t.Context(), "anna", 10); err != nil || !slices.Equal(got, names[:1]) {
		t.Errorf("Names after RemoveName = %+v, %v; want %+v", got, err, names[:1])
	}
}

// A display name is completed from each of its first four words on. Removing it removes all of its
// terms, but not the username.
func TestTails(t *testing.T) {
	t.Parallel()
	s := newTagged(t)
	put := func(names ...search.Name) {
		t.Helper()
		for _, name := range names {
			if err := s.index.PutName(t.Context(), name, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(prefix string, displays ...string) {
		t.Helper()
		got, err := s.index.Names(t.Context(), prefix, 10)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, name := range got {
			found = append(found, name.Display)
		}
		if !slices.Equal(found, displays) {
			t.Errorf("Names(%q) = %+v, want the display names %q", prefix, got, displays)
		}
	}
	long := search.Name{Username: "Flora", Display: "Flora  Mari\u0301a van Wóng Tse"}
	put(search.Name{Username: "Flora"}, long)
	want("flora", "", "Flora María van Wóng Tse")
	want("flora maria", "Flora María van Wóng Tse")
	want("MARIA V", "María van Wóng Tse")
	want("van", "van Wóng Tse")
	want("wong", "Wóng Tse")
	want("tse")
	want("ong")
	if err := s.index.RemoveName(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	want("flora", "")
	for _, prefix := range []string{"maria", "van", "wong"} {
		want(prefix)
	}
	put(search.Name{Username: "al", Display: "al al al"}, search.Name{Username: "odd", Display: "Odd \u200d @x"}, search.Name{Username: "blank", Display: " "})
	want("al", "al", "al al", "al al al")
	want("@x", "\u200d @x") // the tails "\u200d @x" and "@x" have the same normalized form
	want("blank")
}
