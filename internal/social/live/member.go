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

// member is a user with connections. It is kept for memberTTL after the last connection has closed,
// so that a user who goes from page to page is read only once.
type member struct {
	user      social.User // as of the first connection; viewer has the current one
	viewer    *social.Viewer
	until     int64   // when the next mute or block expires, in Unix seconds
	following []int64 // sorted
	tags      []string

	changed, seen uint64 // versions: the latest one, and the one that was read
	clients       []*client
	refs          int       // connections, including those about to open
	since         time.Time // when the last connection closed
	unread        int
	unreadAt      time.Time // when unread was last read
}

const (
	// maxFollowing limits the number of followed people that a member has: the latest ones.
	maxFollowing = 10_000
	// memberTTL is the time for which a member without connections is kept.
	memberTTL = 30 * time.Second
	// loadsAtOnce limits the number of members that are read concurrently.
	loadsAtOnce = 16
)

// hasAtHome reports whether a post is new on the home timeline of a member.
func (m *member) hasAtHome(e *stream.Entry) bool {
	if e.Author == m.user.ID {
		return e.RepostOf == 0 // the member's own reposts are not reported
	}
	return social.BelongsOnHome(m.viewer, social.HomePost{Author: e.Author, Reply: e.Root != 0, To: e.To, Tags: e.Tags})
}

// load reads a member in one round trip, unless the member is up to date.
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
		return nil // a later read was faster, or the member was forgotten
	}
	r.conns.audience.index(m, v.Following, v.Tags)
	m.viewer, m.until, m.seen = v, until, version
	return nil
}

// countUnread reads the number of notifications that a member has not seen.
func (r *refresher) countUnread(ctx context.Context, m *member) (int, error) {
	r.conns.mu.Lock()
	v, client := m.viewer, r.reader()
	r.conns.mu.Unlock()
	return r.app.Notifications.UnreadNow(ctx, client, v)
}

// reader returns the client with which to read members: the client to which the server reports
// changes, if there is one. The caller holds conns.mu.
func (r *refresher) reader() rueidis.Client {
	if r.client != nil {
		return r.client
	}
	return r.shared
}

// forget removes members that have had no connections for memberTTL, and marks members with an
// expired mute or block as changed.
func (r *refresher) forget(now time.Time) {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	seconds := r.now().Unix()
	for id, m := range r.conns.audience.people {
		if m.seen != 0 && seconds >= m.until {
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
