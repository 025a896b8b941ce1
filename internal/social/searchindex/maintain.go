package searchindex

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

// Report is the result of Verify, Repair or Rebuild.
type Report struct {
	Posts  maintain.Report `json:"posts"`
	People maintain.Report `json:"people"`
}

// Index is both indexes.
type Index struct {
	Posts  *Posts
	People *People
}

// Exists reports whether the database has an index of posts: one from before there was any
// needs Rebuild. One round trip.
func (x Index) Exists(ctx context.Context) (bool, error) { return x.Posts.exists(ctx) }

// Rebuild makes both indexes anew from all posts and users, while they are in use. It can be
// killed and repeated. A million posts take a few minutes.
func (x Index) Rebuild(ctx context.Context, opt maintain.Options) (r Report, err error) {
	err = x.Posts.do(ctx, func(at *text.Index) error {
		r.Posts, err = at.Rebuild(ctx, x.Posts.source(), opt)
		return err
	})
	if err != nil {
		return r, err
	}
	err = x.People.do(ctx, func(at *text.Index) error {
		r.People, err = at.Rebuild(ctx, x.People.source(true), opt)
		return err
	})
	return r, err
}

// Verify compares both indexes with all posts and users; with repair, it corrects them. Work
// that goes on meanwhile can look like a problem.
func (x Index) Verify(ctx context.Context, opt maintain.Options, repair bool) (r Report, err error) {
	if r.Posts, err = x.Posts.Verify(ctx, opt, repair); err == nil {
		r.People, err = x.People.Verify(ctx, opt, repair)
	}
	return r, err
}

// Verify is Index.Verify for posts.
func (x *Posts) Verify(ctx context.Context, opt maintain.Options, repair bool) (maintain.Report, error) {
	return x.verify(ctx, x.source(), opt, repair)
}

// Verify is Index.Verify for people.
func (x *People) Verify(ctx context.Context, opt maintain.Options, repair bool) (maintain.Report, error) {
	return x.verify(ctx, x.source(repair), opt, repair)
}

func (o *opened) verify(ctx context.Context, src index.Source[text.Document], opt maintain.Options, repair bool) (r maintain.Report, err error) {
	err = o.do(ctx, func(x *text.Index) error {
		if repair {
			r, err = x.Repair(ctx, &src, opt)
		} else {
			r, err = x.Verify(ctx, &src, opt)
		}
		return err
	})
	return r, err
}

// step is how many posts or people are read at a time.
const step = 500

// lookup returns the objects of some ids, as index.Source.Lookup.
type lookup func(ctx context.Context, ids []string) ([]index.Object[text.Document], error)

// sourceOf is the source of the objects whose ids a counter has given.
func sourceOf(client rueidis.Client, counter string, read func(ctx context.Context, ids []int64) ([]index.Object[text.Document], error)) index.Source[text.Document] {
	var find lookup = func(ctx context.Context, ids []string) ([]index.Object[text.Document], error) {
		numbers := make([]int64, 0, len(ids))
		for _, id := range ids {
			if n, ok := layout.ParseID(id); ok {
				numbers = append(numbers, n)
			}
		}
		return read(ctx, numbers)
	}
	return index.Source[text.Document]{
		Lookup: find,
		All: func(ctx context.Context) iter.Seq2[index.Object[text.Document], error] {
			return func(yield func(index.Object[text.Document], error) bool) {
				last, err := reply.Text(client.Do(ctx, client.B().Get().Key(counter).Build()))
				if err != nil {
					yield(index.Object[text.Document]{}, fmt.Errorf("social: key %s: %w", counter, err))
					return
				}
				end, _ := layout.ParseID(last)
				eachStep(ctx, 1, end, find)(yield)
			}
		},
	}
}

// eachStep yields the objects with ids from first to last, in their order.
func eachStep(ctx context.Context, first, last int64, find lookup) iter.Seq2[index.Object[text.Document], error] {
	return func(yield func(index.Object[text.Document], error) bool) {
		for ; first <= last; first += step {
			ids := make([]string, 0, step)
			for id := first; id <= min(last, first+step-1); id++ {
				ids = append(ids, layout.Itoa(id))
			}
			page, err := find(ctx, ids)
			if err != nil {
				yield(index.Object[text.Document]{}, err)
				return
			}
			for _, o := range page {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}
