package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

const (
	// authCookie holds the secret of a session.
	authCookie = "auth"
	// freshCookie is set for a few seconds after a change, so that whichever
	// server is asked next reads what is true, not what it remembers.
	freshCookie = "fresh"

	oneYear    = 365 * 24 * 60 * 60
	freshFor   = 10 // seconds; a server hears of a change within milliseconds
	clearAtNow = -1
)

// identify finds out who makes the request.
func (v *visit) identify() error {
	var secret string
	for _, cookie := range v.r.Cookies() {
		switch cookie.Name {
		case authCookie:
			secret = cookie.Value
		case freshCookie:
			v.ctx = social.WithFresh(v.ctx)
		}
	}
	if secret == "" {
		v.known = true
		return nil
	}
	user, err := v.server.social.SessionUser(v.ctx, secret)
	if errors.Is(err, social.ErrNoSession) {
		v.known = true
		v.setCookie(authCookie, "", clearAtNow)
		return nil
	}
	v.viewer, v.signed, v.known = user, err == nil, err == nil
	return err
}

func (v *visit) setCookie(name, value string, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.overTLS(),
	})
}

// changed goes on after a change: the pages that follow show it, whichever
// server is asked.
func (v *visit) changed(to string) error {
	v.setCookie(freshCookie, "1", freshFor)
	return v.redirect(to)
}
