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
	defer h.mu.Unlock()
	now := time.Now()
	for i := range entries {
		e := &entries[i]
		h.history.add(*e, now)
		h.history.last = e.ID
		h.deliver(e)
	}
	h.history.last = end
}

// deliver sends an entry.
func (h *Hub) deliver(e *stream.Entry) {
	message := appendPosts(make([]byte, 0, 96), e.ID, e.Post)
	for _, t := range topicsOf(e) {
		// A connection that breaks is removed, and another takes its place.
		for i := 0; i < len(h.topics[t]); {
			c := h.topics[t][i]
			h.deliverTo(c, e, message)
			if !c.gone {
				i++
			}
		}
	}
	for _, m := range h.authors[e.Author] {
		h.deliverHome(m, e, message)
	}
	if m := h.people[e.Author]; m != nil {
		h.deliverHome(m, e, message)
	}
	for _, tag := range e.Tags {
		for _, m := range h.tags[tag] {
			h.deliverHome(m, e, message)
		}
	}
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

func (h *Hub) deliverHome(m *member, e *stream.Entry, message []byte) {
	if m.seen == 0 {
		return
	}
	for i := 0; i < len(m.clients); {
		c := m.clients[i]
		if c.topic.kind == Home {
			h.deliverTo(c, e, message)
		}
		if !c.gone {
			i++
		}
	}
}

// deliverTo sends an entry to a connection that shows such posts.
func (h *Hub) deliverTo(c *client, e *stream.Entry, message []byte) {
	if !c.last.Less(e.ID) || !c.mayShow(e) {
		return
	}
	c.last = e.ID
	h.send(c, message)
}

// mayShow reports whether the viewer sees a post on the page of the connection.
func (c *client) mayShow(e *stream.Entry) bool {
	least := social.Shown
	if c.topic.kind == Profile {
		least = social.Muted // the viewer has asked for this user
	}
	return c.sees(e.Author, least) && (e.Of == 0 || c.sees(e.To, social.Shown)) &&
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
