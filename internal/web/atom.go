package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

// feedHandlers has the Atom feeds.
type feedHandlers struct {
	lists *timeline.Lists
	read  *reader
	tags  *posts.Tags
}

// Atom feeds (RFC 4287) have what a stranger sees, without what is hidden from a person
// who is logged in. Their addresses are those of the pages with .atom at the end.

const (
	atomType    = "application/atom+xml"
	atomSuffix  = ".atom"
	atomEntries = 30
	// atomTitle is how much of a post is the title of its entry, in characters.
	atomTitle = 80
)

// The elements of a feed, as far as they are used. What cannot be part of XML is
// replaced by encoding/xml.
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID        string      `xml:"id"`
		Title     string      `xml:"title"`
		Updated   string      `xml:"updated"`
		Links     []atomLink  `xml:"link"`
		Author    *atomPerson `xml:"author"`
		Generator string      `xml:"generator"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomPerson struct {
		Name string `xml:"name"`
		URI  string `xml:"uri"`
	}
	atomEntry struct {
		ID        string     `xml:"id"`
		Title     string     `xml:"title"`
		Published string     `xml:"published"`
		Updated   string     `xml:"updated"`
		Link      atomLink   `xml:"link"`
		Author    atomPerson `xml:"author"`
		Content   atomText   `xml:"content"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// orFeed responds with a feed where the address ends in .atom. No pattern of a mux ends in
// .atom after a name, so a feed has the pattern of its page.
func orFeed(feed, html page) page {
	return func(req *request) error {
		name, ok := strings.CutSuffix(req.r.PathValue("name"), atomSuffix)
		if !ok || name == "" {
			return html(req)
		}
		req.r.SetPathValue("name", name)
		return feed(req)
	}
}

func (h *feedHandlers) timeline(req *request) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	list, err := h.lists.PublicPosts(req.ctx, v, 0, atomEntries)
	if err != nil {
		return err
	}
	return sendFeed(req, atomFeed{Title: "Retwis"}, "/timeline", list.Items, time.Time{})
}

func (h *feedHandlers) profile(req *request) error {
	user, v, err := h.read.visibleUser(req)
	if err != nil {
		return err
	}
	path := view.ProfilePath(user.Name)
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(path + atomSuffix)
	}
	list, err := h.lists.ProfilePosts(req.ctx, v, user.ID, 0, atomEntries)
	if err != nil {
		return err
	}
	author := newAtomPerson(req, user)
	return sendFeed(req, atomFeed{Title: author.Name + " (@" + user.Name + ")", Author: &author}, path, list.Items, user.Joined)
}

func (h *feedHandlers) tag(req *request) error {
	tag, ok := text.FoldTag(req.r.PathValue("name"))
	if !ok {
		return errNotFound
	}
	if tag != req.r.PathValue("name") {
		return req.redirectToName(view.TagPath(tag) + atomSuffix)
	}
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	list, err := h.tags.TagPosts(req.ctx, v, tag, 0, atomEntries)
	if err != nil {
		return err
	}
	return sendFeed(req, atomFeed{Title: "#" + tag}, view.TagPath(tag), list.Items, time.Time{})
}

// sendFeed sends the feed of a page. since is the time of a feed without entries.
func sendFeed(req *request, feed atomFeed, path string, items []timeline.Item, since time.Time) error {
	origin := req.origin()
	updated := since
	for _, item := range items {
		entry, at := newAtomEntry(req, item)
		feed.Entries = append(feed.Entries, entry)
		if at.After(updated) {
			updated = at
		}
	}
	if updated.IsZero() {
		updated = time.Unix(0, 0)
	}
	feed.ID, feed.Updated, feed.Generator = origin+path+atomSuffix, view.MachineTime(updated), "Retwis"
	feed.Links = []atomLink{
		{Rel: "self", Type: atomType, Href: feed.ID},
		{Rel: "alternate", Type: "text/html", Href: origin + path},
	}
	if feed.Author == nil && len(feed.Entries) == 0 {
		feed.Author = &atomPerson{Name: "Retwis", URI: origin + "/"}
	}
	body, err := xml.Marshal(feed)
	if err != nil {
		return err
	}
	sendCached(req, atomType+"; charset=utf-8", append([]byte(xml.Header), body...), updated)
	return nil
}

// newAtomEntry is a post or a repost, and the time of its last change.
func newAtomEntry(req *request, item timeline.Item) (atomEntry, time.Time) {
	origin, post := req.origin(), item.Post
	updated := item.Entry.Time
	if post.Edited.After(updated) {
		updated = post.Edited
	}
	title := view.Opening(post.Body, atomTitle)
	if item.Entry != item.Post {
		title = "Reposted @" + post.Author.Name + ": " + title
	}
	return atomEntry{
		ID: origin + view.PostPath(item.Entry.Post), Title: title,
		Published: view.MachineTime(item.Entry.Time), Updated: view.MachineTime(updated),
		Link:    atomLink{Rel: "alternate", Type: "text/html", Href: origin + view.PostPath(post.Post)},
		Author:  newAtomPerson(req, post.Author),
		Content: atomText{Type: "html", Text: bodyHTML(post.Body, origin)},
	}, updated
}

func newAtomPerson(req *request, user social.User) atomPerson {
	return atomPerson{Name: view.ShownName(user), URI: req.origin() + view.ProfilePath(user.Name)}
}

// bodyHTML is the text of a post for readers on other sites: with line breaks as
// elements, and links that have a host.
func bodyHTML(body, origin string) string {
	var b strings.Builder
	for _, part := range text.Parse(body) {
		target := ""
		switch part.Kind {
		case text.Link:
			target = part.Target
		case text.Mention:
			target = origin + view.ProfilePath(part.Target)
		case text.Tag:
			target = origin + view.TagPath(part.Target)
		default:
			b.WriteString(strings.ReplaceAll(html.EscapeString(part.Text), "\n", "<br>\n"))
			continue
		}
		b.WriteString(`<a href="` + html.EscapeString(target) + `" rel="nofollow noopener ugc">` + html.EscapeString(part.Shown()) + `</a>`)
	}
	return b.String()
}

// sendCached sends what is the same for all visitors, or 304 where the client has it.
func sendCached(req *request, contentType string, body []byte, changed time.Time) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	header := req.w.Header()
	header.Set("ETag", tag)
	header.Set("Last-Modified", changed.UTC().Format(http.TimeFormat))
	if !req.signed {
		header.Set("Cache-Control", "public, no-cache")
	}
	if has(req.r.Header, tag, changed) {
		req.status = http.StatusNotModified
		req.w.WriteHeader(req.status)
		return
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.status = http.StatusOK
	req.w.WriteHeader(req.status)
	_, _ = bytes.NewReader(body).WriteTo(req.w) // the client may have disconnected
}

// has reports whether a client has this version already.
func has(h http.Header, tag string, changed time.Time) bool {
	if tags := h.Values("If-None-Match"); len(tags) > 0 { // then the time does not count
		for _, one := range strings.Split(strings.Join(tags, ","), ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(h.Get("If-Modified-Since"))
	return err == nil && !changed.Truncate(time.Second).After(since)
}
