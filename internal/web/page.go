package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

func (req *request) page(title string) view.Frame {
	f := view.Frame{Title: title, Viewer: req.viewer, Signed: req.signed, Unsure: !req.known, Here: req.r.URL.Path, Outdated: req.outdated}
	if !req.signed {
		return f
	}
	// A page without the number is better than none, and error pages have it too.
	if v, err := req.asViewer(); err == nil {
		f.Unread, _ = req.site.notifications.Unread(req.ctx, v)
	}
	if req.viewer.Role >= social.Moderator {
		f.Open, _ = req.site.reports.OpenReportCount(req.ctx)
	}
	return f
}

// before reads the cursor of a page of posts: the id of the last one seen.
func before(req *request) (int64, error) { return parseBefore(req.r.URL.Query()) }

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

// localPath returns where to go after a log-in: a path of this site, or home.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/home"
	}
	return next
}
