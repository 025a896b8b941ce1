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
	// authCookie holds the secret of a session. Over TLS that is secureCookie, which no page of
	// another host and no plain connection can set.
	authCookie   = "auth"
	secureCookie = "__Host-auth"
	// loginCookie holds the secret of a log-in that waits for a code.
	loginCookie       = "login"
	secureLoginCookie = "__Host-login"
	// freshCookie is set for a few seconds after a change, so that the next request, to whichever
	// process, reads from the server instead of a cache (read-your-writes). Its value lists the
	// changed posts.
	freshCookie = "fresh"

	freshFor   = 10 // seconds; invalidation takes milliseconds
	clearAtNow = -1
)

// language returns the language that a browser asks for.
func language(r *http.Request) *i18n.Language { return i18n.Match(r.Header.Get("Accept-Language")) }

// identify reads the session of a request.
func (s *Site) identify(req *Request) error {
	name, secret := sessionCookie(req), ""
	for got, value := range cookies(req.R) {
		switch got {
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
		// The cookie stays: a slow response that removes it would end the session of a log-in that
		// happened in the meantime.
		req.identified = true
		return nil
	}
	req.User, req.LoggedIn, req.identified, req.SessionSecret = user, err == nil, err == nil, secret
	return err
}

// cookies returns the names and values of the cookies. Those of this site contain no characters
// that need quotes.
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

// sessionCookie returns the name of the session cookie. Over TLS it is a name that no page of
// another host can set; the other one is ignored.
func sessionCookie(req *Request) string {
	if req.site.OverTLS(req.R) {
		return secureCookie
	}
	return authCookie
}

// KeepSession stores the secret of a session in the browser, replacing the current one.
func (req *Request) KeepSession(secret string) {
	req.SetCookie(sessionCookie(req), secret, int(req.site.app.Sessions.MaxAge()/time.Second))
}

// DropSession removes the secret of a session from the browser.
func (req *Request) DropSession() { req.SetCookie(sessionCookie(req), "", clearAtNow) }

// StartSession starts a new session in the browser. It ends the browser's previous session, which
// no cookie refers to any more. If that fails, the session expires.
func (req *Request) StartSession(session auth.Session) {
	if req.LoggedIn && req.SessionSecret != session.Secret {
		if err := req.site.app.Sessions.Logout(req.Ctx, req.User.ID, req.SessionSecret); err != nil {
			req.Log().Warn("a session that was replaced stays open", "error", err)
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

// SetPendingLogin stores the secret of a log-in that waits for a code in the browser. An empty
// secret removes it.
func (req *Request) SetPendingLogin(secret string) {
	maxAge := int(auth.LoginWaitsFor / time.Second)
	if secret == "" {
		maxAge = clearAtNow
	}
	req.SetCookie(pendingCookie(req), secret, maxAge)
}

// SetCookie sets a cookie for a number of seconds.
func (req *Request) SetCookie(name, value string, maxAge int) {
	http.SetCookie(req.W, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: req.site.OverTLS(req.R),
	})
}
