package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"retwis/index"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// completions checks that every name and every tag is in the completion index.
func (c *keyCheck) completions(ctx context.Context) error {
	if c.check.foreign[storage.Completions] || c.check.opt.Part < 1 {
		return nil
	}
	index := c.check.app.Completions.Completion()
	for term, err := range index.Missing(ctx) {
		if err != nil {
			return err
		}
		p := Problem{
			Kind: maintain.Missing, Key: storage.Completions, Leftover: true,
			Detail: term + " is missing from the completion index", Repair: "add it",
		}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, index.Restore(ctx, term) })
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// searchSamples is the number of posts looked up in the search index: half of them the latest
	// posts, half of them random ones.
	searchSamples = 500
	// maxLacking limits the number of reported posts.
	maxLacking = 10
)

// search looks up some posts in the search index. The repair checks the whole index.
func (c *keyCheck) search(ctx context.Context) error {
	if c.check.foreign[storage.SearchIndex] || c.check.opt.Part < 1 {
		return nil
	}
	x := c.check.app.SearchIndex
	isBuilt, err := x.IsBuilt(ctx)
	if err != nil || !isBuilt { // the site will build the index
		return err
	}
	last, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Get().Key(storage.NextPostID).Build()))
	if err != nil {
		return err
	}
	lacking, err := x.Posts.Lacking(ctx, samplesUpTo(last))
	if errors.Is(err, index.ErrCorrupt) || errors.Is(err, index.ErrForeign) || rediserr.IsWrongType(err) {
		p := Problem{Kind: maintain.Invalid, Key: search.PostsKey, Detail: err.Error(), Repair: "repair it"}
		return c.check.found(ctx, p, c.repairSearch)
	}
	if err != nil {
		return fmt.Errorf("key %s: %w", search.PostsKey, err)
	}
	if lacking, err = c.notPending(ctx, lacking); err != nil {
		return err
	}
	var problems []Problem
	for _, id := range lacking[:min(len(lacking), maxLacking)] {
		problems = append(problems, Problem{
			Kind: maintain.Missing, Key: storage.PostKey(id), Leftover: true,
			Detail: "is missing from the search index", Repair: "repair the search index, as `retwis search rebuild` does",
		})
	}
	if len(problems) == 0 {
		return nil
	}
	return c.check.foundAll(ctx, problems, c.repairSearch)
}

func (c *keyCheck) repairSearch(ctx context.Context) (bool, error) {
	r, err := c.check.app.SearchIndex.Verify(ctx, maintain.Options{}, true)
	return r.Posts.Repaired+r.People.Repaired > 0, err
}

// samplesUpTo returns the latest post IDs up to last, and random earlier ones.
func samplesUpTo(last string) []int64 {
	n, _ := storage.ParseID(last)
	var ids []int64
	for id := n; id > 0 && len(ids) < searchSamples/2; id-- {
		ids = append(ids, id)
	}
	earlier := n - int64(len(ids))
	for range min(earlier, searchSamples/2) {
		ids = append(ids, 1+rand.Int64N(earlier))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// notPending returns the given posts that are still missing from the index and that no pending task
// is going to index.
func (c *keyCheck) notPending(ctx context.Context, ids []int64) ([]int64, error) {
	var settled []int64
	for _, id := range ids {
		pending, err := c.check.fanOut.Indexing(ctx, id)
		if err != nil {
			return nil, err
		}
		if !pending {
			settled = append(settled, id)
		}
	}
	return c.check.app.SearchIndex.Posts.Lacking(ctx, settled)
}
