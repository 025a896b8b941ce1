package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a-h/templ"

	"retwis/internal/social"
)

// frame is the data of the layout of every page.
type frame struct {
	Title  string
	Viewer social.User
	Signed bool
	Unsure bool   // whether there is a session is not known
	Here   string // the path, to mark the current entry of the menu

	Unread      int             // notifications that the viewer has not seen
	Open        int64           // open reports, for moderators
	Outdated    *atomic.Bool    // whether the page has something that may have changed, once it is rendered; nil for no
	Description string          // for search engines; empty for that of the site
	Feed        string          // the address of the page as an Atom feed; empty for none
	Head        templ.Component // more elements of the head; nil for none

	Live  string // which events the page follows; empty for none
	Since string // the last event that is in the page
}

// maxUnread is the largest number on the menu: of unread notifications, and of reports.
const maxUnread = 99

func (f frame) unread() string { return limitedCount(int64(f.Unread)) }

// limitedCount is a number on the menu, where there is no room for a large one.
func limitedCount(n int64) string {
	if n > maxUnread {
		return strconv.Itoa(maxUnread) + "+"
	}
	return strconv.FormatInt(n, 10)
}

func (f frame) description() string {
	return cmp.Or(f.Description, "Retwis: write short posts, follow people, and read their posts.")
}

func (req *request) page(title string) frame {
	f := frame{Title: title, Viewer: req.viewer, Signed: req.signed, Unsure: !req.known, Here: req.r.URL.Path, Outdated: req.outdated}
	if !req.signed {
		return f
	}
	// A page without the number is better than none, and error pages have it too.
	if v, err := req.person(); err == nil {
		f.Unread, _ = req.server.app.Notifications.Unread(req.ctx, v)
	}
	if req.viewer.Role >= social.Moderator {
		f.Open, _ = req.server.app.Reports.OpenReportCount(req.ctx)
	}
	return f
}

func (f frame) outdated() bool { return f.Outdated != nil && f.Outdated.Load() }

// current marks the link of the page that is shown.
func (f frame) current(path string) string {
	if f.Here == path {
		return "page"
	}
	return "false"
}

// currentSection marks the link of a page with others below it.
func (f frame) currentSection(path string) string {
	if strings.HasPrefix(f.Here, path+"/") {
		return "true"
	}
	return f.current(path)
}

// before reads the cursor of a page of posts: the id of the last one seen.
func (req *request) before() (int64, error) { return parseBefore(req.r.URL.Query()) }

func parseBefore(query url.Values) (int64, error) { return parseCursor(query, "before") }

// parseCursor reads the id of a post, 0 for none.
func parseCursor(query url.Values, name string) (int64, error) {
	values, ok := query[name]
	if !ok {
		return 0, nil
	}
	id, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || id < 1 || len(values) > 1 || strconv.FormatInt(id, 10) != values[0] {
		return 0, &pageError{status: http.StatusBadRequest, detail: "This page address is not valid."}
	}
	return id, nil
}

// profilePath is the address of a user.
func profilePath(name string) string { return "/u/" + url.PathEscape(name) }

// older is the address of the next page of posts.
func older(path string, next int64) string {
	return path + "?before=" + strconv.FormatInt(next, 10)
}

// localPath returns where to go after a log-in: a path of this site, or home.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/home"
	}
	return next
}

// machineTime formats a time for programs, humanTime for people, until a script
// converts it to their time zone.
func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func humanTime(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

func month(t time.Time) string { return t.UTC().Format("January 2006") }

// thousands writes 12345 as 12,345.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// plural returns the singular or the plural.
func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
