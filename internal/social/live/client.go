package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/timeline"
)

// PageKind is a kind of page that shows new posts.
type PageKind uint8

// The kinds of pages.
const (
	None     PageKind = iota // a page that shows no new posts
	Home                     // the home timeline of the viewer
	Everyone                 // the public timeline
	Tag                      // the posts with a tag
	Thread                   // a conversation
	Profile                  // the posts and reposts of a user
)

// topic is a page that looks the same to everybody, but for what is hidden.
type topic struct {
	kind PageKind
	id   int64  // the first post of a thread, or the user of a profile
	tag  string // already folded
}

// Subscription is what a connection wants to be notified of.
type Subscription struct {
	Viewer  social.User // ID 0: a visitor without a session
	Session string      // the secret of the viewer's session; the connection ends with it
	Address netip.Addr  // of the client
	Page    PageKind
	ID      int64  // the first post of the conversation, or the user of the profile
	Tag     string // folded, without #
	Posts   []int64
	Since   string // the id of the last event, or Hub.Position of the page; empty: from now on
}

// MaxPosts bounds the posts whose counts a connection gets.
const MaxPosts = 100

// maxPending bounds what waits for a slow reader, in bytes.
const maxPending = 64 << 10

// Conn is a connection to a client.
type Conn interface {
	// Write writes what the client takes without waiting, and returns how much that
	// was. The hub calls it from one goroutine at a time.
	Write(p []byte) (int, error)
	// WriteAll writes everything by a deadline.
	WriteAll(p []byte, by time.Time) error
	// Alive reports whether the client is still there, as far as that is known
	// without waiting.
	Alive() bool
	// Close closes the connection.
	Close()
}

// client is an open connection.
type client struct {
	conn    Conn
	session string         // the secret of the session; empty for a visitor without one
	member  *member        // nil for a visitor without a session
	visitor *social.Viewer // a visitor without a session
	topic   topic
	topicAt int // its place in Hub.topics
	at      int // its place in Hub.clients
	posts   []showing
	pending []byte    // what a slow reader has not taken yet; not nil while it is slow
	place   string    // the address that counts it; empty for none
	beat    time.Time // of the next sign of life
	ends    time.Time
	last    stream.ID // the last entry that it got
	gone    bool
}

// showing is a post that a client shows, and its place among the clients that do.
type showing struct {
	post *watched
	at   int
}

// watched is a post that some clients show.
type watched struct {
	id      int64
	author  int64
	counts  social.PostCounts
	deleted bool
	hidden  bool // by a moderator
	clients []*client
}

// Attach adds the connection that open returns, and sends it what it has missed. open
// is called once nothing can fail any more; the hub owns what it returns, and closes
// it. detach closes it too.
//
// ErrFull and ErrClosed report that the client should come back later.
func (h *Hub) Attach(ctx context.Context, sub Subscription, open func() (Conn, error)) (detach func(), err error) {
	c := &client{topic: topic{sub.Page, sub.ID, sub.Tag}, session: sub.Session}
	if err := h.reserve(c, sub); err != nil {
		return nil, err
	}
	posts, unread, err := h.prepare(ctx, c, sub)
	if err == nil {
		c.conn, err = open()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.closed {
		c.conn.Close()
		err = ErrClosed
	}
	if err != nil {
		h.release(c)
		return nil, err
	}
	h.insert(c, posts)
	message := h.missed([]byte("retry: 2000\n\n"), c, sub.Since)
	message = appendCounts(message, c.viewer(), c.shown(posts))
	if c.member != nil {
		c.member.unread = unread
		message = appendUnread(message, unread)
	}
	h.send(c, message)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.remove(c)
	}, nil
}

// prepare reads what a connection starts with.
func (h *Hub) prepare(ctx context.Context, c *client, sub Subscription) (posts []*timeline.View, unread int, err error) {
	select {
	case <-h.ready:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if c.member != nil {
		if err := h.load(ctx, c.member); err != nil {
			return nil, 0, err
		}
		if unread, err = h.countUnread(ctx, c.member); err != nil {
			return nil, 0, err
		}
	}
	if c.visitor, err = h.app.Viewers.Get(ctx, social.User{}); err != nil {
		return nil, 0, err
	}
	ids := slices.Clone(sub.Posts[:min(len(sub.Posts), MaxPosts)])
	slices.Sort(ids)
	posts, err = h.app.Views.Get(ctx, slices.Compact(ids)...)
	return posts, unread, err
}

// reserve counts a connection, unless there are too many, and the member that it
// belongs to.
func (h *Hub) reserve(c *client, sub Subscription) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	place := ""
	if sub.Viewer.ID == 0 && sub.Address.IsValid() && !sub.Address.IsLoopback() && !sub.Address.IsPrivate() {
		place = sub.Address.String()
		if sub.Address.Is6() { // a household has its own network
			if prefix, err := sub.Address.Prefix(64); err == nil {
				place = prefix.String()
			}
		}
	}
	switch {
	case h.closed:
		return ErrClosed
	case h.open >= h.opt.MaxConnections,
		sub.Viewer.ID != 0 && h.perUser[sub.Viewer.ID] >= h.opt.MaxPerUser,
		place != "" && h.perPlace[place] >= h.opt.MaxPerAddress:
		return ErrFull
	}
	h.open++
	if sub.Viewer.ID != 0 {
		h.perUser[sub.Viewer.ID]++
		c.member = h.member(sub.Viewer)
		c.member.refs++
	}
	if c.place = place; place != "" {
		h.perPlace[place]++
	}
	return nil
}

// release undoes reserve. Calling it again does nothing.
func (h *Hub) release(c *client) {
	if c.gone {
		return
	}
	c.gone = true
	h.open--
	if c.place != "" {
		if h.perPlace[c.place]--; h.perPlace[c.place] <= 0 {
			delete(h.perPlace, c.place)
		}
	}
	if m := c.member; m != nil {
		if h.perUser[m.user.ID]--; h.perUser[m.user.ID] <= 0 {
			delete(h.perUser, m.user.ID)
		}
		if m.refs--; m.refs == 0 {
			m.since = time.Now()
		}
	}
}

// insert makes a connection known, so that it gets everything from now on.
func (h *Hub) insert(c *client, posts []*timeline.View) {
	now := time.Now()
	c.beat = h.nextBeat(now)
	c.ends = now.Add(h.opt.MaxAge + rand.N(h.opt.MaxAge/3+1))
	c.last = h.history.last
	c.at = len(h.clients)
	h.clients = append(h.clients, c)
	switch {
	case c.member != nil:
		c.member.clients = append(c.member.clients, c)
		if c.session != "" { // it may have ended meanwhile
			h.changed.sessions[c.member] = struct{}{}
			h.signal()
		}
	case c.topic.kind == Home:
		c.topic.kind = None
	}
	if c.topic.kind != None && c.topic.kind != Home {
		c.topicAt = len(h.topics[c.topic])
		h.topics[c.topic] = append(h.topics[c.topic], c)
	}
	for _, view := range posts {
		if view == nil || !c.sees(view.Author.ID, social.Muted) {
			continue
		}
		w := h.watched[view.ID]
		if w == nil {
			w = &watched{id: view.ID, author: view.Author.ID, counts: view.Counts, deleted: view.Deleted, hidden: !view.Hidden.IsZero()}
			h.watched[view.ID] = w
			// A change since the View was read went unnoticed.
			h.changed.posts[view.ID] = now
			h.signal()
		}
		c.posts = append(c.posts, showing{w, len(w.clients)})
		w.clients = append(w.clients, c)
	}
	c.posts = slices.Clip(c.posts)
}

// nextBeat spreads the signs of life.
func (h *Hub) nextBeat(now time.Time) time.Time {
	return now.Add(h.opt.Heartbeat - rand.N(h.opt.Heartbeat/3+1))
}

// remove closes a connection and forgets it. Removing it again does nothing.
func (h *Hub) remove(c *client) {
	if c.gone {
		return
	}
	h.release(c)
	c.conn.Close()
	last := h.clients[len(h.clients)-1]
	h.clients[c.at], last.at = last, c.at
	h.clients[len(h.clients)-1] = nil
	h.clients = h.clients[:len(h.clients)-1]
	if m := c.member; m != nil {
		m.clients = slices.DeleteFunc(m.clients, func(other *client) bool { return other == c })
	}
	if c.topic.kind != None && c.topic.kind != Home {
		all := h.topics[c.topic]
		last := all[len(all)-1]
		all[c.topicAt], last.topicAt = last, c.topicAt
		all[len(all)-1] = nil
		if h.topics[c.topic] = all[:len(all)-1]; len(all) == 1 {
			delete(h.topics, c.topic)
		}
	}
	for _, s := range c.posts {
		w := s.post
		last := w.clients[len(w.clients)-1]
		for i := range last.posts {
			if last.posts[i].post == w {
				last.posts[i].at = s.at
			}
		}
		w.clients[s.at] = last
		w.clients[len(w.clients)-1] = nil
		if w.clients = w.clients[:len(w.clients)-1]; len(w.clients) == 0 {
			delete(h.watched, w.id)
		}
	}
	c.posts = nil
}

// sees reports whether the viewer of a connection sees what a user writes, at least
// so well.
func (c *client) sees(uid int64, least social.Visibility) bool {
	v := c.viewer()
	return !v.Suspended() && v.Sees(uid) >= least
}

func (c *client) viewer() *social.Viewer {
	if c.member == nil {
		return c.visitor
	}
	return c.member.viewer
}

// hides reports whether the viewer must not see a post.
func (c *client) hides(w *watched) bool {
	return w.deleted || w.hidden && c.viewer().User.ID != w.author && c.viewer().User.Role < social.Moderator
}

// shown returns those of these posts whose counts a connection gets.
func (c *client) shown(posts []*timeline.View) []*timeline.View {
	all := make([]*timeline.View, 0, len(posts))
	for _, view := range posts {
		if view != nil && c.sees(view.Author.ID, social.Muted) {
			all = append(all, view)
		}
	}
	return all
}

// send sends a message, without waiting. A connection that is broken is removed.
func (h *Hub) send(c *client, message []byte) {
	if c.gone {
		return
	}
	c.beat = h.nextBeat(time.Now())
	if c.pending != nil {
		if len(c.pending)+len(message) > maxPending {
			h.remove(c)
			return
		}
		c.pending = append(c.pending, message...)
		return
	}
	n, err := h.write(c, message)
	if err != nil {
		h.remove(c)
		return
	}
	if n < len(message) {
		c.pending = append(make([]byte, 0, len(message)-n), message[n:]...)
		h.slow.Go(func() { h.drain(c, time.Now().Add(h.opt.SlowReader)) })
	}
}

func (h *Hub) write(c *client, message []byte) (int, error) {
	if raw, ok := c.conn.(*rawConn); ok {
		return h.writer.write(raw, message)
	}
	return c.conn.Write(message)
}

// errSlow: a reader has not taken what waits for it in time.
var errSlow = errors.New("live: slow reader")

// drain writes what waits for a slow reader.
func (h *Hub) drain(c *client, by time.Time) {
	for {
		h.mu.Lock()
		message := c.pending
		if c.gone || len(message) == 0 {
			c.pending = nil
			h.mu.Unlock()
			return
		}
		c.pending = make([]byte, 0, 256)
		h.mu.Unlock()
		err := c.conn.WriteAll(message, by)
		if err == nil && time.Now().After(by) {
			err = errSlow
		}
		if err != nil {
			h.mu.Lock()
			h.remove(c)
			h.mu.Unlock()
			return
		}
	}
}
