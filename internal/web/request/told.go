package request

import (
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/web/view"
)

// toldCookie tells the next page what has just happened.
const (
	toldCookie = "told"
	toldFor    = 60 // seconds, which include loading the next page on a slow connection
)

// Tell makes the next page report what has happened; see view.Told.
func (req *Request) Tell(kind, about string) {
	req.SetCookie(toldCookie, strings.TrimSuffix(kind+"."+about, "."), toldFor)
}

// parseTold parses the value that Tell has written and rejects everything else.
func parseTold(value string) view.Told {
	kind, about, _ := strings.Cut(value, ".")
	if _, isPost := ParseID(about); !view.IsTold(kind) || about != "" && !isPost && social.CheckName(about) != nil {
		return view.Told{}
	}
	return view.Told{Kind: kind, About: about}
}

// lookCookie stores how pages look in this browser.
const (
	lookCookie = "look"
	lookFor    = 365 * 24 * 60 * 60 // seconds
)

// KeepLanguage sets the language of pages in this browser. An unknown tag selects the language of
// the browser.
func (req *Request) KeepLanguage(tag string) {
	look := req.look
	if look.Language = ""; i18n.Find(tag) != nil {
		look.Language = tag
	}
	req.KeepLook(look)
}

// KeepLook stores the chosen appearance of pages in this browser.
func (req *Request) KeepLook(look view.Look) { req.SetCookie(lookCookie, look.String(), lookFor) }
