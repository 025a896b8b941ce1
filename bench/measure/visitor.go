package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Visitor is a browser. It sends its cookies to all processes of a site, as if they were behind a
// load balancer.
type Visitor struct {
	URL  string // of the site
	From string // the client address, sent as X-Forwarded-For unless empty
	HTTP *http.Client
}

// NewVisitor returns a visitor without cookies that follows no redirects.
func NewVisitor(site, from string) *Visitor {
	jar, _ := cookiejar.New(nil) // cannot fail without options
	return &Visitor{site, from, &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 500},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Answer is the response to a request.
type Answer struct {
	Status         int
	Location, Body string
}

// Get requests a page.
func (v *Visitor) Get(ctx context.Context, path string) (Answer, error) {
	return v.Send(ctx, http.MethodGet, path, "", http.NoBody)
}

// Form submits a form.
func (v *Visitor) Form(ctx context.Context, path string, form url.Values) (Answer, error) {
	return v.Send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// Send sends a request. With a content type, it adds the headers of a same-origin request.
func (v *Visitor) Send(ctx context.Context, method, path, contentType string, content io.Reader) (a Answer, err error) {
	request, err := http.NewRequestWithContext(ctx, method, v.URL+path, content)
	if err != nil {
		return a, err
	}
	if v.From != "" {
		request.Header.Set("X-Forwarded-For", v.From)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Origin", v.URL)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	response, err := v.HTTP.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header.Get("Location"), string(body)}, err
}

// Accepted returns an error unless the form was answered with 303 See Other.
func Accepted(status int, err error) error {
	if err == nil && status != http.StatusSeeOther {
		return fmt.Errorf("status %d, want %d", status, http.StatusSeeOther)
	}
	return err
}

// Cookie returns the cookie with the given name, or nil.
func (v *Visitor) Cookie(name string) *http.Cookie {
	for _, cookie := range v.HTTP.Jar.Cookies(v.site()) {
		if cookie.Name == name {
			return cookie
		}
	}
	return nil
}

// SetCookie adds a cookie of another visitor.
func (v *Visitor) SetCookie(cookie *http.Cookie) {
	v.HTTP.Jar.SetCookies(v.site(), []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/"}})
}

func (v *Visitor) site() *url.URL {
	site, _ := url.Parse(v.URL) // the URL of a started site is valid
	return site
}

// SignUp registers an account.
func (v *Visitor) SignUp(ctx context.Context, name, password string) (status int, err error) {
	a, err := v.Form(ctx, "/register", url.Values{"username": {name}, "password": {password}, "password2": {password}})
	return a.Status, err
}

// LogIn logs in.
func (v *Visitor) LogIn(ctx context.Context, name, password string) (status int, err error) {
	a, err := v.Form(ctx, "/login", url.Values{"username": {name}, "password": {password}})
	return a.Status, err
}

// Post publishes a post.
func (v *Visitor) Post(ctx context.Context, text string) (status int, err error) {
	a, err := v.Form(ctx, "/post", url.Values{"status": {text}})
	return a.Status, err
}
