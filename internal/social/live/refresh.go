package live

import (
	"context"
	"sync"
	"time"

	"retwis/internal/sleep"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/social/timeline"
)

// reports are the keys that have changed since they were last taken. The connections
// to the database write them, which must not wait for a connection to a browser.
type reports struct {
	mu     sync.Mutex
	all    bool // every person
	posts  map[int64]struct{}
	people map[int64]struct{} // whose follows, mutes or blocks have changed
	inbox  map[int64]struct{} // whose notifications have changed
	users  map[int64]struct{} // whose sessions may have ended
}

func newReports() reports {
	return reports{posts: map[int64]struct{}{}, people: map[int64]struct{}{}, inbox: map[int64]struct{}{}, users: map[int64]struct{}{}}
}

// changes are what has to be read again, and what changed when.
type changes struct {
	members  map[*member]struct{}
	unread   map[*member]struct{}
	sessions map[*member]struct{}
	posts    map[int64]time.Time
	postsAt  time.Time // when posts were last read
}

func newChanges() changes {
	return changes{members: map[*member]struct{}{}, unread: map[*member]struct{}{}, sessions: map[*member]struct{}{}, posts: map[int64]time.Time{}}
}

const (
	// refreshPause is the least time between two reads of what has changed.
	refreshPause = 100 * time.Millisecond
	// countsEvery is how often the counts of a post, and a number of notifications,
	// are read and sent at most.
	countsEvery = time.Second
	// changedFor is for how long after its last change a post is read again: a View
	// can be up to a second old.
	changedFor = 2500 * time.Millisecond
	// sendsAtOnce is how many connections are written to before others may use the
	// hub.
	sendsAtOnce = 100
)

// postChanged notes that a key that this process has read has changed.
func (h *Hub) postChanged(key string) {
	prefix, id, ok := layout.ParseKey(key)
	if key != "" && (!ok || prefix != layout.PostPrefix) {
		return
	}
	h.reports.mu.Lock()
	h.reports.posts[id] = struct{}{} // 0: any may have changed
	h.reports.mu.Unlock()
	h.signal()
}

// personChanged notes that a key of a person has changed; any may have if it is empty.
func (h *Hub) personChanged(key string) {
	prefix, id, ok := layout.ParseKey(key)
	h.reports.mu.Lock()
	switch {
	case key == "":
		h.reports.all = true
	case !ok:
	case prefix == layout.InboxPrefix, prefix == layout.NotificationsPrefix, prefix == layout.UserPrefix:
		h.reports.inbox[id] = struct{}{}
		if prefix == layout.UserPrefix {
			h.reports.users[id] = struct{}{}
		}
	default:
		h.reports.people[id] = struct{}{}
	}
	h.reports.mu.Unlock()
	h.signal()
}

// signal wakes refresh.
func (h *Hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// take moves the reports to the changes. The caller holds h.mu.
func (h *Hub) take() {
	h.reports.mu.Lock()
	defer h.reports.mu.Unlock()
	r, c, now := &h.reports, &h.changed, time.Now()
	if r.all {
		for _, m := range h.people {
			m.changed++
			c.members[m], c.unread[m], c.sessions[m] = struct{}{}, struct{}{}, struct{}{}
		}
	}
	for id := range r.users {
		if m := h.people[id]; m != nil {
			c.sessions[m] = struct{}{}
		}
	}
	for id := range r.people {
		if m := h.people[id]; m != nil {
			m.changed++
			// Who is hidden decides which notifications count.
			c.members[m], c.unread[m] = struct{}{}, struct{}{}
		}
	}
	for id := range r.inbox {
		if m := h.people[id]; m != nil {
			c.unread[m] = struct{}{}
		}
	}
	if _, ok := r.posts[0]; ok {
		for id := range h.watched {
			c.posts[id] = now
		}
	}
	for id := range r.posts {
		if h.watched[id] != nil {
			c.posts[id] = now
		}
	}
	r.all = false
	clear(r.people)
	clear(r.inbox)
	clear(r.users)
	clear(r.posts)
}

// refresh reads again what has changed, until ctx ends.
func (h *Hub) refresh(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.catchUp(ctx)
		h.endSessions(ctx)
		h.sendUnread(ctx)
		h.sendCounts(ctx)
		if !sleep.For(ctx, refreshPause) {
			return
		}
		h.mu.Lock()
		if len(h.changed.members)+len(h.changed.sessions)+len(h.changed.unread)+len(h.changed.posts) > 0 {
			h.signal()
		}
		h.mu.Unlock()
	}
}

// catchUp reads the members who have changed. Those that cannot be read stay as they
// are until the next time.
func (h *Hub) catchUp(ctx context.Context) {
	h.mu.Lock()
	h.take()
	members := make([]*member, 0, len(h.changed.members))
	for m := range h.changed.members {
		members = append(members, m)
	}
	clear(h.changed.members)
	h.mu.Unlock()
	h.forEach(members, func(m *member) error { return h.load(ctx, m) }, func(m *member) { h.changed.members[m] = struct{}{} })
}

// forEach calls do with each member, several at a time, and failed for those for which
// it returns an error, while it holds h.mu.
func (h *Hub) forEach(members []*member, do func(*member) error, failed func(*member)) {
	if len(members) == 0 {
		return
	}
	next := make(chan *member)
	var wg sync.WaitGroup
	for range min(loadsAtOnce, len(members)) {
		wg.Go(func() {
			for m := range next {
				if err := do(m); err != nil {
					h.mu.Lock()
					if h.people[m.user.ID] == m {
						failed(m)
					}
					h.mu.Unlock()
				}
			}
		})
	}
	for _, m := range members {
		next <- m
	}
	close(next)
	wg.Wait()
}

// sendUnread reads and sends the numbers of notifications that may have changed.
func (h *Hub) sendUnread(ctx context.Context) {
	now := time.Now()
	var members []*member
	h.mu.Lock()
	for m := range h.changed.unread {
		switch {
		case len(m.clients) == 0:
			delete(h.changed.unread, m)
		case now.Sub(m.unreadAt) >= countsEvery:
			m.unreadAt = now
			members = append(members, m)
			delete(h.changed.unread, m)
		}
	}
	h.mu.Unlock()
	h.forEach(members, func(m *member) error {
		unread, err := h.countUnread(ctx, m)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if unread == m.unread {
			return nil
		}
		m.unread = unread
		message := appendUnread(nil, unread)
		for i := len(m.clients) - 1; i >= 0; i-- {
			h.send(m.clients[i], message)
		}
		return nil
	}, func(m *member) { h.changed.unread[m] = struct{}{} })
}

// sendCounts reads and sends the counts that may have changed.
func (h *Hub) sendCounts(ctx context.Context) {
	now := time.Now()
	h.mu.Lock()
	var ids []int64
	if now.Sub(h.changed.postsAt) >= countsEvery && len(h.changed.posts) > 0 {
		h.changed.postsAt = now
		for id, at := range h.changed.posts {
			if h.watched[id] != nil {
				ids = append(ids, id)
			}
			if now.Sub(at) > changedFor || h.watched[id] == nil {
				delete(h.changed.posts, id)
			}
		}
	}
	h.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	var views []*timeline.View
	for len(ids) > 0 {
		n := min(len(ids), social.MaxPage)
		some, err := h.app.Views.Get(ctx, ids[:n]...)
		if err != nil {
			h.mu.Lock()
			for _, id := range ids {
				h.changed.posts[id] = now
			}
			h.mu.Unlock()
			break
		}
		views, ids = append(views, some...), ids[n:]
	}
	h.push(views)
}

// push sends the counts that differ from those that were sent.
func (h *Hub) push(views []*timeline.View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := map[*watched]bool{}
	clients := map[*client]struct{}{}
	for _, view := range views {
		if view == nil {
			continue
		}
		w := h.watched[view.ID]
		if w == nil || w.counts == view.Counts && w.deleted == view.Deleted && w.hidden == !view.Hidden.IsZero() {
			continue
		}
		w.counts, w.deleted, w.hidden = view.Counts, view.Deleted, !view.Hidden.IsZero()
		news[w] = true
		for _, c := range w.clients {
			clients[c] = struct{}{}
		}
	}
	n := 0
	for c := range clients {
		if n++; n%sendsAtOnce == 0 {
			h.mu.Unlock()
			time.Sleep(sendPause)
			h.mu.Lock()
		}
		if message := c.counts(news); message != nil {
			h.send(c, message)
		}
	}
}

// counts returns the event with those of these counts that a connection shows.
func (c *client) counts(news map[*watched]bool) []byte {
	var b []byte
	for _, s := range c.posts {
		if !news[s.post] || !c.sees(s.post.author, social.Muted) {
			continue
		}
		if b == nil {
			b = append(b, "event: counts\ndata: "...)
		} else {
			b = append(b, ',')
		}
		b = appendCount(b, s.post.id, s.post.counts, c.hides(s.post))
	}
	if b == nil {
		return nil
	}
	return append(b, "\n\n"...)
}

// sweep sends signs of life, closes connections whose clients have gone or that are
// old, and forgets people who have gone, until ctx ends.
func (h *Hub) sweep(ctx context.Context) {
	for round := 0; sleep.For(ctx, time.Second); round++ {
		h.mu.Lock()
		now := time.Now()
		for i := len(h.clients) - 1; i >= 0; i-- {
			if i >= len(h.clients) {
				continue // others have gone meanwhile
			}
			if i%sendsAtOnce == 0 {
				h.mu.Unlock()
				h.mu.Lock()
				if i >= len(h.clients) {
					continue
				}
			}
			h.tend(h.clients[i], now, round)
		}
		h.forget(now)
		h.mu.Unlock()
		if h.app.Options().Server == nil && round%5 == 0 {
			h.personChanged("") // nobody reports changes
		}
	}
}

// aliveEvery is after how many seconds a connection is looked at.
const aliveEvery = 5

// tend does what is due for a connection.
func (h *Hub) tend(c *client, now time.Time, round int) {
	switch {
	case c.viewer().Suspended():
		h.remove(c)
	case now.After(c.ends):
		if c.pending == nil {
			_, _ = h.write(c, farewell(c.at))
		}
		h.remove(c)
	case (c.at+round)%aliveEvery == 0 && !c.conn.Alive():
		h.remove(c)
	case now.After(c.beat) && c.pending == nil:
		if c.last.Less(h.delivered) {
			c.last = h.delivered
		}
		h.send(c, appendBeat(nil, c.last))
	}
}
