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

// PageColor is the color behind pages, for browsers that install the site; see app.css.
const PageColor = "#f4f3ef"

// Site is what every page says about the site.
type Site struct {
	Name, Description              string
	HasRules, HasPrivacy, HasTerms bool
	Version                        string // of the program
	Mail                           bool   // it sends mails
	NoSignUp                       bool   // strangers cannot sign up without an invitation
}

// SiteOf returns what every page says about a site.
func SiteOf(info site.Info, version string) Site {
	return Site{
		Name: info.Name(), Description: info.Of(site.Description), Version: version,
		HasRules: info.Of(site.Rules) != "", HasPrivacy: info.Of(site.Privacy) != "", HasTerms: info.Of(site.Terms) != "",
		NoSignUp: info.NeedsInvitation(),
	}
}

// sentence says what the site is.
func (s Site) sentence() i18n.Message {
	if s.Description != "" {
		return i18n.Verbatim(s.Description)
	}
	return i18n.T("Short posts from people you choose, newest first. No ads.")
}

// Frame is the data of the layout of every page.
type Frame struct {
	Site     Site
	Title    string // empty for that of the site
	LoggedIn bool
	User     social.User // the session user, if LoggedIn
	Unsure   bool        // whether there is a session is not known
	Here     string      // the path, to mark the current entry of the menu
	Look     Look
	Told     Told // what has just happened

	Unread      int             // notifications that the viewer has not seen
	OpenReports int64           // for moderators
	SignUps     int64           // that wait for an approval, for moderators
	Outdated    *atomic.Bool    // whether the page has something that may have changed, once it is rendered; nil for no
	Description string          // for search engines; empty for that of the site
	Feed        string          // the address of a page that is a feed too; empty for none
	Head        templ.Component // more elements of the head; nil for none

	Sidebar SidebarSource // nil for none
	columns bool          // whether there is one, for what is kept without it

	Live  string // which events the page follows; empty for none
	Since string // the last event that is in the page
}

// maxUnread is the largest number on the menu: of unread notifications, and of reports.
const maxUnread = 99

// limitedCount is a number on the menu, where there is no room for a large one.
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

// documentTitle is the title of the page in a browser.
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

// current marks the link of the page that is shown.
func (f Frame) current(path string) string {
	if f.Here == path {
		return "page"
	}
	return "false"
}

// currentSection marks the link of a page with others below it.
func (f Frame) currentSection(path string) string {
	if strings.HasPrefix(f.Here, path+"/") {
		return "true"
	}
	return f.current(path)
}

// MayInvite reports whether the viewer manages invitations.
func (f Frame) MayInvite() bool { return f.User.Role >= social.Moderator }
