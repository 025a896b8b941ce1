package timeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/users"
	"retwis/internal/watched"
)

// View is a post with what a caller has made of it, kept in memory. It never
// changes: after a change of the post there is another View.
type View struct {
	social.Post
	Rendered any // what the function of Views.RenderWith returned; nil without one
}

// Render makes something of a post that is kept with it, such as HTML, and returns
// its size in bytes. before is the View that it replaces, nil for none: where only
// the counts differ, most of its work can be used again.
type Render func(p social.Post, before *View) (rendered any, size int)

// Views keeps the posts that were shown lately.
//
// The server reports each change of a post that this process has read. A View that was read
// before the change is outdated, and the next reader reads it again; but at most once a
// second, so that a post that hundreds like each second is not read hundreds of times.
// Counts of other people's actions are therefore up to a second old. One's own are visible at
// once: see Touch and social.WithFresh.
type Views struct {
	users  *users.Users
	db     storage.Database
	cells  *otter.Cache[int64, *viewCell]
	render Render

	read, reused atomic.Int64
}

type viewCell struct {
	watched.Cell[*View]
	size atomic.Uint32
}

const (
	// viewOverhead is about the size of a View besides its texts.
	viewOverhead = 400
	// defaultViewBytes is the default of NewViews.
	defaultViewBytes = 64 << 20
)

// NewViews returns views that take up to this many bytes, 64 MiB for 0.
func NewViews(db storage.Database, users *users.Users, bytes int64) (*Views, error) {
	bytes = cmp.Or(bytes, defaultViewBytes)
	cells, err := otter.New(&otter.Options[int64, *viewCell]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ int64, c *viewCell) uint32 { return max(c.size.Load(), viewOverhead) },
	})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	return &Views{users: users, db: db, cells: cells}, nil
}

// RenderWith sets what is kept with each post. Call it before the first use.
func (s *Views) RenderWith(render Render) { s.render = render }

// Stats returns how many posts were read from the database, and how many from
// memory.
func (s *Views) Stats() (read, reused int64) { return s.read.Load(), s.reused.Load() }

// Get returns the posts with these ids, a View at the place of each; nil where
// there is no such post. That of a deleted post has Deleted. One round trip at most,
// two where an author is not in memory.
func (s *Views) Get(ctx context.Context, ids ...int64) ([]*View, error) {
	all := make([]*View, len(ids))
	cells := make([]*viewCell, len(ids))
	var need []int
	for i, id := range ids {
		cell, ok := s.cells.GetIfPresent(id)
		if !ok {
			// It is there before the post is read, so that no change is missed
			// meanwhile.
			cell, _ = s.cells.ComputeIfAbsent(id, func() (*viewCell, bool) { return new(viewCell), false })
		}
		if all[i], ok = cell.Get(s.db.Link, watched.Lag); !ok || social.IsFreshPost(ctx, id) {
			cells[i] = cell
			need = append(need, i)
		}
	}
	s.reused.Add(int64(len(ids) - len(need)))
	if len(need) > 0 {
		if err := s.refreshOr(ctx, ids, all, cells, need); err != nil {
			return nil, err
		}
	}
	for i, view := range all {
		if view != nil && view.ID == 0 {
			all[i] = nil
		}
	}
	return all, nil
}

// Remembered returns a post as it was some time ago, nil where it is not in memory:
// for what does not change, its author and the post that it repeats.
func (s *Views) Remembered(id int64) *View {
	if cell, ok := s.cells.GetIfPresent(id); ok && s.db.Link.Watched() {
		if view := cell.Latest(); view != nil && view.ID != 0 {
			return view
		}
	}
	return nil
}

// refreshOr reads posts again, or uses those in memory while their servers cannot be
// reached.
func (s *Views) refreshOr(ctx context.Context, ids []int64, all []*View, cells []*viewCell, need []int) error {
	old, hasOld := make([]*View, len(need)), true
	for n, i := range need {
		ok := false
		if hasOld && !social.IsFreshPost(ctx, ids[i]) {
			old[n], ok = cells[i].Old(s.db.Link)
		}
		hasOld = hasOld && ok
	}
	useOld, err := s.db.Link.Read(ctx, hasOld, func(ctx context.Context) error { return s.refresh(ctx, ids, all, cells, need) })
	if useOld {
		for n, i := range need {
			all[i] = old[n]
		}
	}
	return err
}

// refresh reads posts again.
func (s *Views) refresh(ctx context.Context, ids []int64, all []*View, cells []*viewCell, need []int) error {
	s.read.Add(int64(len(need)))
	asked := make([]int64, len(need))
	stamps := make([]watched.Stamp, len(need))
	results := make([]rueidis.RedisResult, len(need))
	var cached []rueidis.Cacheable
	var cachedAt []int
	for n, i := range need {
		asked[n] = ids[i]
		isCached := !social.IsFreshPost(ctx, ids[i])
		stamps[n] = cells[i].Begin(s.db.Link, isCached)
		cmd := PostCommand(s.db.Client, ids[i])
		if !isCached {
			results[n] = s.db.Client.Do(ctx, rueidis.Completed(cmd))
			continue
		}
		cached, cachedAt = append(cached, cmd), append(cachedAt, n)
	}
	if len(cached) > 0 {
		for j, res := range s.db.ReadCached(ctx, cached) {
			results[cachedAt[j]] = res
		}
	}
	posts, err := ParseAll(ctx, s.users, asked, results)
	if err != nil {
		return err
	}
	for n, i := range need {
		view := &View{Post: posts[n]}
		size := 0
		if s.render != nil && view.ID != 0 && !view.Deleted {
			view.Rendered, size = s.render(view.Post, cells[i].Latest())
		}
		all[i] = view
		cells[i].Put(view, stamps[n])
		size += len(view.Body) + len(view.Media) + viewOverhead
		if cells[i].size.Swap(uint32(min(size, math.MaxUint32))) != uint32(size) {
			s.weigh(ids[i], cells[i])
		}
	}
	return nil
}

// weigh has the cache weigh a cell again. One that it has dropped meanwhile has missed
// changes, and does not come back.
func (s *Views) weigh(id int64, cell *viewCell) {
	s.cells.ComputeIfPresent(id, func(now *viewCell) (*viewCell, otter.ComputeOp) {
		if now != cell {
			return now, otter.CancelOp
		}
		return cell, otter.WriteOp
	})
}

// Touch makes the next reader in this process see the latest state of a post: this
// process has just changed it.
func (s *Views) Touch(id int64) {
	if cell, ok := s.cells.GetEntryQuietly(id); ok {
		cell.Value.Force()
	}
}

// Invalidate notes that a post has changed.
func (s *Views) Invalidate(id int64) {
	if cell, ok := s.cells.GetEntryQuietly(id); ok {
		cell.Value.Changed()
	}
}
