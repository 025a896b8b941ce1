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

// member is a user with connections, and until a while after the last has gone: a
// reader who goes from page to page is read once.
type member struct {
	user      social.User // as of the first connection; viewer has the user of now
	viewer    *social.Viewer
	until     int64   // when a mute or a block ends, in unix seconds
	following []int64 // sorted
	tags      []string

	changed, seen uint64 // it was read before its latest change where they differ
	clients       []*client
	refs          int       // the connections, and those that are about to be
	since         time.Time // when the last connection went
	unread        int
	unreadAt      time.Time // when that was read
}

const (
	// maxFollowing bounds how many people are followed live, the latest.
	maxFollowing = 10_000
	// memberFor is how long a member without connections is remembered.
	memberFor = 30 * time.Second
	// loadsAtOnce bounds how many members are read at a time.
	loadsAtOnce = 16
)

// hasAtHome reports whether a post is news on the home timeline of a member.
func (m *member) hasAtHome(e *stream.Entry) bool {
	if e.Author == m.user.ID {
		return e.Of == 0 // what one has reposted is no news
	}
	return social.Hears(m.viewer, social.Heard{Author: e.Author, Reply: e.Root != 0, To: e.To, Tags: e.Tags})
}

// load reads a member, unless what is known of it is current. One round trip.
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
		v.User = rec.User // with the role of now
	case !errors.Is(err, social.ErrNotFound):
		return err
	}
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	if version < m.seen || r.conns.audience.people[m.user.ID] != m {
		return nil // a later read was faster, or it is forgotten already
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

// reader is the client to read members with: the server reports changes to it.
func (r *refresher) reader() rueidis.Client {
	if r.client != nil {
		return r.client
	}
	return r.shared
}

// forget removes the members who have been without connections for a while, and notes
// those of which a mute or a block has ended.
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
		if m.refs == 0 && now.Sub(m.since) > memberFor {
			r.conns.audience.index(m, nil, nil)
			delete(r.conns.audience.people, id)
			delete(r.changed.members, m)
			delete(r.changed.unread, m)
			delete(r.changed.sessions, m)
		}
	}
}
