package fanout

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
)

// maxPending is how many unfinished tasks are read, of all kinds: of imports that wait for their
// limits and of mails there can be thousands. The server takes about a millisecond for them.
const maxPending = 10_000

// pending is what is on its way to timelines at a moment.
type pending struct {
	posts    []pendingPost
	segments []segment // of the followers that get a post
	edited   []string  // ids of posts whose tags change
	more     bool      // there are very many tasks, and older ones were not read
}

// pendingPost is a post whose fan-out is not finished. The author is 0 where an earlier
// version did not say who it is.
type pendingPost struct{ id, author int64 }

// pending reads what is on its way. One round trip.
func (w *writer) pending(ctx context.Context) (p pending, err error) {
	b := w.client.B()
	last := layout.Itoa(maxPending)
	res := w.client.DoMulti(ctx,
		b.Zrange().Key(layout.Tasks).Min("0").Max(last).Rev().Build(),
		b.Zrange().Key(layout.FanOuts).Min("0").Max(last).Rev().Build())
	for i, r := range res {
		members, err := r.AsStrSlice()
		if err != nil && !rediserr.IsWrongType(err) {
			return p, err
		}
		p.more = p.more || len(members) > maxPending
		for _, member := range members {
			if i == 1 {
				member = postKind + ":" + member
			}
			p.add(member)
		}
	}
	return p, nil
}

// add adds a task.
func (p *pending) add(member string) {
	kind, argument, _ := strings.Cut(member, ":")
	switch kind {
	case postKind:
		post, author, _, _ := parseIdentity(argument)
		p.posts = append(p.posts, pendingPost{post, author})
	case pushKind, pushLongKind:
		if s, err := parseSegment(argument); err == nil {
			p.segments = append(p.segments, s)
		}
	case editKind:
		id, _, _ := strings.Cut(argument, ":")
		p.edited = append(p.edited, id)
	}
}

// isPending reports whether a post of a user is on its way: its fan-out may have read
// that somebody follows the user before the follow ended. Where there are very many
// tasks, it may be.
func (w *writer) isPending(ctx context.Context, author int64) (bool, error) {
	p, err := w.pending(ctx)
	return p.more ||
		slices.ContainsFunc(p.posts, func(post pendingPost) bool { return post.author == author || post.author == 0 }) ||
		slices.ContainsFunc(p.segments, func(s segment) bool { return s.author == author }), err
}

// Pushing reports whether a part of the followers of its author is yet to get a post. Where
// there are very many tasks, it may be.
func (e *Engine) Pushing(ctx context.Context, post int64) (bool, error) {
	return e.writer.isPushing(ctx, post)
}

func (w *writer) isPushing(ctx context.Context, post int64) (bool, error) {
	p, err := w.pending(ctx)
	return p.more || slices.ContainsFunc(p.segments, func(s segment) bool { return s.post == post }), err
}

// pendingOfTag returns the posts of a tag that are not on all timelines yet, or are being
// edited.
func (t *homeTimelines) pendingOfTag(ctx context.Context, tag string) ([]int64, error) {
	p, err := t.writer.pending(ctx)
	if err != nil {
		return nil, err
	}
	var found []int64
	for _, s := range p.segments {
		if s.part == tag {
			found = append(found, s.post)
		}
	}
	ids := p.edited
	for _, post := range p.posts {
		ids = append(ids, layout.Itoa(post.id))
	}
	tagged, err := t.writer.onAny(ctx, ids, layout.TagKey(tag))
	for id := range tagged {
		if post, ok := layout.ParseID(id); ok {
			found = append(found, post)
		}
	}
	return found, err
}

// isClaimed reports whether the fan-out of a post is not finished.
func isClaimed(ctx context.Context, client rueidis.Client, s stub) (bool, error) {
	for _, res := range client.DoMulti(ctx, ClaimCommands(client, s.id, s.author, s.time)...) {
		claimed, err := Claimed(res)
		if err != nil || claimed {
			return claimed, err
		}
	}
	return false, nil
}

// ClaimCommands read whether the fan-out of a post is not finished: one of the replies is
// Claimed then.
func ClaimCommands(client rueidis.Client, post, author int64, time string) rueidis.Commands {
	b := client.B()
	return rueidis.Commands{
		b.Zmscore().Key(layout.Tasks).Member(Member(post, author, time)).Build(),
		b.Zmscore().Key(layout.FanOuts).Member(earlierMembers(post, author, time)...).Build(),
	}
}

// Claimed reads a reply to one of ClaimCommands.
func Claimed(res rueidis.RedisResult) (bool, error) {
	claims, err := res.ToArray()
	if rediserr.IsWrongType(err) {
		return false, nil
	}
	return slices.ContainsFunc(claims, func(claim rueidis.RedisMessage) bool { return !claim.IsNil() }), err
}

// IsChanging reports whether a task makes a home timeline agree with a follow of the author
// of a post, or the post itself is on its way: its fan-out can have read a follow before that
// ended. Other posts of the author do not matter.
func (h *Homes) IsChanging(ctx context.Context, user, author, post int64) (bool, error) {
	s, err := h.writer.readStub(ctx, post)
	if err != nil {
		return false, err
	}
	claimed, err := isClaimed(ctx, h.client, s)
	if err != nil || claimed {
		return claimed, err
	}
	changes, err := Claimed(h.client.Do(ctx, h.client.B().Zmscore().Key(layout.Tasks).Member(homeMember(user, author)).Build()))
	if err != nil || changes {
		return changes, err
	}
	return h.writer.isPushing(ctx, post)
}
