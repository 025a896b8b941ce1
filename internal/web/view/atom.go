package view

import (
	"encoding/xml"
	"html"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

// The media type of Atom feeds (RFC 4287), and what the address of a feed has after that of its
// page.
const (
	AtomType   = "application/atom+xml"
	AtomSuffix = ".atom"
)

// atomTitle is how much of a post is the title of its entry, in characters.
const atomTitle = 80

// AtomFeed is a page as an Atom feed.
type AtomFeed struct {
	Title  string
	Origin string       // the address of the site
	Path   string       // of the page
	Author *social.User // of all posts; nil for several authors
	Items  []timeline.Item
	Since  time.Time // the time of a feed without entries
}

// XML returns the feed, and the time of its last change.
func (f AtomFeed) XML() (body []byte, updated time.Time, err error) {
	feed := atomFeed{Title: f.Title, ID: f.Origin + f.Path + AtomSuffix, Generator: "Retwis"}
	updated = f.Since
	for _, item := range f.Items {
		entry, at := f.entry(item)
		feed.Entries = append(feed.Entries, entry)
		if at.After(updated) {
			updated = at
		}
	}
	if updated.IsZero() {
		updated = time.Unix(0, 0)
	}
	feed.Updated = MachineTime(updated)
	feed.Links = []atomLink{
		{Rel: "self", Type: AtomType, Href: feed.ID},
		{Rel: "alternate", Type: "text/html", Href: f.Origin + f.Path},
	}
	switch {
	case f.Author != nil:
		author := f.person(*f.Author)
		feed.Author = &author
	case len(feed.Entries) == 0:
		feed.Author = &atomPerson{Name: "Retwis", URI: f.Origin + "/"}
	}
	body, err = xml.Marshal(feed)
	return append([]byte(xml.Header), body...), updated, err
}

// entry is a post or a repost, and the time of its last change.
func (f AtomFeed) entry(item timeline.Item) (atomEntry, time.Time) {
	post := item.Post
	updated := item.Entry.Time
	if post.Edited.After(updated) {
		updated = post.Edited
	}
	title := Opening(post.Body, atomTitle)
	if item.Entry != item.Post {
		title = "Reposted @" + post.Author.Name + ": " + title
	}
	return atomEntry{
		ID: f.Origin + PostPath(item.Entry.Post), Title: title,
		Published: MachineTime(item.Entry.Time), Updated: MachineTime(updated),
		Link:    atomLink{Rel: "alternate", Type: "text/html", Href: f.Origin + PostPath(post.Post)},
		Author:  f.person(post.Author),
		Content: atomText{Type: "html", Text: bodyHTML(post.Body, f.Origin)},
	}, updated
}

func (f AtomFeed) person(user social.User) atomPerson {
	return atomPerson{Name: ShownName(user), URI: f.Origin + ProfilePath(user.Name)}
}

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
			target = origin + ProfilePath(part.Target)
		case text.Tag:
			target = origin + TagPath(part.Target)
		default:
			b.WriteString(strings.ReplaceAll(html.EscapeString(part.Text), "\n", "<br>\n"))
			continue
		}
		b.WriteString(`<a href="` + html.EscapeString(target) + `" rel="nofollow noopener ugc">` + html.EscapeString(part.Shown()) + `</a>`)
	}
	return b.String()
}
