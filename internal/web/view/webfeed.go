package view

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

// The media types and address suffixes of Atom feeds (RFC 4287) and of JSON Feed 1.1
// (https://jsonfeed.org).
const (
	AtomType   = "application/atom+xml"
	AtomSuffix = ".atom"
	JSONType   = "application/feed+json"
	JSONSuffix = ".json"
)

// atomTitle is the maximum length of an entry's title, taken from the post, in characters.
const atomTitle = 80

// WebFeed is a page as a feed, for feed readers.
type WebFeed struct {
	Site   string // name of the site
	ID     string // of the site: see site.Settings.ID
	Title  string
	Origin string       // address of the site
	Path   string       // of the page
	Author *social.User // of all posts; nil for several authors
	Items  []timeline.Item
	Since  time.Time // time of a feed without entries

	Language *i18n.Language // nil for English
}

// XML returns the page as an Atom feed.
func (f WebFeed) XML() ([]byte, error) {
	feed := atomFeed{Title: f.Title, ID: f.id(f.Path), Generator: "Retwis"}
	updated := f.Since
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
		{Rel: "self", Type: AtomType, Href: f.Origin + f.Path + AtomSuffix},
		{Rel: "alternate", Type: "text/html", Href: f.Origin + f.Path},
	}
	switch {
	case f.Author != nil:
		author := f.person(*f.Author)
		feed.Author, feed.Icon = &author, f.Origin+AvatarPath(*f.Author, "400")
	case len(feed.Entries) == 0:
		feed.Author = &atomPerson{Name: f.Site, URI: f.Origin + "/"}
	}
	body, err := xml.Marshal(feed)
	return append([]byte(xml.Header), body...), err
}

func (f WebFeed) text(m i18n.Message) string {
	if f.Language == nil {
		return m.String()
	}
	return f.Language.Say(m)
}

// id identifies the page at a path. The ID does not change when the site moves to another address:
// RFC 4287, 4.2.6.
func (f WebFeed) id(path string) string {
	return "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(f.ID+path)).String()
}

// changed returns when an entry was last changed.
func changed(item timeline.Item) time.Time {
	if item.Post.Edited.After(item.Entry.Time) {
		return item.Post.Edited
	}
	return item.Entry.Time
}

// entry returns the entry of a post or repost and the time of its last change.
func (f WebFeed) entry(item timeline.Item) (atomEntry, time.Time) {
	post := item.Post
	updated := changed(item)
	title := Opening(post.Body, atomTitle)
	if item.Entry != item.Post {
		title = f.text(i18n.T("Reposted @{name}: {text}", post.Author.Name, title))
	}
	return atomEntry{
		ID: f.id(PostPath(item.Entry.Post)), Title: title,
		Published: MachineTime(item.Entry.Time), Updated: MachineTime(updated),
		Links:   append([]atomLink{{Rel: "alternate", Type: "text/html", Href: f.Origin + PostPath(post.Post)}}, f.enclosures(post.Post)...),
		Author:  f.person(post.Author),
		Content: atomText{Type: "html", Text: bodyHTML(post.Body, f.Origin)},
	}, updated
}

// picturesOf returns the pictures of a post that a feed includes. It omits pictures that are shown
// only after a click, since feed readers show them at once.
func picturesOf(post social.Post) []social.Picture {
	if post.Sensitive {
		return nil
	}
	return post.Media.Pictures()
}

// enclosures returns links to the pictures of a post.
func (f WebFeed) enclosures(post social.Post) (links []atomLink) {
	for _, p := range picturesOf(post) {
		links = append(links, atomLink{Rel: "enclosure", Type: typeOf(p.Large()), Href: f.Origin + MediaPath(p, p.Large()), Title: p.Alt})
	}
	return links
}

// typeOf returns the media type of a picture file.
func typeOf(f social.PictureFile) string { return mime.TypeByExtension(path.Ext(f.Name)) }

func (f WebFeed) person(user social.User) atomPerson {
	return atomPerson{Name: ShownName(user), URI: f.Origin + ProfilePath(user.Name)}
}

// The elements of an Atom feed that are used. encoding/xml replaces characters that XML does not
// allow. gorilla/feeds is not used, because its types have only one link per feed, so either "self"
// or "alternate" would be missing, no link titles, which describe pictures, and no list of items
// for an empty JSON feed.
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID        string      `xml:"id"`
		Title     string      `xml:"title"`
		Updated   string      `xml:"updated"`
		Icon      string      `xml:"icon,omitempty"`
		Links     []atomLink  `xml:"link"`
		Author    *atomPerson `xml:"author"`
		Generator string      `xml:"generator"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`

		Title string `xml:"title,attr,omitempty"`
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
		Links     []atomLink `xml:"link"`
		Author    atomPerson `xml:"author"`
		Content   atomText   `xml:"content"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// JSON returns the page as a JSON feed.
func (f WebFeed) JSON() ([]byte, error) {
	feed := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: f.Title,
		HomePage: f.Origin + f.Path, Feed: f.Origin + f.Path + JSONSuffix,
		Items: []jsonItem{},
	}
	if f.Author != nil {
		feed.Authors = []jsonAuthor{f.jsonAuthor(*f.Author)}
	}
	for _, item := range f.Items {
		feed.Items = append(feed.Items, f.jsonItem(item))
	}
	return json.Marshal(feed)
}

// jsonItem returns the item of a post or repost. Only a repost has a title, which names the author
// of the post: the format recommends no title for short posts.
func (f WebFeed) jsonItem(item timeline.Item) jsonItem {
	post := item.Post
	result := jsonItem{
		ID: f.id(PostPath(item.Entry.Post)), URL: f.Origin + PostPath(post.Post),
		Content: bodyHTML(post.Body, f.Origin), Authors: []jsonAuthor{f.jsonAuthor(post.Author)},
		Tags: text.Tags(post.Body),
	}
	if item.Entry != item.Post {
		result.Title = f.text(i18n.T("Reposted @{name}", post.Author.Name))
	}
	for _, p := range picturesOf(post.Post) {
		result.Attachments = append(result.Attachments, jsonAttachment{f.Origin + MediaPath(p, p.Large()), typeOf(p.Large()), p.Alt})
	}
	if !item.Entry.Time.IsZero() {
		result.Published = MachineTime(item.Entry.Time)
	}
	if !post.Edited.IsZero() {
		result.Modified = MachineTime(changed(item))
	}
	return result
}

func (f WebFeed) jsonAuthor(user social.User) jsonAuthor {
	return jsonAuthor{ShownName(user), f.Origin + ProfilePath(user.Name), f.Origin + AvatarPath(user, "400")}
}

// The objects of a JSON feed that are used.
type (
	jsonFeed struct {
		Version  string       `json:"version"`
		Title    string       `json:"title"`
		HomePage string       `json:"home_page_url"`
		Feed     string       `json:"feed_url"`
		Authors  []jsonAuthor `json:"authors,omitempty"`
		Items    []jsonItem   `json:"items"`
	}
	jsonAuthor struct {
		Name   string `json:"name"`
		URL    string `json:"url"`
		Avatar string `json:"avatar"`
	}
	jsonItem struct {
		ID        string       `json:"id"`
		URL       string       `json:"url"`
		Title     string       `json:"title,omitempty"`
		Content   string       `json:"content_html"`
		Published string       `json:"date_published,omitempty"`
		Modified  string       `json:"date_modified,omitempty"`
		Authors   []jsonAuthor `json:"authors"`
		Tags      []string     `json:"tags,omitempty"`

		Attachments []jsonAttachment `json:"attachments,omitempty"`
	}
	jsonAttachment struct {
		URL   string `json:"url"`
		Type  string `json:"mime_type"`
		Title string `json:"title,omitempty"`
	}
)

// bodyHTML returns the text of a post for readers on other sites: with line breaks as elements and
// absolute links.
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
