package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/people"
)

// Profile is the part of a profile above its posts.
type Profile struct {
	User     social.User
	Profile  accounts.UserProfile
	Counts   people.Counts
	Own      bool
	Relation people.Relation
	Common   people.Common
	Standing social.StandingInfo // of the viewer's own account
	Tab      string              // name of a tab in profileTabs
	Pinned   Posts               // none or one
}

// profileTabs are the tabs of a profile. The first tab has the path of the profile.
var profileTabs = []struct {
	name  string
	label i18n.Message
}{
	{"posts", i18n.T("Posts")},
	{"replies", i18n.T("Replies")},
	{"likes", i18n.T("Likes|tab")},
	{"followers", i18n.T("Followers")},
	{"following", i18n.T("Following")},
}

// tabLabel returns the label of the tab with a name.
func tabLabel(name string) (label i18n.Message) {
	for _, tab := range profileTabs {
		if tab.name == name {
			label = tab.label
		}
	}
	return label
}

// currentTab returns the marker of the current tab.
func currentTab(tab, current string) string {
	if tab == current {
		return "page"
	}
	return "false"
}
