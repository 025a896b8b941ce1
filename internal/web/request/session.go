package request

import (
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/web/view"
)

const (
	// authCookie holds the secret of a session. Over TLS, secureCookie is used instead, which no
	// page of another host and no plain connection can set.
	authCookie   = "auth"
	secureCookie = "__Host-auth"
	// loginCookie holds the secret of a log-in that waits for a code.
	loginCookie       = "login"
	secureLoginCookie = "__Host-login"
	// freshCookie is set for a few seconds after a change, so that the next request, to whichever
	// process, reads from the server instead of a cache (read-your-writes). The value of the cookie
	// lists the changed posts.
	freshCookie = "fresh"

	freshFor  = 10 // seconds; invalidation takes milliseconds
	expireNow = -1 // maximum age that removes a cookie
)

// language returns the language that best matches the Accept-Language header.
func language(r *http.Request) *i18n.Language { return i18n.Match(r.Header.Get("Accept-Language")) }

// identify reads the cookies and the session of a request.
func (s *Site) identify(req *Request) error {
	name, secret := sessionCookie(req), ""
	for cookie, value := range cookies(req.R) {
		switch cookie {
		case name:
			secret = value
		case freshCookie:
			req.fresh, req.IsFresh = parseFresh(value), true
			req.Ctx = social.WithFresh(req.Ctx, req.fresh...)
		case toldCookie:
			req.told = parseTold(value)
		case lookCookie:
			req.look = view.ParseLook(value)
			if l := i18n.Find(req.look.Language); l != nil {
				req.Language = l
			}
		}
	}
	if secret == "" {
		req.identified = true
		return nil
	}
	user, err := s.app.Sessions.SessionUser(req.Ctx, secret)
	if errors.Is(err, social.ErrNoSession) {
		// The cookie is not removed: a slow response would remove the cookie of a log-in that
		// happened in the meantime.
		req.identified = true
		return nil
	}
	req.User, req.LoggedIn, req.identified, req.SessionSecret = user, err == nil, err == nil, secret
	return err
}

// cookies returns the names and values of the cookies. It does not remove quotes, because cookies
// of this site have none.
func cookies(r *http.Request) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, line := range r.Header["Cookie"] {
			for line != "" {
				var pair string
				pair, line, _ = strings.Cut(line, ";")
				name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

// sessionCookie returns the name of the session cookie. Over TLS, that is a name that no page of
// another host can set; the cookie for plain connections is ignored.
func sessionCookie(req *Request) string {
	if req.site.OverTLS(req.R) {
		return secureCookie
	}
	return authCookie
}

// KeepSession stores the secret of a session in the browser, replacing the current secret.
func (req *Request) KeepSession(secret string) {
	req.SetCookie(sessionCookie(req), secret, int(req.site.app.Sessions.MaxAge()/time.Second))
}

// DropSession removes the secret of a session from the browser.
func (req *Request) DropSession() { req.SetCookie(sessionCookie(req), "", expireNow) }

// StartSession starts a new session in the browser and ends the browser's previous session, to
// which no cookie refers any more. If ending the previous session fails, it expires later.
func (req *Request) StartSession(session auth.Session) {
	if req.LoggedIn && req.SessionSecret != session.Secret {
		if err := req.site.app.Sessions.Logout(req.Ctx, req.User.ID, req.SessionSecret); err != nil {
			req.Log().Warn("cannot end a replaced session", "error", err)
		} else {
			req.LogSecurity("logout", req.User)
		}
	}
	req.KeepSession(session.Secret)
}

// pendingCookie returns the name of the cookie of a log-in that waits for a code.
func pendingCookie(req *Request) string {
	if req.site.OverTLS(req.R) {
		return secureLoginCookie
	}
	return loginCookie
}

// PendingLogin returns the secret of a log-in that waits for a code, or "".
func (req *Request) PendingLogin() string {
	for name, value := range cookies(req.R) {
		if name == pendingCookie(req) {
			return value
		}
	}
	return ""
}

// SetPendingLogin stores the secret of a log-in that waits for a code in a cookie. An empty secret
// removes the cookie.
func (req *Request) SetPendingLogin(secret string) {
	maxAge := int(auth.LoginWaitsFor / time.Second)
	if secret == "" {
		maxAge = expireNow
	}
	req.SetCookie(pendingCookie(req), secret, maxAge)
}

// SetCookie sets a cookie that expires after maxAge seconds.
func (req *Request) SetCookie(name, value string, maxAge int) {
	http.SetCookie(req.W, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: req.site.OverTLS(req.R),
	})
}
