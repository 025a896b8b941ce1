package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"retwis/bench/lab/history"
)

// requestTimeout is how long a person waits for a page.
const requestTimeout = 20 * time.Second

// browser sends forms and reads pages as a browser does. Its cookies are for all processes,
// as behind a load balancer.
type browser struct {
	http *http.Client
	jar  http.CookieJar
	name string
}

func newBrowser(name string, transport http.RoundTripper) *browser {
	jar, _ := cookiejar.New(nil) // without options it cannot fail
	return &browser{name: name, jar: jar, http: &http.Client{
		Transport: transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is the response to a request.
type answer struct {
	status   int
	location string
	body     string
	fresh    bool // the request had the cookie for fresh reads
	err      error
}

// do sends a request to a process: a form if there is one. Without a cookie it uses those
// of the browser.
func (b *browser) do(ctx context.Context, site, method, path string, form url.Values, cookie *http.Cookie) (a answer) {
	request, err := http.NewRequestWithContext(ctx, method, site+path, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{err: err}
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", site)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	cookies := []*http.Cookie{cookie}
	if cookie == nil {
		cookies = b.jar.Cookies(request.URL)
	}
	for _, c := range cookies {
		request.AddCookie(c)
		a.fresh = a.fresh || c.Name == "fresh"
	}
	response, err := b.http.Do(request)
	if err != nil {
		return answer{err: err, fresh: a.fresh}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if cookie == nil {
		b.jar.SetCookies(request.URL, response.Cookies())
	}
	return answer{response.StatusCode, response.Header.Get("Location"), string(body), a.fresh, err}
}

// session returns the cookie of the session, which can be used after its end, too.
func (b *browser) session(site string) *http.Cookie {
	at, err := url.Parse(site)
	if err != nil {
		return nil
	}
	for _, c := range b.jar.Cookies(at) {
		if c.Name == "auth" {
			return c
		}
	}
	return nil
}

// outcome says what an answer means.
func (a answer) outcome() (history.Outcome, string) {
	switch {
	case a.err != nil:
		return history.Unknown, a.err.Error()
	case a.status >= 500:
		return history.Unknown, strconv.Itoa(a.status)
	case a.status >= 400, a.signedOut():
		return history.Refused, strconv.Itoa(a.status)
	}
	return history.OK, ""
}

// signedOut reports whether the answer leads to the form for log-ins.
func (a answer) signedOut() bool {
	return a.status == http.StatusSeeOther && strings.HasPrefix(a.location, "/login")
}

var (
	articleTag = regexp.MustCompile(`^ data-id="(\d+)" data-replies="\d+" data-reposts="\d+" data-likes="(\d+)"`)
	whenLink   = regexp.MustCompile(`class="when" href="/u/([^/"]+)/\d+"`)
	bodyText   = regexp.MustCompile(`<p class="body" dir="auto">([^<]*)</p>`)
	nextLink   = regexp.MustCompile(`rel="next" href="([^"]+)"`)
)

// posts returns the posts on a page.
func (a answer) posts() []history.Seen {
	var found []history.Seen
	parts := strings.Split(a.body, `<article class="post"`)
	for _, part := range parts[1:] {
		part, _, _ = strings.Cut(part, "</article>")
		head, when, text := articleTag.FindStringSubmatch(part), whenLink.FindStringSubmatch(part), bodyText.FindStringSubmatch(part)
		if head == nil || when == nil || text == nil {
			continue
		}
		seen := history.Seen{Author: when[1], Text: html.UnescapeString(text[1])}
		seen.ID, _ = strconv.ParseInt(head[1], 10, 64)
		seen.Likes, _ = strconv.Atoi(head[2])
		seen.Liked = strings.Contains(part, `/unlike"`)
		seen.Reply = strings.Contains(part, `class="context"`)
		found = append(found, seen)
	}
	return found
}

// next returns the address of the next page, empty on the last.
func (a answer) next() string {
	if m := nextLink.FindStringSubmatch(a.body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}
