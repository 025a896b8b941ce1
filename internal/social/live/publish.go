package live

import (
	"slices"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
)

// publish adds entries to the history and sends them to the connections that show
// them. end is the end of the stream.
func (h *Hub) publish(entries []stream.Entry, end stream.ID) {
	h.mu.Lock()
	now := time.Now()
	for i := range entries {
		h.history.add(entries[i], now)
		if e := &entries[i]; e.Root == 0 && e.Of == 0 {
			h.app.Timelines.Published(e.Post)
		}
	}
	h.history.last = end
	h.mu.Unlock()
	h.deliver(entries)
	h.mu.Lock()
	h.delivered = end
	h.mu.Unlock()
}

// sendPause is the pause after each sendsAtOnce connections: who reads a page does not
// wait until a post has reached ten thousand others.
const sendPause = 500 * time.Microsecond

// deliver sends entries, in steps. Only the goroutine that follows the stream calls
// it.
func (h *Hub) deliver(entries []stream.Entry) {
	for i := range entries {
		e := &entries[i]
		message := appendPosts(make([]byte, 0, 96), e.ID, e.Post)
		h.mu.Lock()
		h.targets = h.show(h.targets[:0], e)
		for n, c := range h.targets {
			if n > 0 && n%sendsAtOnce == 0 {
				h.mu.Unlock()
				time.Sleep(sendPause)
				h.mu.Lock()
			}
			h.deliverTo(c, e, message)
		}
		clear(h.targets)
		h.mu.Unlock()
	}
}

// show appends the connections on whose pages an entry is new; one can be there twice.
func (h *Hub) show(all []*client, e *stream.Entry) []*client {
	for _, t := range topicsOf(e) {
		all = append(all, h.topics[t]...)
	}
	for _, m := range h.authors[e.Author] {
		all = m.homes(all)
	}
	if m := h.people[e.Author]; m != nil {
		all = m.homes(all)
	}
	for _, tag := range e.Tags {
		for _, m := range h.tags[tag] {
			all = m.homes(all)
		}
	}
	return all
}

// topicsOf returns the pages on which a post is new, home timelines aside.
func topicsOf(e *stream.Entry) []topic {
	topics := make([]topic, 0, 4)
	if e.Root != 0 {
		topics = append(topics, topic{kind: Thread, id: e.Root})
	} else {
		topics = append(topics, topic{kind: Profile, id: e.Author})
		if e.Of == 0 {
			topics = append(topics, topic{kind: Everyone})
		}
	}
	for _, tag := range e.Tags {
		topics = append(topics, topic{kind: Tag, tag: tag})
	}
	return topics
}

// homes appends the connections that show the home timeline of a person.
func (m *member) homes(all []*client) []*client {
	if m.seen == 0 {
		return all
	}
	for _, c := range m.clients {
		if c.topic.kind == Home {
			all = append(all, c)
		}
	}
	return all
}

// deliverTo sends an entry to a connection that shows such posts.
func (h *Hub) deliverTo(c *client, e *stream.Entry, message []byte) {
	if c.gone || !c.last.Less(e.ID) || !c.mayShow(e) {
		return
	}
	c.last = e.ID
	h.send(c, message)
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
	return c.sees(e.Author, least) && (e.Of == 0 || c.sees(e.To, social.Unlisted)) &&
		(c.topic.kind != Home || c.member.hasAtHome(e))
}

// missed appends what a connection has missed since the event with this id.
func (h *Hub) missed(b []byte, c *client, since string) []byte {
	from, ok := stream.ParseID(since)
	if !ok || c.topic.kind == None {
		return b
	}
	if c.last.Less(from) {
		c.last = from // another process is ahead
		return b
	}
	var posts []int64
	complete := h.history.after(from, func(e *stream.Entry) {
		if (c.topic.kind == Home || slices.Contains(topicsOf(e), c.topic)) && c.mayShow(e) && !slices.Contains(posts, e.Post) {
			posts = append(posts, e.Post)
		}
	})
	switch {
	case !complete || len(posts) > maxMissed:
		return appendReset(b, h.history.last)
	case len(posts) > 0:
		return appendPosts(b, h.history.last, posts...)
	}
	return appendBeat(b, h.history.last)
}

// maxMissed bounds how many missed posts are listed: past it the page is loaded again.
const maxMissed = 500
