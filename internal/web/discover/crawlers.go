package discover

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"retwis/internal/social"
	"retwis/internal/social/site"
	"retwis/internal/social/users"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Crawlers has what search engines read besides pages: robots.txt and the sitemap.
type Crawlers struct {
	users    *users.Users
	settings *site.Settings

	pages *otter.Cache[int64, sitemapPage] // the pages of the sitemap that were read lately
	busy  chan struct{}                    // has an element while a page is read
}

// The sizes of the sitemap: profiles on a page, pages in the index (which the format bounds),
// and pages in memory, of about 150 KB each, for a minute.
const (
	sitemapUsers  = 1000
	sitemapPages  = 50_000
	sitemapCached = 32
	sitemapFor    = time.Minute
)

// sitemapPage is a page of the sitemap, as it was read.
type sitemapPage struct {
	at    time.Time
	users []social.User
}

// NewCrawlers returns the handlers of crawlers.
func NewCrawlers(people *users.Users, settings *site.Settings) (*Crawlers, error) {
	pages, err := otter.New(&otter.Options[int64, sitemapPage]{MaximumSize: sitemapCached})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &Crawlers{users: people, settings: settings, pages: pages, busy: make(chan struct{}, 1)}, nil
}

// noCrawling are the beginnings of the addresses that are for people only.
var noCrawling = []string{
	"/bookmarks", "/confirm/", "/forgot", "/home", "/invite/", "/live", "/login", "/logout", "/moderation", "/notifications", "/post", "/register",
	"/reset/", "/search", "/settings", "/suggest", "/unsubscribe/",
}

// Robots is GET /robots.txt.
func (h *Crawlers) Robots(req *request.Request) error {
	info, err := h.settings.Get(req.Ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	if info.NoIndex() {
		b.WriteString("Disallow: /\n")
	} else {
		for _, path := range noCrawling {
			b.WriteString("Disallow: " + path + "\n")
		}
		b.WriteString("\nSitemap: " + req.Origin() + "/sitemap.xml\n")
	}
	request.SendCached(req, "text/plain; charset=utf-8", []byte(b.String()))
	return nil
}

// sitemapNamespace is the format of https://www.sitemaps.org/protocol.html.
const sitemapNamespace = "http://www.sitemaps.org/schemas/sitemap/0.9"

type sitemapEntry struct {
	Address string `xml:"loc"`
}

// Sitemap is GET /sitemap.xml, the index of the pages of the sitemap. One round trip.
func (h *Crawlers) Sitemap(req *request.Request) error {
	if err := h.open(req); err != nil {
		return err
	}
	n, err := h.users.Listed(req.Ctx)
	if err != nil {
		return err
	}
	index := struct {
		XMLName xml.Name       `xml:"sitemapindex"`
		Space   string         `xml:"xmlns,attr"`
		Pages   []sitemapEntry `xml:"sitemap"`
	}{Space: sitemapNamespace}
	for page := int64(1); page <= min(pagesFor(n), sitemapPages); page++ {
		index.Pages = append(index.Pages, sitemapEntry{req.Origin() + "/sitemap/" + strconv.FormatInt(page, 10) + ".xml"})
	}
	return sendXML(req, index)
}

// pagesFor is how many pages the sitemap of so many users has; the first one may be empty.
func pagesFor(n int64) int64 { return max(1, (n+sitemapUsers-1)/sitemapUsers) }

// SitemapPage is GET /sitemap/{n}.xml: the public profiles among a thousand users, for any
// viewer those that a stranger may see. Three round trips for a page that was not read lately.
func (h *Crawlers) SitemapPage(req *request.Request) error {
	if err := h.open(req); err != nil {
		return err
	}
	digits, ok := strings.CutSuffix(req.R.PathValue("page"), ".xml")
	page, known := request.ParseID(digits)
	if !ok || !known || page > sitemapPages {
		return request.ErrNotFound
	}
	req.ForgetUser()
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	people, err := h.page(req.Ctx, page)
	if err != nil {
		return err
	}
	if len(people) == 0 && page > 1 {
		return request.ErrNotFound
	}
	list := struct {
		XMLName  xml.Name       `xml:"urlset"`
		Space    string         `xml:"xmlns,attr"`
		Profiles []sitemapEntry `xml:"url"`
	}{Space: sitemapNamespace}
	for _, user := range people {
		if v.Lists(user.ID) && !user.Unlisted && !user.Unsearchable {
			list.Profiles = append(list.Profiles, sitemapEntry{req.Origin() + view.ProfilePath(user.Name)})
		}
	}
	return sendXML(req, list)
}

// open returns ErrNotFound where search engines must not list the site: it has no sitemap then.
func (h *Crawlers) open(req *request.Request) error {
	info, err := h.settings.Get(req.Ctx)
	if err == nil && info.NoIndex() {
		err = request.ErrNotFound
	}
	return err
}

// page returns the users of a page, as they were a minute ago at most. One page is read at a
// time: that is a thousand times as much work as most requests are.
func (h *Crawlers) page(ctx context.Context, page int64) ([]social.User, error) {
	if known, ok := h.pages.GetIfPresent(page); ok && time.Since(known.at) < sitemapFor {
		return known.users, nil
	}
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.busy }()
	if known, ok := h.pages.GetIfPresent(page); ok && time.Since(known.at) < sitemapFor {
		return known.users, nil // another request has read it meanwhile
	}
	people, err := h.users.Oldest(ctx, (page-1)*sitemapUsers, sitemapUsers)
	if err == nil {
		h.pages.Set(page, sitemapPage{time.Now(), people})
	}
	return people, err
}

func sendXML(req *request.Request, value any) error {
	body, err := xml.Marshal(value)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	request.SendCached(req, "application/xml; charset=utf-8", append([]byte(xml.Header), body...))
	return nil
}
