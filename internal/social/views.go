package social

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"
)

// View is a post with what a caller has made of it, kept in memory. It never
// changes: after a change of the post there is another View.
type View struct {
	Post
	Rendered any // what the function of Service.RenderWith returned; nil without one

	change
}

// Render makes something of a post that is kept with it, such as HTML, and returns
// its size in bytes. before is the View that it replaces, nil for none: where only
// the counts differ, most of its work can be used again.
type Render func(p Post, before *View) (rendered any, size int)

// views keeps the posts that were shown lately.
//
// The server reports each change of a post that this process has read
// (Options.Invalidations). A View that was read before the change is outdated, and
// the next reader reads it again; but at most once a second, so that a post that
// hundreds like each second is not read hundreds of times. Counts of other people's
// actions are therefore up to a second old. One's own are visible at once: see touch
// and WithFresh.
type views struct {
	*users
	cells   *otter.Cache[int64, *viewCell]
	epoch   *atomic.Uint64
	watched bool
	render  Render

	read, reused atomic.Int64
}

type viewCell struct {
	view    atomic.Pointer[View]
	changed atomic.Uint64 // the number of changes
	forced  atomic.Bool   // the next reader does not wait
	busy    atomic.Bool   // a reader is reading it again
	size    atomic.Uint32
}

const (
	// refreshEvery is how old a View must be before it is read again. A page that
	// package web sends again for a moment is less than a second old all the same.
	refreshEvery = int64(900 * time.Millisecond)
	// viewOverhead is about the size of a View besides its texts.
	viewOverhead = 400
	// defaultViewBytes is the default of Options.ViewBytes.
	defaultViewBytes = 64 << 20
)

func newViews(users *users, bytes int64, epoch *atomic.Uint64, watched bool) (*views, error) {
	cells, err := otter.New(&otter.Options[int64, *viewCell]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ int64, c *viewCell) uint32 { return max(c.size.Load(), viewOverhead) },
	})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	return &views{users: users, cells: cells, epoch: epoch, watched: watched}, nil
}

// RenderWith sets what is kept with each post. Call it before the first use.
func (s *views) RenderWith(render Render) { s.render = render }

// ViewStats returns how many posts were read from the database, and how many from
// memory.
func (s *views) ViewStats() (read, reused int64) { return s.read.Load(), s.reused.Load() }

// Views returns the posts with these ids, a View at the place of each; nil where
// there is no such post. That of a deleted post has Deleted. One round trip at most,
// two where an author is not in memory.
func (s *views) Views(ctx context.Context, ids ...int64) ([]*View, error) {
	all := make([]*View, len(ids))
	cells := make([]*viewCell, len(ids))
	now := time.Now().UnixNano()
	var need []int
	for i, id := range ids {
		cell, ok := s.cells.GetIfPresent(id)
		if !ok {
			// It is there before the post is read, so that no change is missed
			// meanwhile.
			cell, _ = s.cells.ComputeIfAbsent(id, func() (*viewCell, bool) { return new(viewCell), false })
		}
		view := cell.view.Load()
		if view == nil || !s.current(cell, view, now) || isFreshPost(ctx, id) {
			cells[i] = cell
			need = append(need, i)
		}
		all[i] = view
	}
	s.reused.Add(int64(len(ids) - len(need)))
	if len(need) > 0 {
		if err := s.refreshOr(ctx, ids, all, cells, need, now); err != nil {
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

// remembered returns a post as it was some time ago, nil where it is not in memory:
// for what does not change, its author and the post that it repeats.
func (s *views) remembered(id int64) *View {
	if cell, ok := s.cells.GetIfPresent(id); ok && s.watched {
		if view := cell.view.Load(); view != nil && view.ID != 0 {
			return view
		}
	}
	return nil
}

// current reports whether a View may be shown.
func (s *views) current(cell *viewCell, view *View, now int64) bool {
	if !s.watched || cell.forced.Load() {
		return false
	}
	age := now - view.at
	if view.changed == cell.changed.Load() && view.epoch == s.epoch.Load() {
		return age < maxDecoded
	}
	return age < refreshEvery || cell.busy.Load()
}

// refreshOr reads posts again, and leaves those in memory where a part of the database
// is away: all of them, for a minute.
func (s *views) refreshOr(ctx context.Context, ids []int64, all []*View, cells []*viewCell, need []int, now int64) error {
	has := s.watched
	for _, i := range need {
		has = has && all[i] != nil && now-all[i].at < maxDecoded && !isFreshPost(ctx, ids[i])
	}
	if has && s.isAway() {
		return nil
	}
	bounded, cancel := s.patient(ctx, has)
	defer cancel()
	err := s.refresh(bounded, ids, all, cells, need, now)
	if s.failed(ctx, err) && has {
		return nil
	}
	return err
}

// refresh reads posts again.
func (s *views) refresh(ctx context.Context, ids []int64, all []*View, cells []*viewCell, need []int, now int64) error {
	s.read.Add(int64(len(need)))
	asked := make([]int64, len(need))
	changes := make([]change, len(need))
	results := make([]rueidis.RedisResult, len(need))
	var cached []rueidis.Cacheable
	var cachedAt []int
	for n, i := range need {
		cell := cells[i]
		cell.busy.Store(true)
		defer cell.busy.Store(false)
		cell.forced.Store(false)
		asked[n] = ids[i]
		changes[n] = change{changed: cell.changed.Load(), epoch: s.epoch.Load(), at: now}
		cmd := postCommand(s.client, ids[i])
		if isFreshPost(ctx, ids[i]) {
			changes[n].changed = never
			results[n] = s.client.Do(ctx, rueidis.Completed(cmd))
			continue
		}
		cached, cachedAt = append(cached, cmd), append(cachedAt, n)
	}
	if len(cached) > 0 {
		for j, res := range s.readCached(ctx, cached) {
			results[cachedAt[j]] = res
		}
	}
	posts, err := s.parseAll(ctx, asked, results)
	if err != nil {
		for _, i := range need {
			cells[i].forced.Store(true)
		}
		return err
	}
	for n, i := range need {
		view := &View{Post: posts[n], change: changes[n]}
		size := 0
		if s.render != nil && view.ID != 0 && !view.Deleted {
			view.Rendered, size = s.render(view.Post, all[i])
		}
		all[i] = view
		cells[i].view.Store(view)
		size += len(view.Body) + viewOverhead
		if cells[i].size.Swap(uint32(min(size, math.MaxUint32))) != uint32(size) {
			s.cells.Set(ids[i], cells[i])
		}
	}
	return nil
}

// touch makes the next reader in this process see the latest state of a post: this
// process has just changed it.
func (s *views) touch(id int64) {
	if cell, ok := s.cells.GetEntryQuietly(id); ok {
		cell.Value.changed.Add(1)
		cell.Value.forced.Store(true)
	}
}

// invalidate notes that a post has changed.
func (s *views) invalidate(id int64) {
	if cell, ok := s.cells.GetEntryQuietly(id); ok {
		cell.Value.changed.Add(1)
	}
}
