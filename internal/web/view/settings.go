package view

import (
	"github.com/a-h/templ"

	"retwis/internal/social/accounts"
)

// SettingsPath is the list of the settings.
const SettingsPath = "/settings"

// settingsSection has the pages of the settings; a page that is added here is in the list everywhere.
var settingsSection = section{title: "Settings", path: SettingsPath, groups: []sectionGroup{
	{"Account", []sectionEntry{
		{path: "/settings/profile", label: "Profile", icon: "user"},
		{path: EmailPath, label: "Email", icon: "mail", shown: func(f Frame) bool { return f.Site.Mail }},
		{path: SecurityPath, label: "Security", icon: "lock"},
	}},
	{"Reading", []sectionEntry{
		{path: "/settings/notifications", label: "Notifications", icon: "bell"},
		{path: "/settings/muted", label: "Muted", icon: "mute"},
		{path: "/settings/blocked", label: "Blocked", icon: "block"},
		{path: "/settings/appearance", label: "Appearance", icon: "look"},
	}},
	{"Data", []sectionEntry{
		{path: "/settings/import", label: "Import", icon: "import"},
		{path: "/settings/data", label: "Export", icon: "export"},
		{path: "/settings/delete", label: "Delete account", icon: "delete"},
	}},
	{"People", []sectionEntry{
		{path: "/settings/invites", label: "Invites", icon: "invite", shown: Frame.MayInvite},
	}},
}}

// ProfileForm is the form for a profile, filled in with rejected input.
type ProfileForm struct {
	Profile accounts.UserProfile
	Field   string
	Problem string
	Saved   bool

	Pictures bool // the form takes pictures
}

func (f ProfileForm) link(i int) string {
	if i < len(f.Profile.Links) {
		return f.Profile.Links[i]
	}
	return ""
}

// invalid are the attributes of a field that was rejected.
func (f ProfileForm) invalid(field string) templ.Attributes {
	if f.Field != field {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true"}
}
