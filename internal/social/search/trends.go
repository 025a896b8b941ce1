package search

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

const (
	// MaxTrends is the number of trends of a kind that a page shows.
	MaxTrends = 10
	// MaxLiked is the number of posts liked this week that a page shows.
	MaxLiked = 20
)

// Trends finds the subjects that many people write about or like. It is safe for concurrent use.
type Trends struct {
	opt  TrendsOptions
	kept *storage.Kept[*result]
	tags atomic.Pointer[shownTags]
}

// shownTags are the tags of a result after applying the moderators' decisions.
type shownTags struct {
	result *result
	rules  Decisions
	tags   []TrendingTag // read-only
}

// TrendsOptions configure Trends; all are required.
type TrendsOptions struct {
	timeline.Parts
	Counter *TrendCounter // of this process
	Rules   *TrendRules
	// Blocklist has words and domains that cannot become trends.
	Blocklist *blocklist.List
}

// NewTrends returns the trends of a database.
func NewTrends(opt TrendsOptions) *Trends {
	t := &Trends{opt: opt}
	t.kept = storage.NewKept(opt.DB, storage.Trends, t.load)
	return t
}

// TrendingTag is a tag that is a trend or is pinned.
type TrendingTag struct {
	Trend
	Pinned bool
}

// TrendingPost is a post that is a trend.
type TrendingPost struct {
	timeline.Item
	People int64
}

// Top holds the greatest trends of each kind, as a viewer sees them.
type Top struct {
	Tags  []TrendingTag
	Posts []TrendingPost
	Links []Trend
	Liked []timeline.Item // the most liked posts of the last week that are not in Posts
}

// Top returns the trends: pinned tags first, without blocked tags, and without posts that the
// viewer must not see on public lists. No round trip if the trends and the posts are in memory,
// otherwise one for the trends and one for the posts.
func (t *Trends) Top(ctx context.Context, v *social.Viewer) (Top, error) {
	all, err := t.kept.Get(ctx)
	if err != nil {
		return Top{}, err
	}
	rules, err := t.opt.Rules.read(ctx)
	if err != nil {
		return Top{}, err
	}
	top := Top{Tags: t.apply(all, rules), Links: all.Links[:min(len(all.Links), MaxTrends)]}
	err = t.posts(ctx, v, all, &top)
	return top, err
}

// Tags returns the tags of Top.
func (t *Trends) Tags(ctx context.Context) ([]TrendingTag, error) {
	all, err := t.kept.Get(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := t.opt.Rules.read(ctx)
	if err != nil {
		return nil, err
	}
	return t.apply(all, rules), nil
}

// TagsInMemory is like Tags, but takes no round trip. ok is false if the tags are not in memory.
func (t *Trends) TagsInMemory(ctx context.Context) (tags []TrendingTag, ok bool) {
	all, ok := t.kept.InMemory()
	if !ok || social.IsFresh(ctx) {
		return nil, false
	}
	rules, ok := t.opt.Rules.kept.InMemory()
	if !ok {
		return nil, false
	}
	return t.apply(all, rules), true
}

// apply returns the tags of a page; see Decisions.apply.
func (t *Trends) apply(all *result, rules Decisions) []TrendingTag {
	if known := t.tags.Load(); known != nil && known.result == all && known.rules.same(rules) {
		return known.tags
	}
	tags := rules.apply(all.Tags)
	t.tags.Store(&shownTags{result: all, rules: rules, tags: tags})
	return tags
}

// posts adds the posts that the viewer sees.
func (t *Trends) posts(ctx context.Context, v *social.Viewer, all *result, top *Top) error {
	trends, liked := postsOf(all.Posts), postsOf(all.Liked)
	ids := slices.Clone(trends)
	for _, id := range liked {
		if !slices.Contains(trends, id) {
			ids = append(ids, id)
		}
	}
	items, err := t.opt.Lists.Select(ctx, v, ids, social.Shown)
	if err != nil {
		return err
	}
	if err := t.opt.Lists.Mark(ctx, v, items); err != nil {
		return err
	}
	seen := make(map[int64]timeline.Item, len(items))
	for _, item := range items {
		seen[item.Post.ID] = item
	}
	for i, id := range trends {
		if item, ok := seen[id]; ok && len(top.Posts) < MaxTrends {
			top.Posts = append(top.Posts, TrendingPost{Item: item, People: all.Posts[i].People})
			delete(seen, id)
		}
	}
	for _, id := range liked {
		if item, ok := seen[id]; ok && len(top.Liked) < MaxLiked {
			top.Liked = append(top.Liked, item)
		}
	}
	return nil
}

// postsOf returns the post IDs in a result, with 0 for a damaged ID.
func postsOf(all []Trend) []int64 {
	ids := make([]int64, len(all))
	for i, trend := range all {
		ids[i], _ = storage.ParseID(trend.Name)
	}
	return ids
}

func (t *Trends) load(ctx context.Context) (*result, error) {
	stored, err := reply.TextOrEmpty(t.opt.DB.Read(ctx, t.opt.DB.Client.B().Get().Key(storage.Trends).Cache()))
	if err != nil {
		return nil, fmt.Errorf("social: read trends: %w", err)
	}
	latest := new(result)
	if stored != "" && json.Unmarshal([]byte(stored), latest) != nil {
		return new(result), nil // the next merge replaces a damaged result
	}
	return latest, nil
}
