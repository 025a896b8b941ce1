package live

import (
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/timeline"
)

// audience indexes what the connections show and which members follow an author or a tag, to find
// the connections to which an event is relevant.
type audience struct {
	people  map[int64]*member
	authors map[int64][]*member  // the followers of each author
	tags    map[string][]*member // the followers of each tag
	topics  map[topic][]*client  // the clients of each page that is not a home timeline
	watched map[int64]*watched   // the posts that clients show
}

func newAudience() audience {
	return audience{
		people: map[int64]*member{}, authors: map[int64][]*member{}, tags: map[string][]*member{},
		topics: map[topic][]*client{}, watched: map[int64]*watched{},
	}
}

// showing is a post that a client shows, and the client's index in watched.clients.
type showing struct {
	post  *watched
	index int
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

// member returns the member of a user. It registers a new member before the member is read, so that
// no concurrent change is missed.
func (a *audience) member(user social.User) *member {
	m := a.people[user.ID]
	if m == nil {
		m = &member{user: user, viewer: &social.Viewer{User: user}, changed: 1}
		a.people[user.ID] = m
	}
	return m
}

// index replaces the people and tags that a member follows.
func (a *audience) index(m *member, following []int64, tags []string) {
	if !slices.Equal(m.following, following) {
		reindex(a.authors, m, m.following, following)
		m.following = following
	}
	if !slices.Equal(m.tags, tags) {
		reindex(a.tags, m, m.tags, tags)
		m.tags = tags
	}
}

// reindex moves m from the entries of before to the entries of after.
func reindex[K comparable](index map[K][]*member, m *member, before, after []K) {
	for _, key := range before {
		members := index[key]
		i := slices.Index(members, m)
		members[i] = members[len(members)-1]
		members[len(members)-1] = nil
		if index[key] = members[:len(members)-1]; len(members) == 1 {
			delete(index, key)
		}
	}
	for _, key := range after {
		index[key] = append(index[key], m)
	}
}

// add registers what a connection shows, and returns the posts that no other connection shows.
func (a *audience) add(c *client, posts []*timeline.View) (fresh []int64) {
	if c.member != nil {
		c.member.clients = append(c.member.clients, c)
	} else if c.topic.kind == Home {
		c.topic.kind = None
	}
	if c.topic.kind != None && c.topic.kind != Home {
		c.topicIndex = len(a.topics[c.topic])
		a.topics[c.topic] = append(a.topics[c.topic], c)
	}
	for _, view := range posts {
		if view == nil || !c.sees(view.Author.ID, social.Muted) {
			continue
		}
		w := a.watched[view.ID]
		if w == nil {
			w = &watched{id: view.ID, author: view.Author.ID, counts: view.Counts, deleted: view.Deleted, hidden: !view.Hidden.IsZero()}
			a.watched[view.ID] = w
			fresh = append(fresh, view.ID)
		}
		c.posts = append(c.posts, showing{w, len(w.clients)})
		w.clients = append(w.clients, c)
	}
	c.posts = slices.Clip(c.posts)
	return fresh
}

// drop unregisters what a connection shows.
func (a *audience) drop(c *client) {
	if m := c.member; m != nil {
		m.clients = slices.DeleteFunc(m.clients, func(other *client) bool { return other == c })
	}
	if c.topic.kind != None && c.topic.kind != Home {
		clients := a.topics[c.topic]
		last := clients[len(clients)-1]
		clients[c.topicIndex], last.topicIndex = last, c.topicIndex
		clients[len(clients)-1] = nil
		if a.topics[c.topic] = clients[:len(clients)-1]; len(clients) == 1 {
			delete(a.topics, c.topic)
		}
	}
	for _, s := range c.posts {
		w := s.post
		last := w.clients[len(w.clients)-1]
		for i := range last.posts {
			if last.posts[i].post == w {
				last.posts[i].index = s.index
			}
		}
		w.clients[s.index] = last
		w.clients[len(w.clients)-1] = nil
		if w.clients = w.clients[:len(w.clients)-1]; len(w.clients) == 0 {
			delete(a.watched, w.id)
		}
	}
	c.posts = nil
}

// show appends the connections on whose pages an entry is new. It may append a connection twice.
func (a *audience) show(clients []*client, e *stream.Entry) []*client {
	for _, t := range topicsOf(e) {
		clients = append(clients, a.topics[t]...)
	}
	for _, m := range a.authors[e.Author] {
		clients = m.homes(clients)
	}
	if m := a.people[e.Author]; m != nil {
		clients = m.homes(clients)
	}
	for _, tag := range e.Tags {
		for _, m := range a.tags[tag] {
			clients = m.homes(clients)
		}
	}
	return clients
}

// topicsOf returns the pages on which a post is new, except home timelines.
func topicsOf(e *stream.Entry) []topic {
	topics := make([]topic, 0, 4)
	if e.Root != 0 {
		topics = append(topics, topic{kind: Thread, id: e.Root})
	} else {
		topics = append(topics, topic{kind: Profile, id: e.Author})
		if e.RepostOf == 0 {
			topics = append(topics, topic{kind: Everyone})
		}
	}
	for _, tag := range e.Tags {
		topics = append(topics, topic{kind: Tag, tag: tag})
	}
	return topics
}

// homes appends the connections that show the home timeline of the member.
func (m *member) homes(clients []*client) []*client {
	if m.seen == 0 {
		return clients
	}
	for _, c := range m.clients {
		if c.topic.kind == Home {
			clients = append(clients, c)
		}
	}
	return clients
}
