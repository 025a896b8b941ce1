package live

import (
	"net/netip"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/timeline"
)

// PageKind is a kind of page that shows new posts.
type PageKind uint8

// The kinds of pages.
const (
	None     PageKind = iota // a page without new posts
	Home                     // the viewer's home timeline
	Everyone                 // the public timeline
	Tag                      // the posts with a tag
	Thread                   // a conversation
	Profile                  // the posts and reposts of a user
)

// topic is a page that looks the same to all viewers, except for hidden posts.
type topic struct {
	kind PageKind
	id   int64  // the first post of a thread, or the user of a profile
	tag  string // folded
}

// Subscription describes the events that a connection receives.
type Subscription struct {
	Viewer  social.User // the ID is 0 for a visitor without a session
	Session string      // the secret of the viewer's session; the connection ends with the session
	Address netip.Addr  // of the client
	Page    PageKind
	ID      int64  // the first post of the conversation, or the user of the profile
	Tag     string // folded, without #
	Posts   []int64
	Since   string // the ID of the last event, or Hub.Position of the page; empty for new events only
}

// MaxPosts limits the number of posts whose counts a connection receives.
const MaxPosts = 100

// Conn is a connection to a client.
type Conn interface {
	// Write writes as much as the client accepts without blocking, and returns the number of
	// written bytes. The hub calls Write from one goroutine at a time.
	Write(p []byte) (int, error)
	// WriteAll writes all of p, or fails at the deadline.
	WriteAll(p []byte, deadline time.Time) error
	// Alive reports whether the client is still connected, as far as can be determined without
	// blocking.
	Alive() bool
	// Close closes the connection.
	Close()
}

// client is an open connection.
type client struct {
	conn          Conn
	session       string         // the secret of the session; empty for a visitor without one
	member        *member        // nil for a visitor without a session
	visitor       *social.Viewer // a visitor without a session
	topic         topic
	topicIndex    int // index in audience.topics
	index         int // index in connections.clients
	posts         []showing
	pending       []byte    // unsent data; not nil while the reader is slow
	address       string    // the address that the connection counts toward; may be empty
	nextHeartbeat time.Time // when the next heartbeat is due
	ends          time.Time // when the client is asked to reconnect
	last          stream.ID // the last entry sent to the client
	gone          bool
}

// sees reports whether the connection's viewer sees a user with at least the given visibility.
func (c *client) sees(uid int64, least social.Visibility) bool {
	v := c.viewer()
	return !v.Suspended() && v.Sees(uid) >= least
}

// viewer returns the viewer of the connection.
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

// shown returns the given posts whose counts the connection receives.
func (c *client) shown(posts []*timeline.View) []*timeline.View {
	visible := make([]*timeline.View, 0, len(posts))
	for _, view := range posts {
		if view != nil && c.sees(view.Author.ID, social.Muted) {
			visible = append(visible, view)
		}
	}
	return visible
}

// mayShow reports whether the viewer sees a post on the page of the connection.
func (c *client) mayShow(e *stream.Entry) bool {
	least := social.Shown
	switch c.topic.kind {
	case Profile:
		least = social.Muted // the viewer has asked for this user
	case Home, Thread:
		least = social.Unlisted
	}
	return c.sees(e.Author, least) && (e.RepostOf == 0 || c.sees(e.To, social.Unlisted)) &&
		(c.topic.kind != Home || c.member.hasAtHome(e) && !c.member.viewer.LeavesOut(e.Author))
}

// counts returns an event with the changed counts of the posts on the page of a connection, or nil
// if there are none.
func (c *client) counts(changed map[*watched]bool) []byte {
	var b []byte
	for _, s := range c.posts {
		if !changed[s.post] || !c.sees(s.post.author, social.Muted) {
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
