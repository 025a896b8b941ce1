package fanout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/social/task"
)

// Kinds of tasks that put a post on the timelines of a part of its audience, or remove a
// deleted post from them:
// "<kind>:<post>:<author>:<time>:<from>:<to>:<part>"; see slice. Parts of more than
// fewFollowers have kinds of their own: they are long tasks.
const (
	pushKind       = "push"
	pushLongKind   = "push_long"
	unpushKind     = "unpush"
	unpushLongKind = "unpush_long"
)

const (
	// sliceLen is how many followers a slice has at the most. On a Cluster the
	// timelines of fewer followers are spread over so many slots that one script
	// writes only one.
	sliceLen = 100_000
	// fewFollowers is how many followers are written in a moment.
	fewFollowers = 10_000
	// pageOfSlice is how many followers of a slice are read at a time.
	pageOfSlice = 2000
)

// slice is a part of the audience of a post: the followers of its author, or of a tag,
// after one of them and up to another. Both are times and ids: a slice stays the same
// while people begin and cease to follow.
type slice struct {
	post, author int64
	time         string // of the post: with the author it tells a post from another that got its id after a failover
	from         storage.Cursor
	to           storage.Cursor // the last one; First: all that follow
	part         string         // a tag, or "@" and an id for the followers of that user; empty for those of the author
	long         bool
}

// identity is how a stub writes what identifies a post.
func (s slice) identity() string { return Member(s.post, s.author, s.time) }

// member is the member of `tasks` for a slice, of the kind for short or long ones.
func (s slice) member(short, long string) string {
	kind := short
	if s.long {
		kind = long
	}
	return fmt.Sprintf("%s:%s:%s:%s:%s", kind, s.identity(), cursorText(s.from), cursorText(s.to), s.part)
}

// cursorText writes a cursor; First is empty.
func cursorText(c storage.Cursor) string {
	if c == storage.FirstPage {
		return ""
	}
	return c.String()
}

// errSlice: a task does not say which part of the audience of which post it is for.
var errSlice = errors.New("social: not a part of the audience of a post")

// parseSlice reads the argument of a task.
func parseSlice(argument string) (slice, error) {
	var s slice
	parts := strings.SplitN(argument, ":", 6)
	if len(parts) != 6 {
		return s, fmt.Errorf("%w: %.80q", errSlice, argument)
	}
	var isPost, isAuthor, isFrom, isTo bool
	s.post, isPost = layout.ParseID(parts[0])
	s.author, isAuthor = layout.ParseID(parts[1])
	s.time = parts[2]
	s.from, isFrom = storage.ParseCursor(parts[3])
	s.to, isTo = storage.ParseCursor(parts[4])
	s.part = parts[5]
	if !isPost || !isAuthor || !isFrom || !isTo {
		return s, fmt.Errorf("%w: %.80q", errSlice, argument)
	}
	return s, nil
}

// set is the set of followers that a slice is a part of.
func (s slice) set() string {
	if user, isUser := strings.CutPrefix(s.part, "@"); isUser {
		return layout.FollowersPrefix + user
	}
	if s.part != "" {
		return layout.TagFollowersKey(s.part)
	}
	return layout.FollowersKey(s.author)
}

// slices divides the rest of an audience: the followers after a cursor in the set of the
// first part, and all of those of the others. Two round trips, one where no set is large.
func (w *writer) slices(ctx context.Context, whole slice, parts []string) ([]slice, error) {
	sizes := make(rueidis.Commands, len(parts))
	sets := make([]string, len(parts))
	for i, part := range parts {
		sets[i] = slice{author: whole.author, part: part}.set()
		sizes[i] = w.client.B().Zcard().Key(sets[i]).Build()
	}
	var cuts rueidis.Commands
	counts := make([]int64, len(parts))
	for i, res := range w.client.DoMulti(ctx, sizes...) {
		var err error
		if counts[i], err = res.AsInt64(); err != nil && !rediserr.IsWrongType(err) {
			return nil, err
		}
		for rank := int64(sliceLen); rank < counts[i]; rank += sliceLen {
			cuts = append(cuts, w.client.B().Zrevrange().Key(sets[i]).Start(rank).Stop(rank).Withscores().Build())
		}
	}
	var ends []rueidis.RedisResult
	if len(cuts) > 0 {
		ends = w.client.DoMulti(ctx, cuts...)
	}
	var all []slice
	for i, part := range parts {
		next := whole
		next.part, next.long = part, counts[i] > fewFollowers
		if i > 0 {
			next.from = storage.FirstPage
		}
		for rank := int64(sliceLen); rank < counts[i]; rank += sliceLen {
			end, err := ends[0].AsZScores()
			ends = ends[1:]
			if err != nil {
				return nil, err
			}
			if len(end) == 0 || !storage.IsDigits(end[0].Member) || math.IsInf(end[0].Score, 0) {
				continue // the set has shrunk, or is damaged: the next slice is larger
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

// pushRest leaves the rest of the audience of a job to the background, in slices.
func (e *Engine) pushRest(ctx context.Context, job *Job) ([]string, error) {
	whole := slice{post: job.post, author: job.Author, time: job.postTime(), from: job.after}
	parts := append([]string{""}, job.Tags...)
	if job.ofOther {
		parts[0] = "@" + layout.Itoa(job.To)
	}
	members, err := e.slicesOf(ctx, whole, parts[job.source:], pushKind, pushLongKind)
	if err != nil {
		return nil, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	job.source = len(job.Tags) + 1
	return members, nil
}

// slicesOf notes the slices of an audience as tasks.
func (e *Engine) slicesOf(ctx context.Context, whole slice, parts []string, short, long string) ([]string, error) {
	all, err := e.writer.slices(ctx, whole, parts)
	if err != nil {
		return nil, err
	}
	members := make([]string, len(all))
	for i, s := range all {
		members[i] = s.member(short, long)
	}
	return members, e.tasks.Note(ctx, members...)
}

// pushTask is a task that puts a post on the timelines of a slice. One that is deleted
// meanwhile is removed again: the deletion can have come to a timeline before.
func (e *Engine) pushTask(ctx context.Context, argument string) error {
	s, err := parseSlice(argument)
	if err != nil {
		return err
	}
	w := &e.writer
	is, err := w.stateOf(ctx, s)
	if err == nil && is == present {
		job, err := w.stored(ctx, s.post)
		switch {
		case errors.Is(err, errDeleted), errors.Is(err, ErrNoPost):
			is = gone
		case err != nil:
			return err
		default:
			keys, err := w.homesOf(ctx, s, &job)
			if err == nil {
				err = w.homes.Spread(ctx, s.post, keys...)
			}
			if err == nil {
				is, err = w.stateOf(ctx, s)
			}
			if err != nil || is == present {
				return wrapSlice(s, err)
			}
		}
	}
	if err != nil {
		return err
	}
	if err = w.withdraw(ctx, s, is); err == nil {
		is, err = w.stateOf(ctx, s)
	}
	if err == nil && is == present {
		return task.ErrAgain // its process has written a lost post again
	}
	return err
}

// unpushTask is a task that removes a deleted post from the timelines of a slice.
func (e *Engine) unpushTask(ctx context.Context, argument string) error {
	s, err := parseSlice(argument)
	if err != nil {
		return err
	}
	is, err := e.writer.stateOf(ctx, s)
	if err != nil || is == present {
		return err
	}
	return e.writer.withdraw(ctx, s, is)
}

// withdraw removes a post that is gone from the home timelines of a slice.
func (w *writer) withdraw(ctx context.Context, s slice, is presence) error {
	keys, err := w.homesOf(ctx, s, nil)
	switch {
	case err != nil:
	case is == replaced:
		err = w.withdrawLost(ctx, s.post, keys)
	default:
		err = w.homes.Withdraw(ctx, s.post, keys...)
	}
	return wrapSlice(s, err)
}

func wrapSlice(s slice, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: fan out post %d: %w", s.post, err)
}

// presence is what has become of a post.
type presence int

const (
	present  presence = iota
	gone              // it is deleted, or lost
	replaced          // it is lost, and its id belongs to another post by now
)

// stateOf returns what has become of the post of a slice. A slice that does not say when
// its post was written could be of another one, which is an error.
func (w *writer) stateOf(ctx context.Context, s slice) (presence, error) {
	stub, err := w.readStub(ctx, s.post)
	switch {
	case err != nil:
		return gone, err
	case !stub.exists:
		return gone, nil
	case stub.argument() != s.identity() && s.time == "":
		return gone, fmt.Errorf("%w: post %d without its time", errSlice, s.post)
	case stub.argument() != s.identity() && !stub.isDeleted:
		return replaced, nil
	case stub.isDeleted:
		return gone, nil
	}
	return present, nil
}

// homesOf reads the home timelines of a slice: with a job, of those followers who get its
// post.
func (w *writer) homesOf(ctx context.Context, s slice, job *Job) ([]string, error) {
	var all []string
	part := storage.Part{After: s.from, Last: s.to}
	if job != nil {
		part.Until = job.followedBy
	}
	for {
		ids, last, err := w.follows.IDs(ctx, s.set(), part, pageOfSlice)
		if rediserr.IsWrongType(err) && job == nil {
			return all, nil // a check reports it
		}
		if err != nil {
			return nil, err
		}
		isEnd := len(ids) < pageOfSlice
		if !isEnd && all == nil {
			all = make([]string, 0, sliceLen+1)
		}
		ids = slices.DeleteFunc(ids, isNoID)
		if job != nil && job.isNarrow() && (s.part == "" || s.part[0] == '@') {
			job.ofOther, job.after = s.part != "", part.After
			if ids, err = w.whoFollowBoth(ctx, job, ids); err != nil {
				return nil, err
			}
		}
		all = append(all, homes(ids)...)
		if isEnd {
			return all, nil
		}
		part.After = last
	}
}

// isNoID reports whether an entry of a set of follows is damaged.
func isNoID(entry string) bool { return !storage.IsDigits(entry) }

// Pushing reports whether a part of the followers of its author is yet to get a post. Where
// there are very many tasks, it may be.
func (e *Engine) Pushing(ctx context.Context, post int64) (bool, error) {
	return e.writer.pushing(ctx, func(id, _ int64) bool { return id == post })
}

// ChangesHome reports whether a task makes a home timeline agree with a follow of the author
// of a post, or the post itself is on its way: its fan-out can have read a follow before that
// ended. Other posts of the author do not matter.
func (e *Engine) ChangesHome(ctx context.Context, user, author, post int64) (bool, error) {
	w := &e.writer
	stub, err := w.readStub(ctx, post)
	if err != nil {
		return false, err
	}
	b := w.client.B()
	res := w.client.DoMulti(ctx,
		b.Zmscore().Key(layout.Tasks).Member(fmt.Sprintf("%s:%d:%d", homeKind, user, author)).Build(),
		b.Zmscore().Key(layout.FanOuts).Member(Members(post, stub.author, stub.time)...).Build())
	for _, r := range res {
		scores, err := r.ToArray()
		if err != nil && !rediserr.IsWrongType(err) {
			return false, err
		}
		for _, score := range scores {
			if !score.IsNil() {
				return true, nil
			}
		}
	}
	return e.Pushing(ctx, post)
}

// pushing reports whether a slice of the posts that match is not written yet. Where there
// are very many tasks, it may be.
func (w *writer) pushing(ctx context.Context, matches func(post, author int64) bool) (bool, error) {
	members, err := w.client.Do(ctx, w.client.B().Zrange().Key(layout.Tasks).Min("0").Max(layout.Itoa(maxPending)).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return false, err
	}
	if len(members) > maxPending {
		return true, nil
	}
	for _, member := range members {
		kind, argument, _ := strings.Cut(member, ":")
		if kind != pushKind && kind != pushLongKind {
			continue
		}
		if s, err := parseSlice(argument); err == nil && matches(s.post, s.author) {
			return true, nil
		}
	}
	return false, nil
}
