package view

import (
	"cmp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a-h/templ"

	"retwis/internal/social"
)

// Frame is the data of the layout of every page.
type Frame struct {
	Title    string
	LoggedIn bool
	User     social.User // the session user, if LoggedIn
	Unsure   bool        // whether there is a session is not known
	Here     string      // the path, to mark the current entry of the menu

	Unread      int             // notifications that the viewer has not seen
	Open        int64           // open reports, for moderators
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

func (f Frame) description() string {
	return cmp.Or(f.Description, "Retwis: write short posts, follow people, and read their posts.")
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
