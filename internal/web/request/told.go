package request

import (
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/web/view"
)

// toldCookie says to the next page what has just happened.
const (
	toldCookie = "told"
	toldFor    = 60 // seconds; a slow connection takes some of them for the page
)

// Tell makes the next page say what has happened; see view.Told.
func (req *Request) Tell(kind, about string) {
	req.SetCookie(toldCookie, strings.TrimSuffix(kind+"."+about, "."), toldFor)
}

// parseTold reads what Tell has written, and nothing else.
func parseTold(value string) view.Told {
	kind, about, _ := strings.Cut(value, ".")
	if _, isPost := ParseID(about); !view.IsTold(kind) || about != "" && !isPost && social.CheckName(about) != nil {
		return view.Told{}
	}
	return view.Told{Kind: kind, About: about}
}

// lookCookie says how pages look in this browser.
const (
	lookCookie = "look"
	lookFor    = 365 * 24 * 60 * 60 // seconds
)

// KeepLanguage makes pages speak a language in this browser, that of the browser where there is no such one.
func (req *Request) KeepLanguage(tag string) {
	look := req.look
	if look.Language = ""; i18n.Find(tag) != nil {
		look.Language = tag
	}
	req.KeepLook(look)
}

// KeepLook makes pages look in this browser as somebody has chosen.
func (req *Request) KeepLook(look view.Look) { req.SetCookie(lookCookie, look.String(), lookFor) }
