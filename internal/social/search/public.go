package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// publicPosts finds the tags and links that have posts on public lists. The counts of people and
// the ranks of tags do not suffice, because they include users suspended since, and posts hidden or
// deleted since.
type publicPosts struct{ timeline.Parts }

// publicRanges are the ranges of positions, latest first, at which the posts of a tag or a link are
// checked: first a few posts, then more if all of these are hidden.
var publicRanges = [...][2]int64{{0, 3}, {4, 39}}

// keep returns the tags or links that have a post on public lists among their latest posts, in the
// given order. One round trip for all names, one for posts that are not in memory, and the same
// again if a name has only hidden posts so far.
func (p publicPosts) keep(ctx context.Context, kind kind, names []string) ([]string, error) {
	visitor, err := p.Viewers.Get(ctx, social.User{})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, positions := range publicRanges {
		remaining := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found[name] })
		if len(remaining) == 0 {
			break
		}
		latest, err := p.latest(ctx, kind, remaining, positions)
		if err != nil {
			return nil, err
		}
		views, err := p.Views.Get(ctx, slices.Concat(latest...)...)
		if err != nil {
			return nil, err
		}
		for i, name := range remaining {
			found[name] = slices.ContainsFunc(views[:len(latest[i])], func(v *timeline.View) bool {
				return v != nil && social.Visible(visitor, v.Post) == social.Shown && slices.Contains(subjectsOf(v.Body), subject{kind, name})
			})
			views = views[len(latest[i]):]
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !found[name] }), nil
}

// latest returns the posts at the given positions of tags or links. A key of the wrong type counts
// as empty.
func (p publicPosts) latest(ctx context.Context, kind kind, names []string, positions [2]int64) ([][]int64, error) {
	cmds := make(rueidis.Commands, len(names))
	for i, name := range names {
		key := storage.TagKey(name)
		if kind == linkKind {
			key = storage.TrendLinkKey(name)
		}
		cmds[i] = p.DB.Client.B().Zrange().Key(key).Min(storage.Itoa(positions[0])).Max(storage.Itoa(positions[1])).Rev().Withscores().Build()
	}
	latest := make([][]int64, len(names))
	for i, res := range p.DB.Client.DoMulti(ctx, cmds...) {
		entries, err := reply.OrEmpty(res.AsZScores())
		if err != nil {
			return nil, fmt.Errorf("social: read the latest posts of %s: %w", kind, err)
		}
		for _, e := range entries {
			latest[i] = append(latest[i], int64(e.Score))
		}
	}
	return latest, nil
}
