package timeline

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/watched"
)

// View is a post kept in memory, together with its rendered form. A View is immutable; a change of
// the post produces another View.
type View struct {
	social.Post
	Rendered any // the result of the function passed to Views.RenderWith, or nil
	size     int // in bytes
}

// Render renders a post, for example to HTML, and returns the result, which is kept with the post,
// and its size in bytes. before is the View that is replaced, or nil. If only the counts differ,
// most of the previous result can be reused.
type Render func(p social.Post, before *View) (rendered any, size int)

// Views caches recently shown posts.
//
// The server reports each change of a post that this process has read. A View that was read before
// the change is stale, and the next reader reads the post again, but at most once a second, so that
// a post with hundreds of likes per second is not read hundreds of times. Counts of other people's
// actions are therefore up to a second old. A viewer's own actions are visible immediately; see
// Touch and social.WithFresh.
type Views struct {
	users  *storage.Users
	db     storage.Database
	kept   *watched.Map[*View]
	render Render

	asked, read atomic.Int64
}

const (
	// viewOverhead is the approximate size of a View besides its texts.
	viewOverhead = 200
	// defaultViewBytes is the default of NewViews.
	defaultViewBytes = 64 << 20
)

// NewViews returns Views that take up to the given number of bytes, or 64 MiB if bytes is 0.
func NewViews(db storage.Database, users *storage.Users, bytes int64) (*Views, error) {
	kept, err := storage.NewMap(db, watched.Options[*View]{
		Keys: []string{storage.PostPrefix}, Lag: watched.Lag, IsFresh: social.IsFreshPost, Fenced: true,
		Bytes: cmp.Or(bytes, defaultViewBytes), Size: func(v *View) int { return v.size },
	})
	return &Views{users: users, db: db, kept: kept}, err
}

// RenderWith sets the function that renders each post. Call it before the first use.
func (s *Views) RenderWith(render Render) { s.render = render }

// Stats returns the number of posts that were read from the database, and the number of posts that
// were served from memory.
func (s *Views) Stats() (read, reused int64) {
	read = s.read.Load()
	return read, s.asked.Load() - read
}

// Get returns a View for each ID, or nil for a post that does not exist. The View of a deleted post
// has Deleted set. At most one round trip, or two if an author is not in memory.
func (s *Views) Get(ctx context.Context, ids ...int64) ([]*View, error) {
	s.asked.Add(int64(len(ids)))
	all, err := s.kept.GetMany(ctx, ids, watched.Ask[*View]{Load: s.load})
	if err != nil {
		return nil, err
	}
	for i, view := range all {
		if view.ID == 0 {
			all[i] = nil
		}
	}
	return all, nil
}

// Remembered returns a post as it was some time ago, or nil if the post is not in memory. Use it
// only for data that does not change, such as the author and the original.
func (s *Views) Remembered(id int64) *View {
	if view := s.kept.Latest(id); s.db.Link.Watched() && view != nil && view.ID != 0 {
		return view
	}
	return nil
}

// load reads posts.
func (s *Views) load(ctx context.Context, reads []*watched.Read[*View]) error {
	s.read.Add(int64(len(reads)))
	ids, cmds := make([]int64, len(reads)), make([]rueidis.Cacheable, len(reads))
	for i, r := range reads {
		ids[i], cmds[i] = r.ID, PostCommand(s.db.Client, r.ID)
	}
	get := s.db.ReadCached
	if reads[0].Fresh {
		get = func(ctx context.Context, cmds []rueidis.Cacheable) []rueidis.RedisResult {
			return s.db.ReadMany(ctx, cmds...)
		}
	}
	posts, err := ParseAll(ctx, s.users, ids, get(ctx, cmds))
	if err != nil {
		return err
	}
	for i, r := range reads {
		r.Value = &View{Post: posts[i], size: len(posts[i].Body) + len(posts[i].Media) + viewOverhead}
		if s.render != nil && r.Value.ID != 0 && !r.Value.Deleted {
			rendered, size := s.render(r.Value.Post, r.Before)
			r.Value.Rendered, r.Value.size = rendered, r.Value.size+size
		}
	}
	return nil
}

// Touch makes the next reader in this process see the latest state of a post that this process has
// just changed.
func (s *Views) Touch(id int64) { s.kept.Force(id) }
