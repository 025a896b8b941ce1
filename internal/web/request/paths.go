package request

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/web/view"
)

// toLogin redirects to the log-in page, which leads back to the requested page, or to the page with
// the form if a form was sent.
func (req *Request) toLogin() error {
	next := req.R.URL.RequestURI()
	if req.R.Method != http.MethodGet {
		next = req.FormPage()
	}
	return req.Redirect(view.LoginPath(next))
}

// FormPage returns the address of the page whose form is sent to the address of the request.
func (req *Request) FormPage() string {
	form := cmp.Or(req.form, req.R.URL.EscapedPath())
	for _, name := range []string{"name", "id"} {
		form = strings.ReplaceAll(form, "{"+name+"}", url.PathEscape(req.R.PathValue(name)))
	}
	return req.Back(form)
}

// ReturnTo returns the address to which a form leads back: the field back, the Referer, or
// fallback.
func (req *Request) ReturnTo(fallback string) string {
	if u, err := url.Parse(req.R.Referer()); err == nil && u.Host == req.R.Host && u.Path != "" {
		fallback = LocalPath(u.RequestURI())
	}
	return req.Back(fallback)
}

// Back returns the address to which a form leads back: the field back, or fallback.
func (req *Request) Back(fallback string) string {
	if to := req.R.PostFormValue("back"); to != "" {
		return LocalPath(to)
	}
	return fallback
}

// LocalPath returns next if it is a path on this site, and /home otherwise.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/home"
	}
	return next
}

// Before parses the cursor of a page of posts: the ID of the last post of the previous page.
func Before(req *Request) (int64, error) { return parseBefore(req.R.URL.Query()) }

func parseBefore(query url.Values) (int64, error) { return ParseCursor(query, "before") }

// ParseCursor parses the ID in a query parameter. It returns 0 if the query has no such parameter.
func ParseCursor(query url.Values, name string) (int64, error) {
	values, ok := query[name]
	if !ok {
		return 0, nil
	}
	id, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || id < 1 || len(values) > 1 || strconv.FormatInt(id, 10) != values[0] {
		return 0, &Error{Status: http.StatusBadRequest, Detail: i18n.T("This page address is not valid.")}
	}
	return id, nil
}

// ParseID parses a positive ID in canonical form, without signs and leading zeros.
func ParseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}
