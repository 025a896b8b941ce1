package web

import (
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/auth"
)

const (
	// authCookie holds the secret of a session; over TLS secureCookie does, which no
	// page of another host and no plain connection can set.
	authCookie   = "auth"
	secureCookie = "__Host-auth"
	// loginCookie holds the secret of a log-in that waits for a code.
	loginCookie       = "login"
	secureLoginCookie = "__Host-login"
	// freshCookie is set for a few seconds after a change, so that the next
	// request, to whichever process, reads from the server and not from memory
	// (read-your-writes). Its value are the posts that were changed.
	freshCookie = "fresh"

	freshFor   = 10 // seconds; invalidation takes milliseconds
	clearAtNow = -1
)

// identify reads the session of a request.
func (s *site) identify(req *request) error {
	name, secret := sessionCookie(req), ""
	for got, value := range cookies(req.r) {
		switch got {
		case name:
			secret = value
		case freshCookie:
			req.fresh, req.isFresh = parseFresh(value), true
			req.ctx = social.WithFresh(req.ctx, req.fresh...)
		}
	}
	if secret == "" {
		req.known = true
		return nil
	}
	user, err := s.sessions.SessionUser(req.ctx, secret)
	if errors.Is(err, social.ErrNoSession) {
		// The cookie stays: a slow response that removes it would end the session of a
		// log-in that happened meanwhile.
		req.known = true
		return nil
	}
	if err == nil {
		// One that the browser has is as good: an error must not end the request.
		renewed, unknown := s.sessions.RenewedSecret(req.ctx, user.ID, secret)
		if unknown == nil && renewed != secret {
			req.keepSession(renewed)
		}
	}
	req.viewer, req.signed, req.known, req.secret = user, err == nil, err == nil, secret
	return err
}

// cookies are the names and values of the cookies. Those of this site have no
// characters that need quotes.
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

// sessionCookie is the name of the cookie of a session. Over TLS it is one that no page
// of another host can set; the other one is not read.
func sessionCookie(req *request) string {
	if req.site.overTLS(req.r) {
		return secureCookie
	}
	return authCookie
}

// keepSession gives the browser the secret of a session, in place of the one it has.
func (req *request) keepSession(secret string) {
	req.setCookie(sessionCookie(req), secret, int(req.site.sessionMax/time.Second))
}

// dropSession removes the secret of a session from the browser.
func (req *request) dropSession() { req.setCookie(sessionCookie(req), "", clearAtNow) }

// startSession gives the browser a new session. It ends the one that the browser had: no
// cookie leads to that any more. One that cannot be ended expires.
func (req *request) startSession(session auth.Session) {
	if req.signed && req.secret != session.Secret {
		if err := req.site.sessions.Logout(req.ctx, req.viewer.ID, req.secret); err != nil {
			req.log().Warn("a session that was replaced stays open", "error", err)
		} else {
			req.security("logout", req.viewer)
		}
	}
	req.keepSession(session.Secret)
}

// pendingCookie is the name of the cookie of a log-in that waits for a code.
func pendingCookie(req *request) string {
	if req.site.overTLS(req.r) {
		return secureLoginCookie
	}
	return loginCookie
}

// pendingLogin returns the secret of a log-in that waits for a code, empty for none.
func (req *request) pendingLogin() string {
	for name, value := range cookies(req.r) {
		if name == pendingCookie(req) {
			return value
		}
	}
	return ""
}

// setPendingLogin gives the browser the secret of a log-in that waits for a code; an empty one
// removes that.
func (req *request) setPendingLogin(secret string) {
	maxAge := int(auth.LoginWaitsFor / time.Second)
	if secret == "" {
		maxAge = clearAtNow
	}
	req.setCookie(pendingCookie(req), secret, maxAge)
}

func (req *request) setCookie(name, value string, maxAge int) {
	http.SetCookie(req.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: req.site.overTLS(req.r),
	})
}

// changed redirects after a change; the next pages show it, whichever process
// serves them.
func (req *request) changed(to string) error { return req.changedPosts(to) }

// changedPosts is changed after a change of posts: 0 stands for none.
func (req *request) changedPosts(to string, ids ...int64) error {
	req.setCookie(freshCookie, formatFresh(append(ids, req.fresh...)), freshFor)
	return req.redirect(to)
}

// maxFresh is how many posts the cookie names: those that were changed last.
const maxFresh = 8

// formatFresh writes the posts that were changed, the last ones first, with a dot
// between two.
func formatFresh(ids []int64) string {
	var texts []string
	for i, id := range ids {
		if id != 0 && !slices.Contains(ids[:i], id) && len(texts) < maxFresh {
			texts = append(texts, strconv.FormatInt(id, 10))
		}
	}
	if len(texts) == 0 {
		return "0"
	}
	return strings.Join(texts, ".")
}

// parseFresh reads what formatFresh has written, and nothing else.
func parseFresh(value string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(value, ".") {
		if id, ok := parseID(text); ok && len(ids) < maxFresh {
			ids = append(ids, id)
		}
	}
	return ids
}
