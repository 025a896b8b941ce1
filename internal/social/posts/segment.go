package posts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/social/storage"
)

// Kinds of tasks that put a post on the timelines of part of its audience:
// "<kind>:<post>:<author>:<time>:<from>:<to>:<part>"; see segment. Parts of more than fewFollowers
// are long tasks.
const (
	pushKind     = "push"
	pushLongKind = "push_long"
)

const (
	// segmentLen is the maximum number of followers in a segment. On a Cluster, even the timelines
	// of fewer followers are spread over so many slots that each script writes only one.
	segmentLen = 100_000
	// fewFollowers is the maximum number of followers in a task that is not long.
	fewFollowers = 10_000
	// pageOfSegment is the number of followers of a segment that are read at a time.
	pageOfSegment = 2000
)

// segment is a part of the audience of a post: the followers of its author, or of a tag, after one
// follower and up to another. Both bounds are a time and an ID, so a segment stays the same while
// people follow and unfollow.
type segment struct {
	post, author int64
	time         string // of the post: with the author, it distinguishes the post from another post that got its ID after a failover
	from         storage.Cursor
	to           storage.Cursor // the last follower; FirstPage for all later followers
	part         string         // a tag, or "@" and an ID for the followers of that user; empty for the followers of the author
	long         bool
}

// segments puts segments on timelines in the background.
type segments struct {
	db
	writer *writer
}

// identity returns the identity of the post, in the form that a stub uses.
func (s segment) identity() string { return identity(s.post, s.author, s.time) }

// member returns the member of `tasks` for a segment.
func (s segment) member() string {
	kind := pushKind
	if s.long {
		kind = pushLongKind
	}
	return fmt.Sprintf("%s:%s:%s:%s:%s", kind, s.identity(), cursorText(s.from), cursorText(s.to), s.part)
}

// cursorText encodes a cursor. The result is empty for FirstPage.
func cursorText(c storage.Cursor) string {
	if c == storage.FirstPage {
		return ""
	}
	return c.String()
}

// errSegment means that a task does not identify a part of the audience of a post.
var errSegment = errors.New("social: not a segment of the audience of a post")

// parseSegment parses the argument of a task.
func parseSegment(argument string) (segment, error) {
	var s segment
	parts := strings.SplitN(argument, ":", 6)
	if len(parts) != 6 {
		return s, fmt.Errorf("%w: %.80q", errSegment, argument)
	}
	var isPost, isAuthor, isFrom, isTo bool
	s.post, isPost = storage.ParseID(parts[0])
	s.author, isAuthor = storage.ParseID(parts[1])
	s.time = parts[2]
	s.from, isFrom = storage.ParseCursor(parts[3])
	s.to, isTo = storage.ParseCursor(parts[4])
	s.part = parts[5]
	if !isPost || !isAuthor || s.time == "" || !isFrom || !isTo {
		return s, fmt.Errorf("%w: %.80q", errSegment, argument)
	}
	return s, nil
}

// set returns the set of followers that a segment is a part of.
func (s segment) set() string {
	if user, isUser := strings.CutPrefix(s.part, "@"); isUser {
		return storage.FollowersPrefix + user
	}
	if s.part != "" {
		return storage.TagFollowersKey(s.part)
	}
	return storage.FollowersKey(s.author)
}

// divide divides the rest of an audience into segments: the followers after remaining.from in the
// set of the first part, and all followers of the other parts. Two round trips, or one if no set is
// large.
func (g *segments) divide(ctx context.Context, remaining segment, parts []string) ([]segment, error) {
	set := func(part string) string { return segment{author: remaining.author, part: part}.set() }
	counts, err := reads.Counts(ctx, g.client, parts, set)
	if err != nil {
		return nil, err
	}
	var cuts rueidis.Commands
	for i, part := range parts {
		for rank := int64(segmentLen); rank < counts[i]; rank += segmentLen {
			cuts = append(cuts, g.client.B().Zrevrange().Key(set(part)).Start(rank).Stop(rank).Withscores().Build())
		}
	}
	var ends []rueidis.RedisResult
	if len(cuts) > 0 {
		ends = g.client.DoMulti(ctx, cuts...)
	}
	var all []segment
	for i, part := range parts {
		next := remaining
		next.part, next.long = part, counts[i] > fewFollowers
		if i > 0 {
			next.from = storage.FirstPage
		}
		for rank := int64(segmentLen); rank < counts[i]; rank += segmentLen {
			end, err := ends[0].AsZScores()
			ends = ends[1:]
			if err != nil {
				return nil, err
			}
			if len(end) == 0 || !storage.IsDigits(end[0].Member) || math.IsInf(end[0].Score, 0) {
				continue // the set has shrunk or is damaged, so the next segment is larger
			}
			next.to = storage.Cursor{Since: strconv.FormatFloat(end[0].Score, 'f', -1, 64), ID: end[0].Member}
			all = append(all, next)
			next.from = next.to
		}
		next.to = storage.FirstPage
		all = append(all, next)
	}
	return all, nil
}

// pushRest records segments for the rest of the audience of a job.
func (e *Engine) pushRest(ctx context.Context, job *Job) ([]string, error) {
	remaining := segment{post: job.post, author: job.Author, time: job.postTime(), from: job.after}
	parts := append([]string{""}, job.Tags...)
	if job.fromParentAuthor {
		parts[0] = "@" + storage.Itoa(job.To)
	}
	members, err := e.segments.note(ctx, remaining, parts[job.source:])
	if err != nil {
		return nil, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	job.source = len(job.Tags) + 1
	return members, nil
}

// note records the segments of an audience as tasks.
func (g *segments) note(ctx context.Context, remaining segment, parts []string) ([]string, error) {
	all, err := g.divide(ctx, remaining, parts)
	if err != nil {
		return nil, err
	}
	members := make([]string, len(all))
	for i, s := range all {
		members[i] = s.member()
	}
	return members, g.tasks.Note(ctx, members...) // queued once the first pages are written
}

// pushTask runs a task that puts a post on the timelines of a segment, unless the post is deleted
// or lost.
func (g *segments) pushTask(ctx context.Context, argument string) error {
	s, err := parseSegment(argument)
	if err != nil {
		return err
	}
	job, err := g.writer.stored(ctx, s.post)
	if errors.Is(err, errDeleted) || errors.Is(err, ErrNoPost) || err == nil && job.identity() != s.identity() {
		return nil
	}
	if err != nil {
		return err
	}
	keys, err := g.homesOf(ctx, s, &job)
	if err == nil {
		err = g.homes.Spread(ctx, s.post, keys...)
	}
	if err != nil {
		return fmt.Errorf("social: fan out post %d: %w", s.post, err)
	}
	return nil
}

// homesOf returns the home timelines of the followers in a segment who get the post of a job.
func (g *segments) homesOf(ctx context.Context, s segment, job *Job) ([]string, error) {
	var all []string
	part := storage.Part{After: s.from, Last: s.to, Until: job.followedBy}
	for {
		ids, last, err := g.follows.IDs(ctx, s.set(), part, pageOfSegment)
		if err != nil {
			return nil, err
		}
		isEnd := len(ids) < pageOfSegment
		if !isEnd && all == nil {
			all = make([]string, 0, segmentLen+1)
		}
		ids = slices.DeleteFunc(ids, isDamagedEntry)
		if job.isNarrow() && (s.part == "" || s.part[0] == '@') {
			job.fromParentAuthor, job.after = s.part != "", part.After
			if ids, err = g.writer.whoFollowBoth(ctx, job, ids); err != nil {
				return nil, err
			}
		}
		all = append(all, homeKeys(ids)...)
		if isEnd {
			return all, nil
		}
		part.After = last
	}
}

// isDamagedEntry reports whether an entry of a set of follows is damaged.
func isDamagedEntry(entry string) bool { return !storage.IsDigits(entry) }
