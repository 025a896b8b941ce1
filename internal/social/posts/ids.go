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

// Claim is the post that a text has got.
type Claim struct {
	ID   int64
	Time time.Time
	Text string // as it is stored
	New  bool   // this call has got the id
}

// next returns an id that no post has had. With a key, it returns the post that an earlier call has
// got with that key, for so long, unless the text of that claim is not. A counter below the largest
// id seen fell back with a server that lost writes: it is moved past that id, or a new post would be
// taken for a lost one that a client remembers. Atomic, one round trip.
func (s *ids) next(ctx context.Context, at time.Time, key, not string, hold time.Duration) (Claim, error) {
	keys, seen := []string{storage.NextPostID}, s.last.Load()
	if key != "" {
		keys = append(keys, key)
	}
	res, err := nextIDScript.Run(ctx, s.client, keys, []string{
		storage.Itoa(seen), strconv.Itoa(maxLostPosts), storage.Seconds(at), not, strconv.FormatInt(hold.Milliseconds(), 10),
	}).AsStrSlice()
	if err != nil {
		return Claim{}, err
	}
	id, rest, ok := strings.Cut(res[0], " ")
	c := Claim{Time: storage.ParseTime(rest), Text: res[0], New: res[1] == "1"}
	var isID bool
	if c.ID, isID = storage.ParseID(id); !ok || !isID {
		return Claim{}, fmt.Errorf("social: %s has %q", key, res[0])
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
func (e *Engine) NextID(ctx context.Context) (int64, error) {
	c, err := e.ids.next(ctx, time.Time{}, "", "", 0)
	return c.ID, err
}

// Claim is NextID for a text whose repetition within a time is the same post: of calls with the same
// key at the same time one gets a new id, and the others that. not is the text of an earlier claim
// whose post does not count.
func (e *Engine) Claim(ctx context.Context, key, not string, at time.Time, hold time.Duration) (Claim, error) {
	return e.ids.next(ctx, at, key, not, hold)
}

// Saw notes the id of a post, so that NextID returns no smaller one.
func (e *Engine) Saw(id int64) { e.ids.saw(id) }
