package view

import (
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a-h/templ"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/site"
)

// PageColor is the background color of pages, for browsers that install the site; see app.css.
const PageColor = "#f4f3ef"

// Site is what every page shows about the site.
type Site struct {
	Name, Description              string
	Contact, ContactLink           string // as shown, and the target of a link to it; empty for none
	HasRules, HasPrivacy, HasTerms bool
	Version                        string // of the program
	Mail                           bool   // the site sends emails
	NoSignUp                       bool   // strangers cannot sign up without an invitation
}

// SiteOf returns what every page shows about a site.
func SiteOf(info site.Info, version string) Site {
	return Site{
		Name: info.Name(), Description: info.Of(site.Description), Version: version,
		HasRules: info.Of(site.Rules) != "", HasPrivacy: info.Of(site.Privacy) != "", HasTerms: info.Of(site.Terms) != "",
		Contact: info.Of(site.Contact), ContactLink: info.ContactLink(),
		NoSignUp: info.NeedsInvitation(),
	}
}

// sentence returns the description of the site, or a default.
func (s Site) sentence() i18n.Message {
	if s.Description != "" {
		return i18n.Verbatim(s.Description)
	}
	return i18n.T("Short posts from people you choose, newest first. No ads.")
}

// Frame is the data of the layout of every page.
type Frame struct {
	Site     Site
	Title    string // empty for the site's name
	LoggedIn bool
	User     social.User // the session user, if LoggedIn
	Unsure   bool        // it is unknown whether there is a session
	Here     string      // path, to mark the current menu entry
	Look     Look
	Told     Told // what has just happened

	Unread      int             // notifications that the viewer has not seen
	OpenReports int64           // for moderators
	SignUps     int64           // pending sign-ups, for moderators
	Outdated    *atomic.Bool    // whether the rendered page may be outdated; nil for no
	Description string          // for search engines; empty for that of the site
	Feed        string          // address of a page that is also a feed; empty for none
	Head        templ.Component // more elements of the head; nil for none

	Sidebar SidebarSource // nil for none
	columns bool          // whether there is a sidebar, for parts cached without it

	Live  string // the events that the page follows; empty for none
	Since string // the last event in the page
}

// maxUnread is the largest number shown in the menu, for unread notifications and for reports.
const maxUnread = 99

// limitedCount formats a number for the menu, where there is no room for large ones.
func limitedCount(n int64) string {
	if n > maxUnread {
		return strconv.Itoa(maxUnread) + "+"
	}
	return strconv.FormatInt(n, 10)
}

func (f Frame) unread() string { return limitedCount(int64(f.Unread)) }

func (f Frame) description() i18n.Message {
	if f.Description != "" {
		return i18n.Verbatim(f.Description)
	}
	return f.Site.sentence()
}

// documentTitle returns the title of the page in a browser.
func (f Frame) documentTitle() string {
	switch {
	case f.Title != "":
		return f.Title + " · " + f.Site.Name
	case f.Site.Description != "":
		return f.Site.Name + ": " + f.Site.Description
	}
	return f.Site.Name
}

func (f Frame) outdated() bool { return f.Outdated != nil && f.Outdated.Load() }

// current returns the marker for a link to the current page.
func (f Frame) current(path string) string {
	if f.Here == path {
		return "page"
	}
	return "false"
}

// currentSection returns the marker for a link to a page with subpages.
func (f Frame) currentSection(path string) string {
	if strings.HasPrefix(f.Here, path+"/") {
		return "true"
	}
	return f.current(path)
}

// MayInvite reports whether the viewer manages invitations.
func (f Frame) MayInvite() bool { return f.User.Role >= social.Moderator }
