package live

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/sleep"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// reports are the keys that have changed since they were last taken. The database connections write
// them, and must not wait for a connection to a browser.
type reports struct {
	mu     sync.Mutex
	all    bool // everybody may have changed
	posts  map[int64]struct{}
	people map[int64]struct{} // people whose follows, mutes, blocks, lists or role may have changed
	inbox  map[int64]struct{} // people whose notifications have changed
	users  map[int64]struct{} // people whose sessions may have ended
}

func newReports() reports {
	return reports{posts: map[int64]struct{}{}, people: map[int64]struct{}{}, inbox: map[int64]struct{}{}, users: map[int64]struct{}{}}
}

// changes are what has to be reread, and when it changed.
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

// refresher rereads what has changed, and sends the news to the connections.
type refresher struct {
	app    *app.App
	shared rueidis.Client // the client of the application
	now    func() time.Time
	conns  *connections

	reports reports
	wake    chan struct{}

	// Guarded by conns.mu.
	changed changes
	client  rueidis.Client // see use
}

func newRefresher(service *app.App, conns *connections) *refresher {
	in := service.Internals()
	return &refresher{
		app: service, shared: in.Client, now: in.Now, conns: conns,
		reports: newReports(), changed: newChanges(), wake: make(chan struct{}, 1),
	}
}

// use sets the client to read with, to which the server reports changes of people, or nil if there
// is none.
func (r *refresher) use(client rueidis.Client) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	r.client = client
}

// added registers a new connection and the posts that only it shows: changes since these were read
// went unnoticed, and its session may have ended. The caller holds conns.mu.
func (r *refresher) added(c *client, posts []int64) {
	if c.member != nil && c.session != "" {
		r.changed.sessions[c.member] = struct{}{}
		r.signal()
	}
	now := time.Now()
	for _, id := range posts {
		r.changed.posts[id] = now
		r.signal()
	}
}

const (
	// refreshPause is the minimum interval between two reads of what has changed.
	refreshPause = 100 * time.Millisecond
	// countsEvery is the minimum interval at which the counts of a post, and a number of
	// notifications, are read and sent.
	countsEvery = time.Second
	// recheckFor is how long after its last change a post is reread: a View can be up to a second
	// old.
	recheckFor = 2500 * time.Millisecond
)

// postChanged records that a key that this process has read has changed.
func (r *refresher) postChanged(key string) {
	prefix, id, ok := storage.ParseKey(key)
	if key != "" && (!ok || prefix != storage.PostPrefix) {
		return
	}
	r.reports.mu.Lock()
	r.reports.posts[id] = struct{}{} // 0: any may have changed
	r.reports.mu.Unlock()
	r.signal()
}

// personChanged records that a key of a person has changed, or that any key may have if key is
// empty.
func (r *refresher) personChanged(key string) {
	prefix, id, ok := storage.ParseKey(key)
	r.reports.mu.Lock()
	switch {
	case key == "":
		r.reports.all = true
	case !ok:
	case prefix == storage.NotificationsPrefix, prefix == storage.UserPrefix:
		r.reports.inbox[id] = struct{}{}
		if prefix == storage.UserPrefix {
			r.reports.users[id], r.reports.people[id] = struct{}{}, struct{}{}
		}
	default:
		r.reports.people[id] = struct{}{}
	}
	r.reports.mu.Unlock()
	r.signal()
}

// signal wakes run.
func (r *refresher) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take moves the reports to the changes. The caller holds conns.mu.
func (r *refresher) take() {
	r.reports.mu.Lock()
	defer r.reports.mu.Unlock()
	news, c, now := &r.reports, &r.changed, time.Now()
	if news.all {
		for _, m := range r.conns.audience.people {
			m.changed++
			c.members[m], c.unread[m], c.sessions[m] = struct{}{}, struct{}{}, struct{}{}
		}
	}
	for id := range news.users {
		if m := r.conns.audience.people[id]; m != nil {
			c.sessions[m] = struct{}{}
		}
	}
	for id := range news.people {
		if m := r.conns.audience.people[id]; m != nil {
			m.changed++
			// Which people are hidden decides which notifications count.
			c.members[m], c.unread[m] = struct{}{}, struct{}{}
		}
	}
	for id := range news.inbox {
		if m := r.conns.audience.people[id]; m != nil {
			c.unread[m] = struct{}{}
		}
	}
	if _, ok := news.posts[0]; ok {
		for id := range r.conns.audience.watched {
			c.posts[id] = now
		}
	}
	for id := range news.posts {
		if r.conns.audience.watched[id] != nil {
			c.posts[id] = now
		}
	}
	news.all = false
	clear(news.people)
	clear(news.inbox)
	clear(news.users)
	clear(news.posts)
}

// run rereads what has changed, until ctx ends.
func (r *refresher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.catchUp(ctx)
		r.endSessions(ctx)
		r.sendUnread(ctx)
		r.sendCounts(ctx)
		if !sleep.For(ctx, refreshPause) {
			return
		}
		r.conns.mu.Lock()
		if len(r.changed.members)+len(r.changed.sessions)+len(r.changed.unread)+len(r.changed.posts) > 0 {
			r.signal()
		}
		r.conns.mu.Unlock()
	}
}

// catchUp reads the members who have changed. Those that cannot be read stay unchanged until the
// next time.
func (r *refresher) catchUp(ctx context.Context) {
	r.conns.mu.Lock()
	r.take()
	members := make([]*member, 0, len(r.changed.members))
	for m := range r.changed.members {
		members = append(members, m)
	}
	clear(r.changed.members)
	r.conns.mu.Unlock()
	r.forEach(members, func(m *member) error { return r.load(ctx, m) }, func(m *member) { r.changed.members[m] = struct{}{} })
}

// forEach calls do for each member, several at a time. Where do returns an error, it calls failed
// with conns.mu held.
func (r *refresher) forEach(members []*member, do func(*member) error, failed func(*member)) {
	if len(members) == 0 {
		return
	}
	next := make(chan *member)
	var wg sync.WaitGroup
	for range min(loadsAtOnce, len(members)) {
		wg.Go(func() {
			for m := range next {
				if err := do(m); err != nil {
					r.conns.mu.Lock()
					if r.conns.audience.people[m.user.ID] == m {
						failed(m)
					}
					r.conns.mu.Unlock()
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
func (r *refresher) sendUnread(ctx context.Context) {
	now := time.Now()
	var members []*member
	r.conns.mu.Lock()
	for m := range r.changed.unread {
		switch {
		case len(m.clients) == 0:
			delete(r.changed.unread, m)
		case now.Sub(m.unreadAt) >= countsEvery:
			m.unreadAt = now
			members = append(members, m)
			delete(r.changed.unread, m)
		}
	}
	r.conns.mu.Unlock()
	r.forEach(members, func(m *member) error {
		unread, err := r.countUnread(ctx, m)
		if err != nil {
			return err
		}
		r.conns.mu.Lock()
		defer r.conns.mu.Unlock()
		if unread == m.unread {
			return nil
		}
		m.unread = unread
		message := appendUnread(nil, unread)
		for i := len(m.clients) - 1; i >= 0; i-- {
			r.conns.send(m.clients[i], message)
		}
		return nil
	}, func(m *member) { r.changed.unread[m] = struct{}{} })
}

// sendCounts reads and sends the counts that may have changed.
func (r *refresher) sendCounts(ctx context.Context) {
	now := time.Now()
	r.conns.mu.Lock()
	var ids []int64
	if now.Sub(r.changed.postsAt) >= countsEvery && len(r.changed.posts) > 0 {
		r.changed.postsAt = now
		for id, at := range r.changed.posts {
			if r.conns.audience.watched[id] != nil {
				ids = append(ids, id)
			}
			if now.Sub(at) > recheckFor || r.conns.audience.watched[id] == nil {
				delete(r.changed.posts, id)
			}
		}
	}
	r.conns.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	var views []*timeline.View
	for len(ids) > 0 {
		n := min(len(ids), social.MaxPage)
		loaded, err := r.app.Views.Get(ctx, ids[:n]...)
		if err != nil {
			r.conns.mu.Lock()
			for _, id := range ids {
				r.changed.posts[id] = now
			}
			r.conns.mu.Unlock()
			break
		}
		views, ids = append(views, loaded...), ids[n:]
	}
	r.push(views)
}

// push sends the counts that differ from those sent before.
func (r *refresher) push(views []*timeline.View) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	news := map[*watched]bool{}
	clients := map[*client]struct{}{}
	for _, view := range views {
		if view == nil {
			continue
		}
		w := r.conns.audience.watched[view.ID]
		if w == nil || w.counts == view.Counts && w.deleted == view.Deleted && w.hidden == !view.Hidden.IsZero() {
			continue
		}
		w.counts, w.deleted, w.hidden = view.Counts, view.Deleted, !view.Hidden.IsZero()
		news[w] = true
		for _, c := range w.clients {
			clients[c] = struct{}{}
			if (w.deleted || w.hidden) && c.member != nil {
				r.changed.unread[c.member] = struct{}{} // there may have been a notification about it
			}
		}
	}
	n := 0
	for c := range clients {
		if n++; n%sendsAtOnce == 0 {
			r.conns.mu.Unlock()
			time.Sleep(sendPause)
			r.conns.mu.Lock()
		}
		if message := c.counts(news); message != nil {
			r.conns.send(c, message)
		}
	}
}
