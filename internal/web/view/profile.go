package view

import (
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
	Standing social.StandingInfo // of one's own account
	Tab      string              // one of profileTabNames
	Pinned   Posts               // none, or one
}

// profileTabNames are the tabs of a profile, of which the first has the path of the profile.
var profileTabNames = []string{"posts", "replies", "likes", "followers", "following"}

// currentTab marks the tab that is shown.
func currentTab(tab, one string) string {
	if tab == one {
		return "page"
	}
	return "false"
}
