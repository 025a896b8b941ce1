package posts

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed next_id.lua
	nextIDSource string
	nextIDScript = script.New(nextIDSource).Retryable()
)

// maxLostPosts is the maximum distance by which the counter can fall back when a server loses
// writes. An ID that is further ahead was written by hand, and moving the counter there could not
// be undone.
const maxLostPosts = 1_000_000

// ids assigns the IDs of posts.
type ids struct {
	client  rueidis.Client
	log     *slog.Logger
	last    atomic.Int64 // the largest post ID seen
	counter atomic.Int64 // next_post_id when last read
}

// Claim is the post to which a text is assigned.
type Claim struct {
	ID   int64
	Time time.Time
	Text string // in its stored form
	New  bool   // this call assigned the ID
}

// next returns an ID that no post has had. If key is not empty, it returns the claim of an earlier
// call with the same key within hold, unless the claim's text is ignored. If the counter is below
// the largest ID seen, a server has lost writes, and the counter moves past that ID, so that a new
// post is not mistaken for a lost post that a client remembers. Atomic, one round trip.
func (s *ids) next(ctx context.Context, at time.Time, key, ignored string, hold time.Duration) (Claim, error) {
	keys, seen := []string{storage.NextPostID}, s.last.Load()
	if key != "" {
		keys = append(keys, key)
	}
	res, err := nextIDScript.Run(ctx, s.client, keys, []string{
		storage.Itoa(seen), strconv.Itoa(maxLostPosts), storage.Seconds(at), ignored, strconv.FormatInt(hold.Milliseconds(), 10),
	}).AsStrSlice()
	if err != nil {
		return Claim{}, err
	}
	id, seconds, ok := strings.Cut(res[0], " ")
	c := Claim{Time: storage.ParseTime(seconds), Text: res[0], New: res[1] == "1"}
	var isID bool
	if c.ID, isID = storage.ParseID(id); !ok || !isID {
		return Claim{}, fmt.Errorf("social: key %s: %q is not a claim", key, res[0])
	}
	if c.New {
		s.counter.Store(c.ID)
	}
	if c.New && seen >= c.ID {
		s.log.WarnContext(ctx, "ignored a post whose id is far ahead of the counter", "post", seen, "counter", c.ID)
		s.last.CompareAndSwap(seen, c.ID)
	}
	return c, nil
}

// saw records a post ID that this process has seen, unless the ID is too far ahead of the counter.
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

// NextID returns a post ID that no post has had.
func (e *Engine) NextID(ctx context.Context) (int64, error) {
	c, err := e.ids.next(ctx, time.Time{}, "", "", 0)
	return c.ID, err
}

// Claim is like NextID, for a text that counts as the same post if it is repeated within hold. Of
// several calls with the same key, the first gets a new ID, and the others get the same ID. A claim
// whose Text is ignored does not count.
func (e *Engine) Claim(ctx context.Context, key, ignored string, at time.Time, hold time.Duration) (Claim, error) {
	return e.ids.next(ctx, at, key, ignored, hold)
}

// Saw records a post ID, so that NextID returns no smaller one.
func (e *Engine) Saw(id int64) { e.ids.saw(id) }
