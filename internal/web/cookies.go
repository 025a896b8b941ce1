package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

const (
	// authCookie holds the secret of a session.
	authCookie = "auth"
	// freshCookie is set for a few seconds after a change, so that the next
	// request, to whichever process, reads from the server and not from memory
	// (read-your-writes).
	freshCookie = "fresh"

	oneYear    = 365 * 24 * 60 * 60
	freshFor   = 10 // seconds; invalidation takes milliseconds
	clearAtNow = -1
)

// identify reads the session of the request.
func (req *request) identify() error {
	var secret string
	for _, cookie := range req.r.Cookies() {
		switch cookie.Name {
		case authCookie:
			secret = cookie.Value
		case freshCookie:
			req.ctx = social.WithFresh(req.ctx)
		}
	}
	if secret == "" {
		req.known = true
		return nil
	}
	user, err := req.server.social.SessionUser(req.ctx, secret)
	if errors.Is(err, social.ErrNoSession) {
		req.known = true
		req.setCookie(authCookie, "", clearAtNow)
		return nil
	}
	req.viewer, req.signed, req.known = user, err == nil, err == nil
	return err
}

func (req *request) setCookie(name, value string, maxAge int) {
	http.SetCookie(req.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: req.overTLS(),
	})
}

// changed redirects after a change; the next pages show it, whichever process
// serves them.
func (req *request) changed(to string) error {
	req.setCookie(freshCookie, "1", freshFor)
	return req.redirect(to)
}
