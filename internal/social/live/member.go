package live

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/storage"
)

// member is a user with connections. It is kept for a while after the last one has closed, so that
// a reader who goes from page to page is read once.
type member struct {
	user      social.User // as of the first connection; viewer has the current one
	viewer    *social.Viewer
	until     int64   // when a mute or a block expires, in Unix seconds
	following []int64 // sorted
	tags      []string

	changed, seen uint64 // if they differ, it was read before its latest change
	clients       []*client
	refs          int       // connections, including those about to open
	since         time.Time // when the last connection closed
	unread        int
	unreadAt      time.Time // when it was read
}

const (
	// maxFollowing limits how many followed people are tracked live, the latest.
	maxFollowing = 10_000
	// memberTTL is how long a member without connections is kept.
	memberTTL = 30 * time.Second
	// loadsAtOnce limits how many members are read at a time.
	loadsAtOnce = 16
)

// hasAtHome reports whether a post is new on the home timeline of a member.
func (m *member) hasAtHome(e *stream.Entry) bool {
	if e.Author == m.user.ID {
		return e.Of == 0 // one's own reposts are not reported
	}
	return social.Hears(m.viewer, social.Heard{Author: e.Author, Reply: e.Root != 0, To: e.To, Tags: e.Tags})
}

// load reads a member, unless it is up to date. One round trip.
func (r *refresher) load(ctx context.Context, m *member) error {
	r.conns.mu.Lock()
	version, current, client := m.changed, m.seen == m.changed, r.reader()
	r.conns.mu.Unlock()
	if current {
		return nil
	}
	v, until, res, err := r.app.Viewers.GetNow(ctx, client, m.user, maxFollowing, rueidis.Completed(r.app.Users.RecordCommand(m.user.ID)))
	if err != nil {
		return err
	}
	switch rec, err := storage.ParseRecord(m.user.ID, res[0]); {
	case err == nil:
		v.User = rec.User // with the current role
	case !errors.Is(err, social.ErrNotFound):
		return err
	}
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	if version < m.seen || r.conns.audience.people[m.user.ID] != m {
		return nil // a later read was faster, or it was forgotten already
	}
	r.conns.audience.index(m, v.Following, v.Tags)
	m.viewer, m.until, m.seen = v, until, version
	return nil
}

// countUnread reads how many notifications a member has not seen.
func (r *refresher) countUnread(ctx context.Context, m *member) (int, error) {
	r.conns.mu.Lock()
	v, client := m.viewer, r.reader()
	r.conns.mu.Unlock()
	return r.app.Notifications.UnreadNow(ctx, client, v)
}

// reader returns the client to read members with: the server reports changes to it.
func (r *refresher) reader() rueidis.Client {
	if r.client != nil {
		return r.client
	}
	return r.shared
}

// forget removes members that have been without connections for a while, and marks those of which a
// mute or a block has expired as changed.
func (r *refresher) forget(now time.Time) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	today := r.now().Unix()
	for id, m := range r.conns.audience.people {
		if m.seen != 0 && today >= m.until {
			m.until = math.MaxInt64
			m.changed++
			r.changed.members[m], r.changed.unread[m] = struct{}{}, struct{}{}
			r.signal()
		}
		if m.refs == 0 && now.Sub(m.since) > memberTTL {
			r.conns.audience.index(m, nil, nil)
			delete(r.conns.audience.people, id)
			delete(r.changed.members, m)
			delete(r.changed.unread, m)
			delete(r.changed.sessions, m)
		}
	}
}
