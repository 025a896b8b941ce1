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

// publicPosts finds out which tags and links have posts that everybody sees. The counts of people
// and the ranks of tags still include users suspended since, and posts hidden or deleted since.
type publicPosts struct{ timeline.Parts }

// publicLooks are the positions, latest first, at which the posts of a tag or the people of a link
// are checked: first a few, then more if all of those are hidden.
var publicLooks = [...][2]int64{{0, 3}, {4, 39}}

// keep returns those tags or links that have a post on public lists among their latest ones, in the
// given order. One round trip for all, one for posts that are not in memory, and the same again if
// some are hidden.
func (p publicPosts) keep(ctx context.Context, kind kind, names []string) ([]string, error) {
	stranger, err := p.Viewers.Get(ctx, social.User{})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, places := range publicLooks {
		rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found[name] })
		if len(rest) == 0 {
			break
		}
		latest, err := p.latest(ctx, kind, rest, places)
		if err != nil {
			return nil, err
		}
		views, err := p.Views.Get(ctx, slices.Concat(latest...)...)
		if err != nil {
			return nil, err
		}
		for i, name := range rest {
			found[name] = slices.ContainsFunc(views[:len(latest[i])], func(v *timeline.View) bool {
				return v != nil && social.Visible(stranger, v.Post) == social.Shown && slices.Contains(subjectsOf(v.Body), subject{kind, name})
			})
			views = views[len(latest[i]):]
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !found[name] }), nil
}

// latest returns the posts at the given positions of tags or links. A key of the wrong type counts
// as empty.
func (p publicPosts) latest(ctx context.Context, kind kind, names []string, places [2]int64) ([][]int64, error) {
	cmds := make(rueidis.Commands, len(names))
	for i, name := range names {
		key := storage.TagKey(name)
		if kind == linkKind {
			key = storage.TrendLinkKey(name)
		}
		cmds[i] = p.DB.Client.B().Zrange().Key(key).Min(storage.Itoa(places[0])).Max(storage.Itoa(places[1])).Rev().Withscores().Build()
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
