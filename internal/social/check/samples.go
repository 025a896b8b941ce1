package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// sampleCheck looks for posts that are missing from timelines.
type sampleCheck struct {
	check  *checker
	public map[int64]bool // the posts on the public timeline
	read   time.Time      // the time when public was read
}

// samplePosts is the number of latest posts of each author to look for on the timelines of
// followers.
const samplePosts = 3

// publicAge is the maximum age of sampleCheck.public.
const publicAge = 10 * time.Second

// readPublic reads the public timeline unless the last read is recent.
func (c *sampleCheck) readPublic(ctx context.Context) error {
	if time.Since(c.read) < publicAge {
		return nil
	}
	posts, err := reply.OrEmpty(c.check.client.Do(ctx, c.check.client.B().Lrange().Key(storage.Timeline).Start(0).Stop(-1).Build()).AsStrSlice())
	if err != nil {
		return fmt.Errorf("key %s: %w", storage.Timeline, err)
	}
	c.public = make(map[int64]bool, len(posts))
	for _, post := range posts {
		id, _ := storage.ParseID(post)
		c.public[id] = true
	}
	c.read = time.Now()
	return nil
}

// sample looks for the latest posts of an author on the author's home timeline, on the public
// timeline, and on the home timelines of some followers. It skips posts that are still being fanned
// out. It reads the tasks after the profile, so that it finds the tasks of all posts.
func (c *sampleCheck) sample(ctx context.Context, profile string) error {
	if err := c.readPublic(ctx); err != nil {
		return err
	}
	_, author, _ := storage.ParseKey(profile)
	b := c.check.client.B()
	res := c.check.client.DoMulti(ctx,
		b.Zrevrange().Key(storage.ProfileKey(author)).Start(0).Stop(storage.TimelineShare-1).Build(),
		b.Arbitrary("ZRANDMEMBER").Keys(storage.FollowersKey(author)).Args(strconv.Itoa(c.check.opt.Followers), "WITHSCORES").Build(),
	)
	posts, err := reply.OrEmpty(res[0].AsStrSlice())
	if err != nil {
		return err
	}
	followers, err := reply.OrEmpty(res[1].AsZScores())
	if err != nil {
		return err
	}
	merged, err := c.check.celebrities.First(ctx, author)
	if err != nil {
		return err
	}
	written, err := c.written(ctx, author, posts[:min(len(posts), samplePosts)])
	if err != nil {
		return err
	}
	oldest := c.oldestPublic(posts)
	for id, s := range written {
		at := storage.ParseTime(s.time)
		lists := []string{storage.HomeKey(author)}
		if s.repostOf == 0 && id > oldest {
			lists = append(lists, storage.Timeline)
		}
		readers := followers
		if merged != 0 && id >= merged {
			readers = nil // the post is not pushed to the timelines of followers
		}
		for _, f := range readers {
			// Only posts later than the follow are on the timeline of the follower.
			if _, ok := storage.ParseID(f.Member); ok && f.Score > 0 && f.Score < float64(at.Unix()) {
				lists = append(lists, storage.HomePrefix+f.Member)
			}
		}
		if err := c.lookFor(ctx, id, lists); err != nil {
			return err
		}
	}
	return nil
}

// oldestPublic returns the oldest of the given posts that is on the public timeline, or
// math.MaxInt64 if none is. The posts of an author leave the public timeline in order, to make room
// for later posts, and do not return when later posts are deleted. So the public timeline may lack
// older posts.
func (c *sampleCheck) oldestPublic(posts []string) int64 {
	for _, post := range slices.Backward(posts) {
		if id, ok := storage.ParseID(post); ok && c.public[id] {
			return id
		}
	}
	return math.MaxInt64
}

// written returns the given posts of an author that are not being fanned out and so must be on all
// timelines.
func (c *sampleCheck) written(ctx context.Context, author int64, posts []string) (map[int64]state, error) {
	read, claims := c.check.batch(), c.check.batch()
	fields := map[int64]*[]string{}
	for _, post := range posts {
		if id, ok := storage.ParseID(post); ok {
			fields[id] = read.Fields(c.check.client.B().Hmget().Key(storage.PostKey(id)).Field(stateFields...).Build())
		}
	}
	if err := read.Run(ctx); err != nil {
		return nil, err
	}
	states, unfinished := map[int64]state{}, map[int64]*bool{}
	for id, f := range fields {
		if *f == nil {
			continue // reported by the check of types
		}
		s := parseState(*f)
		// An older program may not have added its posts to every timeline.
		if id <= c.check.adopted || s.author != author || s.stub || storage.ParseTime(s.time).IsZero() {
			continue
		}
		states[id], unfinished[id] = s, isPending(claims, c.check.client, id, s.author, s.time)
	}
	if err := claims.Run(ctx); err != nil {
		return nil, err
	}
	for id, claim := range unfinished {
		if *claim {
			delete(states, id)
		}
	}
	return states, nil
}

// lookFor reports the lists that lack a post. One new fan-out of the post repairs all of them.
func (c *sampleCheck) lookFor(ctx context.Context, id int64, lists []string) error {
	post := storage.Itoa(id)
	lpos := func(list string) rueidis.Completed { return c.check.client.B().Lpos().Key(list).Element(post).Build() }
	found, err := reads.Many(ctx, c.check.client, lists, lpos, func(res rueidis.RedisResult) (bool, error) { return true, res.Error() })
	if err != nil {
		return err
	}
	var problems []Problem
	for i, list := range lists {
		if found[i] {
			continue
		}
		ok, err := c.mayLack(ctx, list, id)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		problems = append(problems, Problem{Kind: maintain.Missing, Key: list, Detail: "lacks post " + post, Repair: "fan the post out again"})
	}
	if len(problems) == 0 {
		return nil
	}
	if pushing, err := c.check.fanOut.Pushing(ctx, id); err != nil || pushing {
		return err
	}
	return c.check.foundAll(ctx, problems, func(ctx context.Context) (bool, error) {
		return true, c.check.fanOut.Retry(ctx, id)
	})
}

// mayLack reports whether a list may lack a post because it is full of later posts. On a Cluster, a
// home timeline may also have expired or be under construction. A key of the wrong type is reported
// by the check of types.
func (c *sampleCheck) mayLack(ctx context.Context, list string, id int64) (bool, error) {
	cmd := c.check.client.B()
	res := c.check.client.DoMulti(ctx, cmd.Llen().Key(list).Build(), cmd.Lindex().Key(list).Index(-1).Build())
	length, err := res[0].AsInt64()
	if rediserr.IsWrongType(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	last, err := reply.TextOrEmpty(res[1])
	if oldest, _ := storage.ParseID(last); length >= storage.TimelineCap && oldest > id {
		return true, err
	}
	return c.check.cluster && list != storage.Timeline && (length == 0 || strings.HasPrefix(last, "-")), err
}
