package measure

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Visitor is a browser at an address.
type Visitor struct {
	URL  string // of the site
	From string // sent as X-Forwarded-For, unless it is empty
	HTTP *http.Client
}

// NewVisitor returns a visitor without cookies, who follows no redirect.
func NewVisitor(site, from string) *Visitor {
	jar, _ := cookiejar.New(nil) // without options it cannot fail
	return &Visitor{site, from, &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 500},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a form, or asks for a page.
func (v *Visitor) Do(ctx context.Context, method, path string, form url.Values) (status int, page string, err error) {
	kind := ""
	if method == http.MethodPost {
		kind = "application/x-www-form-urlencoded"
	}
	return v.Send(ctx, method, path, kind, strings.NewReader(form.Encode()))
}

// Send sends content of a type.
func (v *Visitor) Send(ctx context.Context, method, path, kind string, content io.Reader) (status int, page string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, v.URL+path, content)
	if err != nil {
		return 0, "", err
	}
	if v.From != "" {
		request.Header.Set("X-Forwarded-For", v.From)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := v.HTTP.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// form sends a form and returns the status.
func (v *Visitor) form(ctx context.Context, path string, fields ...string) (int, error) {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	status, _, err := v.Do(ctx, http.MethodPost, path, form)
	return status, err
}

// SignUp registers somebody.
func (v *Visitor) SignUp(ctx context.Context, name, password string) (status int, err error) {
	return v.form(ctx, "/register", "username", name, "password", password, "password2", password)
}

// LogIn logs somebody in.
func (v *Visitor) LogIn(ctx context.Context, name, password string) (status int, err error) {
	return v.form(ctx, "/login", "username", name, "password", password)
}

// Post publishes a post.
func (v *Visitor) Post(ctx context.Context, text string) (status int, err error) {
	return v.form(ctx, "/post", "status", text)
}
