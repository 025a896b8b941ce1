package timeline

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

var (
	//go:embed begin.lua
	beginSource string
	beginScript = script.New(beginSource).Retryable()

	//go:embed finish.lua
	finishSource string
	finishScript = script.New(finishSource).Retryable()
)

const (
	// headsRead is the total number of posts of followed people that are read to build a home
	// timeline: at least minHead and at most maxHead for each person.
	headsRead, minHead, maxHead = 2000, 10, 400
	// repliesRead is the same for replies, of which maxReplies are examined.
	repliesRead, minReplyHead, maxReplyHead, maxReplies = 600, 3, 100, 300
	// tagsRead is the same for the posts of tags.
	tagsRead, minTagHead, maxTagHead = 1000, 10, 200
	// ownRead is the number of the reader's own posts, and of own replies, that are read.
	ownRead = 200
	// maxFollowing and maxFollowedTags limit the followed people and tags whose posts are read: the
	// latest ones.
	maxFollowing, maxFollowedTags = 10_000, 200
	// pipeline is the number of commands that are sent together.
	pipeline = 1000
	// buildSeconds is the time in seconds after which an unfinished list expires.
	buildSeconds = 60
)

// errAgain means that the list expired while it was being built.
var errAgain = errors.New("social: a home timeline expired while it was being built")

// build builds a home timeline that does not exist, or completes one. It can be repeated, and
// several processes can build the same timeline concurrently.
//
// build first creates the list, so that new posts are pushed to the list from then on. A post that
// was pushed earlier is already on the lists of its author, which are read afterwards. So no post
// is missed.
func (t *Homes) build(ctx context.Context, uid int64) error {
	select {
	case t.builds <- struct{}{}:
		defer func() { <-t.builds }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for range attempts {
		err := t.buildOnce(ctx, uid)
		if err == nil {
			t.built.Add(1)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return nil // the next view tries again
}

// buildOnce tries once to build a home timeline. It returns errAgain if the list expired meanwhile.
func (t *Homes) buildOnce(ctx context.Context, uid int64) error {
	key := []string{storage.HomeKey(uid)}
	mark, err := beginScript.Run(ctx, t.DB.Client, key,
		[]string{storage.Itoa(-1 - rand.Int64N(storage.MaxID-1)), storage.Itoa(buildSeconds), storage.Itoa(storage.TimelineCap)}).ToString()
	if err != nil || mark == "0" {
		return err // another process has built the timeline
	}
	posts, err := t.gather(ctx, uid)
	if err != nil {
		return err
	}
	if err := t.Lists.Existing().PutMany(ctx, key[0], posts...); err != nil {
		return err
	}
	ok, err := finishScript.RunFenced(ctx, t.DB.Client, key,
		[]string{mark, storage.Itoa(t.seconds()), storage.Itoa(storage.TimelineCap)}).AsBool()
	if err == nil && !ok {
		return errAgain
	}
	return err
}

// sources are the people and the tags that a user follows, latest first.
type sources struct {
	people []int64
	tags   []string
}

// sources reads the people and the tags that a user follows.
func (t *Homes) sources(ctx context.Context, uid int64) (s sources, err error) {
	b := t.DB.Client.B()
	res := t.DB.Client.DoMulti(ctx,
		b.Zrange().Key(storage.FollowingKey(uid)).Min("0").Max(storage.Itoa(maxFollowing-1)).Rev().Build(),
		b.Zrange().Key(storage.FollowingTagsKey(uid)).Min("0").Max(storage.Itoa(maxFollowedTags-1)).Rev().Build())
	members, err := reply.OrEmpty(res[0].AsStrSlice())
	if err != nil {
		return s, err
	}
	s.people = parseIDs(members)
	s.tags, err = reply.OrEmpty(res[1].AsStrSlice())
	return s, err
}

// gather reads the posts that belong on a home timeline.
func (t *Homes) gather(ctx context.Context, uid int64) (posts []int64, err error) {
	known, err := t.Celebrities.Load(social.WithFresh(ctx))
	if err != nil {
		return nil, err
	}
	src, err := t.sources(ctx, uid)
	if err != nil {
		return nil, err
	}
	following, tags, b := src.people, src.tags, t.DB.Client.B()
	latest := func(key string, n int) rueidis.Completed {
		return b.Zrevrange().Key(key).Start(0).Stop(int64(n - 1)).Build()
	}
	cmds := rueidis.Commands{latest(storage.ProfileKey(uid), ownRead), latest(storage.ProfileRepliesKey(uid), ownRead)}
	for _, tag := range tags {
		cmds = append(cmds, latest(storage.TagKey(tag), share(tagsRead, len(tags), minTagHead, maxTagHead)))
	}
	perHead := share(headsRead, len(following), minHead, maxHead)
	for _, id := range following {
		if first, ok := known.First[id]; ok {
			cmds = append(cmds, b.Zrevrangebyscore().Key(storage.ProfileKey(id)).Max("("+storage.Itoa(first)).Min("-inf").Limit(0, int64(perHead)).Build())
		} else {
			cmds = append(cmds, latest(storage.ProfileKey(id), perHead))
		}
	}
	numPosts := len(cmds)
	for _, id := range following {
		cmds = append(cmds, latest(storage.ProfileRepliesKey(id), share(repliesRead, len(following), minReplyHead, maxReplyHead)))
	}
	var replies []int64
	for i, ids := range [2]*[]int64{&posts, &replies} {
		batch := cmds[:numPosts]
		if i == 1 {
			batch = cmds[numPosts:]
		}
		if *ids, err = t.readAll(ctx, batch); err != nil {
			return nil, err
		}
	}
	if len(posts) == storage.TimelineCap {
		replies = slices.DeleteFunc(replies, func(id int64) bool { return id < posts[len(posts)-1] })
	}
	replies, err = t.heardReplies(ctx, uid, following, replies[:min(len(replies), maxReplies)])
	return largest(append(posts, replies...)), err
}

// share returns the number of entries to read of each of n lists, given the total number.
func share(total, n, minimum, maximum int) int { return min(max(total/max(n, 1), minimum), maximum) }

// readAll returns the largest IDs in the replies to the commands.
func (t *Homes) readAll(ctx context.Context, cmds rueidis.Commands) ([]int64, error) {
	var ids []int64
	for chunk := range slices.Chunk(cmds, pipeline) {
		for _, res := range t.DB.Client.DoMulti(ctx, chunk...) {
			members, err := reply.OrEmpty(res.AsStrSlice())
			if err != nil {
				return nil, fmt.Errorf("social: build a home timeline: %w", err)
			}
			ids = append(ids, parseIDs(members)...)
		}
		ids = largest(ids)
	}
	return ids, nil
}

// largest returns the largest IDs, sorted, up to the length of a home timeline.
func largest(ids []int64) []int64 {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	ids = slices.Compact(ids)
	return ids[:min(len(ids), storage.TimelineCap)]
}

// heardReplies returns the replies that belong on the reader's home timeline.
func (t *Homes) heardReplies(ctx context.Context, uid int64, following, replies []int64) ([]int64, error) {
	all, err := reads.Fields(ctx, t.DB.Client, replies, storage.PostKey, "user_id", "to")
	if err != nil {
		return nil, fmt.Errorf("social: read a post: %w", err)
	}
	reader := &social.Viewer{User: social.User{ID: uid}, Following: slices.Sorted(slices.Values(following))}
	var heard []int64
	for i, fields := range all {
		author, ok := storage.ParseID(fields[0])
		to, _ := storage.ParseID(fields[1])
		if ok && social.BelongsOnHome(reader, social.HomePost{Author: author, Reply: true, To: to}) {
			heard = append(heard, replies[i])
		}
	}
	return heard, nil
}
