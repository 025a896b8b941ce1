package live

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"retwis/internal/social/live/stream"
	"retwis/internal/social/timeline"
)

// connections holds the open connections of a process, what they show, and what was sent to them.
// Its methods must be called with mu held unless they say otherwise.
type connections struct {
	opt Options

	mu      sync.Mutex
	closed  bool
	history history
	// delivered is the ID of the last entry that has been sent to all connections that show it.
	delivered  stream.ID
	clients    []*client
	open       int // number of clients, including those about to connect
	perUser    map[int64]int
	perAddress map[string]int
	audience   audience
	writer     rawWriter
	slow       sync.WaitGroup // the goroutines that write to slow readers
}

func newConnections(opt Options) *connections {
	return &connections{opt: opt, perUser: map[int64]int{}, perAddress: map[string]int{}, audience: newAudience()}
}

// maxPending limits the unsent data of a slow reader, in bytes.
const maxPending = 64 << 10

// sendsAtOnce is the number of connections to write to before mu is released for other goroutines.
const sendsAtOnce = 100

// sendPause is the pause after each sendsAtOnce connections, so that a new connection does not wait
// until a post has been sent to ten thousand other connections.
const sendPause = 500 * time.Microsecond

// close disconnects all clients. It acquires mu.
func (cs *connections) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
	for len(cs.clients) > 0 {
		cs.askToReconnect(cs.clients[len(cs.clients)-1])
	}
}

// reserve counts a connection and its member, unless there are too many connections. It acquires
// mu.
func (cs *connections) reserve(c *client, sub Subscription) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	address := addressOf(sub)
	switch {
	case cs.closed:
		return ErrClosed
	case sub.Viewer.ID != 0 && cs.perUser[sub.Viewer.ID] >= cs.opt.MaxPerUser,
		address != "" && cs.perAddress[address] >= cs.opt.MaxPerAddress:
		return ErrTooMany
	case cs.open >= cs.opt.MaxConnections:
		return ErrFull
	}
	cs.open++
	if sub.Viewer.ID != 0 {
		cs.perUser[sub.Viewer.ID]++
		c.member = cs.audience.member(sub.Viewer)
		c.member.refs++
	}
	if c.address = address; address != "" {
		cs.perAddress[address]++
	}
	return nil
}

// addressOf returns the address that a connection counts toward, or an empty string if none.
func addressOf(sub Subscription) string {
	if sub.Viewer.ID != 0 || !sub.Address.IsValid() || sub.Address.IsLoopback() || sub.Address.IsPrivate() {
		return ""
	}
	if sub.Address.Is6() { // a household has a whole /64 network
		if prefix, err := sub.Address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return sub.Address.String()
}

// release undoes reserve. Calling it again does nothing.
func (cs *connections) release(c *client) {
	if c.gone {
		return
	}
	c.gone = true
	cs.open--
	if c.address != "" {
		if cs.perAddress[c.address]--; cs.perAddress[c.address] <= 0 {
			delete(cs.perAddress, c.address)
		}
	}
	if m := c.member; m != nil {
		if cs.perUser[m.user.ID]--; cs.perUser[m.user.ID] <= 0 {
			delete(cs.perUser, m.user.ID)
		}
		if m.refs--; m.refs == 0 {
			m.since = time.Now()
		}
	}
}

// insert registers a connection, so that it receives all later events. It returns the posts that no
// other connection shows.
func (cs *connections) insert(c *client, posts []*timeline.View) (fresh []int64) {
	now := time.Now()
	c.nextHeartbeat = cs.nextHeartbeat(now)
	c.ends = now.Add(cs.opt.MaxAge + rand.N(cs.opt.MaxAge/3+1))
	c.last = cs.history.last
	c.index = len(cs.clients)
	cs.clients = append(cs.clients, c)
	return cs.audience.add(c, posts)
}

// nextHeartbeat returns the time of the next heartbeat, with a random part that spreads heartbeats
// over time.
func (cs *connections) nextHeartbeat(now time.Time) time.Time {
	return now.Add(cs.opt.Heartbeat - rand.N(cs.opt.Heartbeat/3+1))
}

// remove closes and unregisters a connection. Removing a connection again does nothing.
func (cs *connections) remove(c *client) {
	if c.gone {
		return
	}
	cs.release(c)
	c.conn.Close()
	last := cs.clients[len(cs.clients)-1]
	cs.clients[c.index], last.index = last, c.index
	cs.clients[len(cs.clients)-1] = nil
	cs.clients = cs.clients[:len(cs.clients)-1]
	cs.audience.drop(c)
}

// askToReconnect asks a client to reconnect in a moment, and removes its connection.
func (cs *connections) askToReconnect(c *client) {
	if c.pending == nil {
		_, _ = cs.write(c, farewell(c.index))
	}
	cs.remove(c)
}

// send sends a message without blocking. It removes a broken connection.
func (cs *connections) send(c *client, message []byte) {
	if c.gone {
		return
	}
	c.nextHeartbeat = cs.nextHeartbeat(time.Now())
	if c.pending != nil {
		if len(c.pending)+len(message) > maxPending {
			cs.remove(c)
			return
		}
		c.pending = append(c.pending, message...)
		return
	}
	n, err := cs.write(c, message)
	if err != nil {
		cs.remove(c)
		return
	}
	if n < len(message) {
		c.pending = append(make([]byte, 0, len(message)-n), message[n:]...)
		cs.slow.Go(func() { cs.drain(c, time.Now().Add(cs.opt.SlowReader)) })
	}
}

func (cs *connections) write(c *client, message []byte) (int, error) {
	if raw, ok := c.conn.(*rawConn); ok {
		return cs.writer.write(raw, message)
	}
	return c.conn.Write(message)
}

// errSlow means that a reader has not accepted its pending data in time.
var errSlow = errors.New("live: slow reader")

// drain writes the pending data of a slow reader. It acquires mu.
func (cs *connections) drain(c *client, deadline time.Time) {
	for {
		cs.mu.Lock()
		message := c.pending
		if c.gone || len(message) == 0 {
			c.pending = nil
			cs.mu.Unlock()
			return
		}
		c.pending = make([]byte, 0, 256)
		cs.mu.Unlock()
		err := c.conn.WriteAll(message, deadline)
		if err == nil && time.Now().After(deadline) {
			err = errSlow
		}
		if err != nil {
			cs.mu.Lock()
			cs.remove(c)
			cs.mu.Unlock()
			return
		}
	}
}

// deliverTo sends an entry to a connection, unless the connection has got the entry before or its
// viewer may not see the post.
func (cs *connections) deliverTo(c *client, e *stream.Entry, message []byte) {
	if c.gone || !c.last.Less(e.ID) || !c.mayShow(e) {
		return
	}
	c.last = e.ID
	cs.send(c, message)
}

// missed appends the events that a connection has missed since the event with the given ID.
func (cs *connections) missed(b []byte, c *client, since string) []byte {
	from, ok := stream.ParseID(since)
	if !ok || c.topic.kind == None {
		return b
	}
	if c.last.Less(from) {
		c.last = from // another process is ahead
		return b
	}
	var posts []int64
	complete := cs.history.after(from, func(e *stream.Entry) {
		if (c.topic.kind == Home || slices.Contains(topicsOf(e), c.topic)) && c.mayShow(e) && !slices.Contains(posts, e.Post) {
			posts = append(posts, e.Post)
		}
	})
	switch {
	case !complete || len(posts) > maxMissed:
		return appendReset(b, cs.history.last)
	case len(posts) > 0:
		return appendPosts(b, cs.history.last, posts...)
	}
	return appendHeartbeat(b, cs.history.last)
}

// maxMissed limits the number of missed posts that are sent. If there are more, the client reloads
// the page.
const maxMissed = 500

// tendAll performs the periodic work for all connections. It acquires mu.
func (cs *connections) tendAll(now time.Time, round int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i := len(cs.clients) - 1; i >= 0; i-- {
		if i%sendsAtOnce == 0 {
			cs.mu.Unlock()
			cs.mu.Lock()
		}
		if i < len(cs.clients) { // clients may have disconnected meanwhile
			cs.tend(cs.clients[i], now, round)
		}
	}
}

// aliveEvery is the interval in seconds at which a connection is checked.
const aliveEvery = 5

// tend performs the periodic work for a connection.
func (cs *connections) tend(c *client, now time.Time, round int) {
	switch {
	case c.viewer().Suspended():
		cs.remove(c)
	case now.After(c.ends):
		cs.askToReconnect(c)
	case (c.index+round)%aliveEvery == 0 && !c.conn.Alive():
		cs.remove(c)
	case now.After(c.nextHeartbeat) && c.pending == nil:
		if c.last.Less(cs.delivered) {
			c.last = cs.delivered
		}
		cs.send(c, appendHeartbeat(nil, c.last))
	}
}
