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

// reports are the changes that take has not yet processed. The database connections write reports,
// and must not wait for a connection to a browser.
type reports struct {
	mu     sync.Mutex
	all    bool // all people may have changed
	posts  map[int64]struct{}
	people map[int64]struct{} // people whose follows, mutes, blocks, lists or role may have changed
	inbox  map[int64]struct{} // people whose notifications have changed
	users  map[int64]struct{} // people whose sessions may have ended
}

func newReports() reports {
	return reports{posts: map[int64]struct{}{}, people: map[int64]struct{}{}, inbox: map[int64]struct{}{}, users: map[int64]struct{}{}}
}

// changes are the data to reread.
type changes struct {
	members  map[*member]struct{}
	unread   map[*member]struct{}
	sessions map[*member]struct{}
	posts    map[int64]time.Time // the posts, and when they changed
	postsAt  time.Time           // when posts were last read
}

func newChanges() changes {
	return changes{members: map[*member]struct{}{}, unread: map[*member]struct{}{}, sessions: map[*member]struct{}{}, posts: map[int64]time.Time{}}
}

// refresher rereads changed data, and sends the updates to the connections.
type refresher struct {
	app    *app.App
	shared rueidis.Client // the client of the application
	now    func() time.Time
	conns  *connections

	reports reports
	wake    chan struct{}

	// Guarded by conns.mu.
	changed changes
	client  rueidis.Client // set by use
}

func newRefresher(service *app.App, conns *connections) *refresher {
	in := service.Internals()
	return &refresher{
		app: service, shared: in.Client, now: in.Now, conns: conns,
		reports: newReports(), changed: newChanges(), wake: make(chan struct{}, 1),
	}
}

// use sets the client to which the server reports changes of people, or nil if there is none.
func (r *refresher) use(client rueidis.Client) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	r.client = client
}

// added schedules a reread of a new connection's session and of the posts that only this connection
// shows, because changes between the first read and the registration went unnoticed. The caller
// holds conns.mu.
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
	// refreshPause is the minimum interval between two reads of changed data.
	refreshPause = 100 * time.Millisecond
	// countsEvery is the minimum interval between two reads of the counts of posts, and between two
	// reads of a member's number of notifications.
	countsEvery = time.Second
	// recheckFor is the time after its last change during which a post is reread, because a View
	// can be up to a second old.
	recheckFor = 2500 * time.Millisecond
)

// postChanged records that the key of a post has changed, or that any key may have changed if key
// is empty. It ignores other keys.
func (r *refresher) postChanged(key string) {
	prefix, id, ok := storage.ParseKey(key)
	if key != "" && (!ok || prefix != storage.PostPrefix) {
		return
	}
	r.reports.mu.Lock()
	r.reports.posts[id] = struct{}{} // 0 means that any post may have changed
	r.reports.mu.Unlock()
	r.signal()
}

// personChanged records that a key of a person has changed, or that any key may have changed if key
// is empty.
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

// take moves the reports to changed. The caller holds conns.mu.
func (r *refresher) take() {
	r.reports.mu.Lock()
	defer r.reports.mu.Unlock()
	reported, c, now := &r.reports, &r.changed, time.Now()
	if reported.all {
		for _, m := range r.conns.audience.people {
			m.changed++
			c.members[m], c.unread[m], c.sessions[m] = struct{}{}, struct{}{}, struct{}{}
		}
	}
	for id := range reported.users {
		if m := r.conns.audience.people[id]; m != nil {
			c.sessions[m] = struct{}{}
		}
	}
	for id := range reported.people {
		if m := r.conns.audience.people[id]; m != nil {
			m.changed++
			// Notifications from hidden people do not count.
			c.members[m], c.unread[m] = struct{}{}, struct{}{}
		}
	}
	for id := range reported.inbox {
		if m := r.conns.audience.people[id]; m != nil {
			c.unread[m] = struct{}{}
		}
	}
	if _, ok := reported.posts[0]; ok {
		for id := range r.conns.audience.watched {
			c.posts[id] = now
		}
	}
	for id := range reported.posts {
		if r.conns.audience.watched[id] != nil {
			c.posts[id] = now
		}
	}
	reported.all = false
	clear(reported.people)
	clear(reported.inbox)
	clear(reported.users)
	clear(reported.posts)
}

// run rereads changed data and sends the updates, until ctx ends.
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

// catchUp reads the changed members. It leaves members that cannot be read for the next call.
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

// forEach calls do for the members, several at a time. If do returns an error, forEach calls failed
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

// sendUnread rereads the numbers of unread notifications that may have changed, and sends those
// that have.
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

// sendCounts rereads the counts of posts that may have changed, and sends those that have.
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

// push sends the counts that differ from the counts sent before.
func (r *refresher) push(views []*timeline.View) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	changed := map[*watched]bool{}
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
		changed[w] = true
		for _, c := range w.clients {
			clients[c] = struct{}{}
			if (w.deleted || w.hidden) && c.member != nil {
				r.changed.unread[c.member] = struct{}{} // a notification may be about the post
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
		if message := c.counts(changed); message != nil {
			r.conns.send(c, message)
		}
	}
}
