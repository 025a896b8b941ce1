package web

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Limits of the sitemap: profiles per page, pages in the index (a limit of the format), and pages
// in the cache, which take about 150 KB each and are kept for a minute.
const (
	sitemapUsers  = 1000
	sitemapPages  = 50_000
	sitemapCached = 32
	sitemapMaxAge = time.Minute
)

// sitemapPage is a cached page of the sitemap.
type sitemapPage struct {
	at    time.Time
	users []social.User
}

// noCrawling lists the path prefixes that crawlers must not request.
var noCrawling = []string{
	"/bookmarks", "/confirm/", "/forgot", "/home", "/invite/", "/live", "/login", "/logout", "/moderation", "/notifications", "/post", "/register",
	"/reset/", "/search", "/settings", "/suggest", "/unsubscribe/",
}

// robots serves GET /robots.txt.
func (h *handlers) robots(req *request.Request) error {
	info, err := h.app.Site.Get(req.Ctx)
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
		b.WriteString("\nSitemap: " + req.PublicURL() + "/sitemap.xml\n")
	}
	request.SendCached(req, "text/plain; charset=utf-8", []byte(b.String()))
	return nil
}

// sitemapNamespace is the format of https://www.sitemaps.org/protocol.html.
const sitemapNamespace = "http://www.sitemaps.org/schemas/sitemap/0.9"

type sitemapEntry struct {
	Address string `xml:"loc"`
}

// sitemap serves GET /sitemap.xml, the index of the sitemap. It takes one round trip.
func (h *handlers) sitemap(req *request.Request) error {
	if err := h.checkSitemap(req); err != nil {
		return err
	}
	n, err := h.app.Users.Listed(req.Ctx)
	if err != nil {
		return err
	}
	index := struct {
		XMLName xml.Name       `xml:"sitemapindex"`
		Space   string         `xml:"xmlns,attr"`
		Pages   []sitemapEntry `xml:"sitemap"`
	}{Space: sitemapNamespace}
	for page := int64(1); page <= min(pagesFor(n), sitemapPages); page++ {
		index.Pages = append(index.Pages, sitemapEntry{req.PublicURL() + "/sitemap/" + strconv.FormatInt(page, 10) + ".xml"})
	}
	return sendXML(req, index)
}

// pagesFor returns the number of sitemap pages for n users. The first page may be empty.
func pagesFor(n int64) int64 { return max(1, (n+sitemapUsers-1)/sitemapUsers) }

// sitemapPage serves GET /sitemap/{n}.xml: the public profiles among a thousand users, as a
// stranger sees them, even if the client is logged in. A page that is not cached takes three round
// trips.
func (h *handlers) sitemapPage(req *request.Request) error {
	if err := h.checkSitemap(req); err != nil {
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
	people, err := h.readSitemap(req.Ctx, page)
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
			list.Profiles = append(list.Profiles, sitemapEntry{req.PublicURL() + view.ProfilePath(user.Name)})
		}
	}
	return sendXML(req, list)
}

// checkSitemap returns ErrNotFound if search engines must not index the site. The site then has no
// sitemap.
func (h *handlers) checkSitemap(req *request.Request) error {
	info, err := h.app.Site.Get(req.Ctx)
	if err == nil && info.NoIndex() {
		err = request.ErrNotFound
	}
	return err
}

// readSitemap returns the users of a page, at most a minute old. It reads one page at a time,
// because a page takes a thousand times as much work as most requests.
func (h *handlers) readSitemap(ctx context.Context, page int64) ([]social.User, error) {
	if cached, ok := h.sitemaps.GetIfPresent(page); ok && time.Since(cached.at) < sitemapMaxAge {
		return cached.users, nil
	}
	select {
	case h.sitemapBusy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.sitemapBusy }()
	if cached, ok := h.sitemaps.GetIfPresent(page); ok && time.Since(cached.at) < sitemapMaxAge {
		return cached.users, nil // read by another request in the meantime
	}
	people, err := h.app.Users.Oldest(ctx, (page-1)*sitemapUsers, sitemapUsers)
	if err == nil {
		h.sitemaps.Set(page, sitemapPage{time.Now(), people})
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
